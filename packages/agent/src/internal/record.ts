/**
 * One event as it is stored: JSON, and a sum over it and all before it.
 *
 * A database finds a page that is torn, and not one that is merely wrong. The sum chains the records, so that one which
 * was changed, taken away or put in is found where it is.
 */
import * as Schema from "effect/Schema"
import { crc32 } from "node:zlib"
import * as LogEvent from "../LogEvent.ts"

export interface Row {
  readonly seq: number
  readonly at: number
  readonly sum: number
  readonly event: string
}

/** A record, or what is wrong with it. */
export type Read =
  | { readonly _tag: "Entry"; readonly entry: LogEvent.Entry }
  | { readonly _tag: "Corrupt"; readonly seq: number; readonly problem: string }

const encodeEvent = Schema.encodeUnknownResult(LogEvent.LogEvent)
const decodeEvent = Schema.decodeUnknownResult(LogEvent.LogEvent)

/** The JSON of an event, checked by its schema. Throws what is wrong with it. */
export const encode = (event: LogEvent.LogEvent): string => {
  const encoded = encodeEvent(event)
  if (encoded._tag === "Failure") throw encoded.failure
  return JSON.stringify(encoded.success)
}

const sumOf = (seq: number, at: number, event: string, previous: number): number =>
  crc32(`${seq} ${at} ${event}`, previous)

export const seal = (seq: number, at: number, event: string, previous: number): Row => ({
  seq,
  at,
  event,
  sum: sumOf(seq, at, event, previous)
})

/** A torn row may hold anything: what its table was declared with says what is written, not what is read. */
const isSum = (value: unknown): value is number =>
  Number.isInteger(value) && 0 <= Number(value) && Number(value) < 2 ** 32

/** Reads the row that should be number `seq` and follow one with the sum `previous`, where that is known. */
export const open = (row: Row, seq: number, previous: number | undefined): Read => {
  const corrupt = (problem: string): Read => ({ _tag: "Corrupt", seq, problem })
  if (row.seq > seq) return corrupt(`it is missing: the next is ${row.seq}`)
  if (row.seq < seq) return corrupt(`record ${row.seq} is in its place`)
  const isNext = previous === undefined || (isSum(previous) && row.sum === sumOf(row.seq, row.at, row.event, previous))
  if (!isNext) return corrupt("its sum is wrong")
  let json: unknown
  try {
    json = JSON.parse(row.event)
  } catch {
    return corrupt("it is no JSON")
  }
  const event = decodeEvent(json)
  return event._tag === "Failure"
    ? corrupt(`it is no event: ${event.failure.message}`)
    : { _tag: "Entry", entry: { seq, atMillis: row.at, event: event.success } }
}
