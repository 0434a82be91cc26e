/**
 * Reads a `Retry-After` header.
 */

/**
 * How long to wait, in milliseconds; undefined where nothing was asked for that can be read.
 *
 * **Source**: RFC 9110, 10.2.3: a number of seconds, or a date.
 */
export const retryAfterMillis = (header: string | undefined, nowMillis: number): number | undefined => {
  if (header === undefined) return undefined
  if (/^\d+$/.test(header)) return Number(header) * 1000
  // A date in the form HTTP prescribes begins with the name of a day; `Date.parse` alone would take "7.5" for one.
  const date = /^[A-Z][a-z]{2}, /.test(header) ? Date.parse(header) : NaN
  return Number.isNaN(date) ? undefined : Math.max(0, date - nowMillis)
}
