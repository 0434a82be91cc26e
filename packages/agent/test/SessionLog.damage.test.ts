/**
 * A log whose files were damaged, at every place: what is missing or wrong is reported, with an error of a known kind, and
 * whatever is read is what was written.
 */
import { assert, describe, it } from "@effect/vitest"
import { type LogEvent, SessionLog } from "@quiesce/agent"
import { Effect, Exit, Stream } from "effect"
import { copyFileSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { cites } from "../../../tests/conformance/cites.ts"
import * as Reader from "../src/internal/reader.ts"
import * as Record from "../src/internal/record.ts"
import { memory } from "../src/internal/storage.ts"
import { asked, openFile, tempFile, turnEnd, turnStart } from "./support/logs.ts"

const page = 4096

/** Each opens some dozens of files, a second's work for a machine that does nothing else. */
const patience = 60_000

/** Events of many sizes: some fill a page, some share one. */
const texts = Array.from({ length: 60 }, (_, index) => `${index} `.repeat(1 + (index * 37) % 300))

const events: ReadonlyArray<LogEvent.LogEvent> = [turnStart, ...texts.map((text) => asked(1, text)), turnEnd(1)]

/** A log of one file, with nothing beside it. */
const written = Effect.gen(function*() {
  const file = yield* tempFile
  yield* Effect.scoped(Effect.flatMap(openFile(file), (log) => log.append(...events)))
  return readFileSync(file)
})

/** What a reader says of `bytes`: the events it has found, and whether it says that something is wrong. */
const readingOf = Effect.fnUntraced(function*(file: string, bytes: Uint8Array) {
  writeFileSync(file, bytes)
  const read: Array<LogEvent.LogEvent> = []
  const reading = Effect.gen(function*() {
    const reader = yield* SessionLog.readSqlite(file)
    const verified = yield* Effect.result(reader.verify)
    const run = Stream.runForEach(reader.read(), ({ event }) => Effect.sync(() => void read.push(event)))
    const ran = yield* Effect.result(run)
    const isReported = verified._tag === "Failure" || verified.success.violations.length > 0
    return isReported || ran._tag === "Failure"
  })
  // Only the errors of a log are looked into: a defect fails the test.
  const result = yield* Effect.result(Effect.scoped(reading))
  for (const end of ["-wal", "-shm"]) rmSync(`${file}${end}`, { force: true })
  if (result._tag === "Failure") assert.include(["LogCorrupt", "LogFailed"], result.failure._tag)
  return { read, isReported: result._tag === "Failure" || result.success }
})

const isTrue = (where: string, { isReported, read }: Effect.Success<ReturnType<typeof readingOf>>) => {
  assert.deepStrictEqual(read, events.slice(0, read.length), where)
  assert.isTrue(isReported || read.length === events.length, `${where}: ${read.length} events, and nothing is said`)
}

describe("a file that is damaged", () => {
  it.live(
    cites("by a cut at any place says so", "TURN-09"),
    () =>
      Effect.gen(function*() {
        const bytes = yield* written
        const file = yield* tempFile
        assert.isAbove(bytes.length, 8 * page)
        for (let length = 0; length < bytes.length; length += page / 4) {
          const found = yield* readingOf(file, bytes.subarray(0, length))
          isTrue(`cut to ${length}`, found)
          assert.isTrue(found.isReported, `cut to ${length}`)
        }
      }).pipe(Effect.scoped),
    patience
  )

  it.live(
    cites("by a torn page, whichever it is, says so where a record is in it", "TURN-09"),
    () =>
      Effect.gen(function*() {
        const bytes = yield* written
        const file = yield* tempFile
        let reported = 0
        for (let at = 0; at < bytes.length; at += page / 2) {
          const torn = Uint8Array.from(bytes)
          torn.fill(0, at, at + page / 2)
          const found = yield* readingOf(file, torn)
          isTrue(`torn at ${at}`, found)
          if (found.isReported) reported++
        }
        // Half of a page may be empty; most are not.
        assert.isAbove(reported, bytes.length / page)
      }).pipe(Effect.scoped),
    patience
  )

  it.live(
    cites("by one bit anywhere in a record says so", "TURN-09"),
    () =>
      Effect.gen(function*() {
        const bytes = yield* written
        const file = yield* tempFile
        // One bit in each two hundred bytes of what was said, wherever it lies.
        let flipped = 0
        for (let at = 0; at < bytes.length; at += 197) {
          if (bytes[at] !== 0x20) continue
          const changed = Uint8Array.from(bytes)
          changed[at] = 0x20 ^ 0x01
          isTrue(`flipped at ${at}`, yield* readingOf(file, changed))
          flipped++
        }
        assert.isAbove(flipped, 25)
      }).pipe(Effect.scoped),
    patience
  )
})

describe("records that are damaged", () => {
  const rows = events.slice(0, 3).reduce<ReadonlyArray<Record.Row>>((rows, event, index) => {
    const row = Record.seal(index + 1, 0, Record.encode(event), rows.at(-1)?.sum ?? 0)
    return [...rows, row]
  }, [])

  /** What a table is declared with binds those who write, and not a disk. */
  const columns: ReadonlyArray<readonly [what: string, damage: { readonly [C in keyof Record.Row]?: unknown }]> = [
    ["no sum", { sum: null }],
    ["a sum that is none", { sum: -1 }],
    ["a sum that is text", { sum: "12" }],
    ["no event", { event: null }],
    ["bytes for an event", { event: new Uint8Array([123, 125]) }],
    ["no time", { at: null }]
  ]
  it.effect.each(columns)(
    cites("by %s say so, and those who follow are judged by what is there", "TURN-09"),
    ([, damage]) =>
      Effect.gen(function*() {
        const source = memory([rows[0]!, { ...rows[1]!, ...(damage as Partial<Record.Row>) }, rows[2]!])
        const { events: read, violations } = yield* Reader.verify(source)
        assert.isTrue(violations.some(({ problem, seq }) => seq === 2 && problem === "Corrupt"))
        assert.strictEqual(read + violations.length, 3)
        const error = yield* Effect.flip(Stream.runDrain(Reader.entries(source, 1)))
        assert.deepInclude(error, { _tag: "LogCorrupt", seq: 2 })
        assert.strictEqual((yield* Effect.flip(Reader.tail(source)))._tag, "LogCorrupt")
      })
  )

  it.effect(
    cites("by an index that leads back are read to an end, each once", "TURN-09"),
    () =>
      Effect.gen(function*() {
        // As a torn tree does it: behind the last record comes the second one, wherever one begins.
        const source = {
          ...memory([...rows]),
          from: (seq: number) => Effect.succeed([...rows.slice(seq - 1), rows[1]!])
        }
        const { events: read, violations } = yield* Reader.verify(source)
        assert.strictEqual(read, 3)
        assert.isAbove(violations.length, 0)
        assert.deepStrictEqual([...new Set(violations.map(({ problem, seq }) => `${seq} ${problem}`))], ["4 Corrupt"])
      })
  )
})

describe("a write-ahead log that ends in the middle of a commit", () => {
  it.live(
    cites("gives back all commits before, and nothing of that one", "TURN-09", "TURN-07"),
    () =>
      Effect.gen(function*() {
        const file = yield* tempFile
        const copy = yield* tempFile
        // As a machine leaves it that loses its power: the writer is not there to tidy up.
        const ends = yield* Effect.scoped(Effect.gen(function*() {
          const log = yield* openFile(file)
          const size = () => readFileSync(`${file}-wal`).length
          const ends: Array<{ readonly size: number; readonly events: number }> = [{ size: size(), events: 0 }]
          for (const [index, event] of events.entries()) {
            yield* log.append(event)
            ends.push({ size: size(), events: index + 1 })
          }
          copyFileSync(file, copy)
          copyFileSync(`${file}-wal`, `${copy}-wal`)
          return ends
        }))
        const main = readFileSync(copy)
        const wal = readFileSync(`${copy}-wal`)
        assert.strictEqual(ends.at(-1)!.size, wal.length)
        for (let length = ends[0]!.size; length <= wal.length; length += 6_007) {
          writeFileSync(copy, main)
          writeFileSync(`${copy}-wal`, wal.subarray(0, length))
          rmSync(`${copy}-shm`, { force: true })
          const exit = yield* Effect.exit(Effect.scoped(Effect.gen(function*() {
            const reader = yield* SessionLog.readSqlite(copy)
            return { read: yield* Stream.runCollect(reader.read()), report: yield* reader.verify }
          })))
          assert.isTrue(Exit.isSuccess(exit), `cut to ${length}`)
          if (!Exit.isSuccess(exit)) continue
          const committed = ends.filter(({ size }) => size <= length).at(-1)!.events
          assert.deepStrictEqual(exit.value.read.map(({ event }) => event), events.slice(0, committed))
          assert.deepStrictEqual(exit.value.report.violations, [])
        }
      }).pipe(Effect.scoped),
    patience
  )
})
