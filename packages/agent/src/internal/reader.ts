/**
 * Reading a log: page by page, each record checked against the one before it.
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { LogCorrupt, type ReadError } from "../LogError.ts"
import type { Entry } from "../LogEvent.ts"
import type { Report, Violation } from "../SessionLog.ts"
import { Ledger } from "./ledger.ts"
import * as Record from "./record.ts"
import type { Source } from "./storage.ts"

/** A page fits into a few hundred kilobytes for results of the usual size, and keeps other fibers waiting for some 10 ms. */
const pageSize = 256

interface Position {
  readonly seq: number
  readonly sum: number
}

const start: Position = { seq: 1, sum: 0 }

/** The records from a position on, and where the next page begins; `undefined` behind the last one. */
const page = (source: Source, { seq, sum }: Position) =>
  Effect.map(source.from(seq, pageSize), (rows) => {
    const read: Array<Record.Read> = []
    let next: Position = { seq, sum }
    for (const row of rows) {
      const record = Record.open(row, next.seq, next.sum)
      read.push(record)
      // A damaged file may give its rows in any order: one that belongs further up is not gone back to.
      if (row.seq < next.seq) continue
      // Behind a gap the row that was found instead is read in its own place; its sum was made with one that is gone.
      if (row.seq > next.seq) read.push(Record.open(row, row.seq, undefined))
      next = { seq: row.seq + 1, sum: row.sum }
    }
    return { read, next: next.seq === seq ? undefined : next }
  })

const records = (source: Source, from: Position): Stream.Stream<Record.Read, ReadError> =>
  Stream.paginate(
    from,
    (position: Position) =>
      Effect.map(page(source, position), ({ next, read }) => [read, Option.fromUndefinedOr(next)] as const)
  )

const corrupt = (source: Source, { problem, seq }: Record.Read & { readonly _tag: "Corrupt" }): LogCorrupt =>
  new LogCorrupt({ log: source.name, seq, problem })

export const entries = (source: Source, from: number): Stream.Stream<Entry, ReadError> =>
  Stream.unwrap(
    Effect.map(from <= 1 ? Effect.succeed([]) : source.below(from, 1), (before): Stream.Stream<Entry, ReadError> => {
      const [row] = before
      return Stream.mapEffect(
        records(source, row === undefined ? start : { seq: row.seq + 1, sum: row.sum }),
        (record) => record._tag === "Entry" ? Effect.succeed(record.entry) : Effect.fail(corrupt(source, record))
      )
    })
  )

/** Every violation in the log, and what is open at its end. */
export const verify = (source: Source): Effect.Effect<Report, ReadError> =>
  Effect.gen(function*() {
    const violations: Array<Violation> = []
    const ledger = new Ledger()
    let events = 0
    let calls = 0
    for (const fault of yield* source.faults) violations.push({ seq: undefined, problem: "Corrupt", detail: fault })
    yield* Stream.runForEach(records(source, start), (record) =>
      Effect.sync(() => {
        if (record._tag === "Corrupt") {
          violations.push({ seq: record.seq, problem: "Corrupt", detail: record.problem })
          return
        }
        const { event, seq } = record.entry
        // Behind a gap the numbers go on where the gap ends.
        ledger.seq = seq - 1
        events++
        if (event._tag === "tool/call") calls++
        const problem = ledger.check(event)
        if (problem !== undefined) {
          violations.push({ seq, problem, detail: event._tag })
          // What a turn left open when another one began, nobody will close.
          if (problem === "TurnOpen" || (problem === "Unanswered" && event._tag === "turn/end")) {
            for (const call of ledger.unanswered) {
              violations.push({ seq: call.seq, problem: "Unanswered", detail: call.callId })
            }
          }
        }
        ledger.add(event)
      }))
    return { events, calls, violations, open: ledger.unanswered.map(({ seq }) => seq), turn: ledger.turn }
  })

/** The ledger at the end of the log, and the last sum: all that a writer needs to go on. */
export const tail = Effect.fnUntraced(function*(
  source: Source
): Effect.fn.Return<{ readonly ledger: Ledger; readonly sum: number }, ReadError> {
  // Backwards to where the last turn begins: what is before it is closed.
  const found: Array<Entry> = []
  let rows = yield* source.below(Number.MAX_SAFE_INTEGER, pageSize)
  const sum = rows[0]?.sum ?? 0
  search: while (rows.length > 0) {
    const [oldest] = yield* source.below(rows.at(-1)!.seq, 1)
    for (const [index, row] of rows.entries()) {
      const before = rows[index + 1] ?? oldest
      const record = Record.open(row, found.length === 0 ? row.seq : found.at(-1)!.seq - 1, before?.sum ?? 0)
      if (record._tag === "Corrupt") return yield* corrupt(source, record)
      found.push(record.entry)
      if (record.entry.event._tag === "turn/start") break search
    }
    if (oldest === undefined) break
    rows = yield* source.below(rows.at(-1)!.seq, pageSize)
  }
  const ledger = new Ledger()
  for (const { event, seq } of found.reverse()) {
    ledger.seq = seq - 1
    const problem = ledger.check(event)
    if (problem !== undefined) {
      return yield* new LogCorrupt({ log: source.name, seq, problem: `it is not balanced: ${problem}` })
    }
    ledger.add(event)
  }
  return { ledger, sum }
})
