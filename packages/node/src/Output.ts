/**
 * What a command wrote, bounded: its beginning and its end are kept, the middle is counted.
 *
 * A tool shows a model the start of a log, where the cause is, and its end, where the result is. What lies between may
 * be gigabytes. `bytes` counts everything that was read, so `cut` is exact, and `complete` says whether the end of
 * the stream was seen: a process that outlives its command may hold a pipe open, and then nobody can know.
 */
import { wholeEnd, wholeStart } from "./internal/utf8.ts"

/** The kept part of one output stream. */
export interface Output {
  /** The first bytes, at most half of the limit. */
  readonly head: Uint8Array
  /** The last bytes, without any that are in `head`. */
  readonly tail: Uint8Array
  /** How many bytes were read, kept or not. */
  readonly bytes: number
  /** The stream was read to its end. */
  readonly complete: boolean
}

/** Nothing was written, and nothing more can be. */
export const empty: Output = { head: new Uint8Array(0), tail: new Uint8Array(0), bytes: 0, complete: true }

/** How many bytes between `head` and `tail` were dropped. */
export const cut = (self: Output): number => self.bytes - self.head.length - self.tail.length

/** The kept bytes in one piece; use it where nothing was `cut`. */
export const toBytes = (self: Output): Uint8Array => {
  const bytes = new Uint8Array(self.head.length + self.tail.length)
  bytes.set(self.head)
  bytes.set(self.tail, self.head.length)
  return bytes
}

/**
 * Reads the kept bytes as UTF-8, with a line that says how many bytes are missing where some are.
 *
 * A character the cut goes through is dropped whole; bytes that are not UTF-8 become U+FFFD.
 */
export const toText = (self: Output): string => {
  const missing = cut(self)
  if (missing === 0) return decode(toBytes(self))
  return `${decode(self.head.subarray(0, wholeEnd(self.head)))}\n[${missing} bytes cut]\n${
    decode(self.tail.subarray(wholeStart(self.tail)))
  }`
}

const decode = (bytes: Uint8Array): string => new TextDecoder().decode(bytes)
