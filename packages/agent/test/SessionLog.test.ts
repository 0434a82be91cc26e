import { assert, describe, it } from "@effect/vitest"
import { type LogError, type LogEvent, SessionLog } from "@quiesce/agent"
import { Deferred, Effect, Exit, Fiber, Scope, Stream } from "effect"
import { cites } from "../../../tests/conformance/cites.ts"
import {
  answered,
  asked,
  called,
  type Disk,
  disk,
  full,
  marked,
  oneTurn,
  openFile,
  said,
  tempFile,
  turnEnd,
  turnStart
} from "./support/logs.ts"

const problemOf = (exit: Exit.Exit<unknown, LogError.AppendError>) => {
  const error = Exit.isFailure(exit) ? exit.cause.reasons.find((reason) => reason._tag === "Fail")?.error : undefined
  return error?._tag === "LogRefused" ? error.problem : error?._tag
}

const inMemory = Effect.suspend(() => {
  const storage = disk()
  return Effect.map(SessionLog.make(storage), (log) => ({ log, storage }))
})

const inFile = Effect.flatMap(tempFile, openFile)

const kinds = [
  ["in memory", Effect.map(inMemory, ({ log }) => log)],
  ["in a file", inFile]
] as const

describe.each(kinds)("a log %s", (_, open) => {
  it.live(
    cites("numbers its events and gives them back as they were", "TURN-07"),
    () =>
      Effect.gen(function*() {
        const log = yield* open
        const written = yield* log.append(...oneTurn)
        assert.deepStrictEqual(written.map(({ seq }) => seq), [1, 2, 3, 4, 5, 6, 7])
        const read = yield* Stream.runCollect(log.read())
        assert.deepStrictEqual(read.map(({ event }) => event), [...oneTurn])
        assert.deepStrictEqual((yield* Stream.runCollect(log.read(6))).map(({ seq }) => seq), [6, 7])
        assert.deepStrictEqual(yield* log.verify, { events: 7, calls: 1, violations: [], open: [], turn: undefined })
      }).pipe(Effect.scoped)
  )

  it.live(
    cites("gives back more than a page of events, from anywhere", "TURN-07"),
    () =>
      Effect.gen(function*() {
        const log = yield* open
        yield* log.append(turnStart, ...Array.from({ length: 600 }, (_, index) => asked(1, `${index}`)), turnEnd(1))
        const read = yield* Stream.runCollect(log.read(300))
        assert.deepStrictEqual(read.map(({ seq }) => seq), Array.from({ length: 303 }, (_, index) => 300 + index))
        assert.isTrue(SessionLog.isBalanced(yield* log.verify))
      }).pipe(Effect.scoped)
  )

  it.live(
    cites("writes all of a group, or nothing of it", "TURN-07"),
    () =>
      Effect.gen(function*() {
        const log = yield* open
        yield* log.append(turnStart)
        assert.strictEqual(problemOf(yield* Effect.exit(log.append(asked(1), turnEnd(7)))), "NoTurn")
        assert.strictEqual((yield* log.verify).events, 1)
        assert.strictEqual((yield* log.append(asked(1)))[0]?.seq, 2)
      }).pipe(Effect.scoped)
  )

  const hostile: ReadonlyArray<readonly [what: string, event: unknown]> = [
    ["a value that is no JSON", { ...answered(4), result: { ...(answered(4) as any).result, value: undefined } }],
    ["a number that JSON does not have", { ...called(1), arguments: { _tag: "Complete", json: Number.NaN } }],
    ["an event nobody knows", { _tag: "turn/pause", turn: 1 }],
    ["a sequence number that is none", { _tag: "tool/dispatched", call: 1.5 }]
  ]
  it.live.each(hostile)(
    cites("refuses %s", "TURN-07"),
    ([, event]) =>
      Effect.gen(function*() {
        const log = yield* open
        yield* log.append(...oneTurn.slice(0, 5))
        assert.strictEqual(problemOf(yield* Effect.exit(log.append(event as LogEvent.LogEvent))), "Invalid")
        assert.strictEqual((yield* log.verify).events, 5)
      }).pipe(Effect.scoped)
  )

  it.live(
    cites("keeps strings and keys of every kind", "TURN-07"),
    () =>
      Effect.gen(function*() {
        const log = yield* open
        const json = JSON.parse(`{ "__proto__": 1, "": "\\u0000\\ud800", "constructor": { "deep": [[[{}]]] } }`)
        const event: LogEvent.LogEvent = {
          _tag: "tool/call",
          turn: 1,
          callId: "\0",
          name: "é\ud800",
          arguments: { _tag: "Complete", json }
        }
        yield* log.append(turnStart, said(1, "'; DROP TABLE event; --"), event)
        const read = yield* Stream.runCollect(log.read(3))
        assert.strictEqual(JSON.stringify(read[0]?.event), JSON.stringify(event))
      }).pipe(Effect.scoped)
  )

  it.live(
    cites("becomes lines, and of the lines the same log", "TURN-07"),
    () =>
      Effect.gen(function*() {
        const log = yield* open
        yield* log.append(...oneTurn)
        const lines = yield* Stream.runCollect(log.exported)
        const copy = yield* open
        yield* copy.importing(Stream.fromIterable(lines))
        assert.deepStrictEqual(yield* Stream.runCollect(copy.exported), lines)
        assert.strictEqual(
          problemOf(yield* Effect.exit(copy.importing(Stream.fromIterable(lines)) as typeof copy.recover)),
          "NotEmpty"
        )
      }).pipe(Effect.scoped)
  )

  it.live(
    cites("imports nothing where a line is damaged, out of order or unbalanced", "TURN-07", "TURN-09"),
    () =>
      Effect.gen(function*() {
        const log = yield* open
        yield* log.append(...oneTurn)
        const lines = yield* Stream.runCollect(log.exported)
        const copy = yield* open
        const damaged = [
          lines.with(3, lines[3]!.slice(0, 20)),
          lines.toSpliced(3, 1),
          lines.toSpliced(5, 1).map((line, index) => line.replace(/"seq":\d+/, `"seq":${index + 1}`))
        ]
        const errors = yield* Effect.forEach(
          damaged,
          (lines) => Effect.flip(copy.importing(Stream.fromIterable(lines)))
        )
        assert.deepStrictEqual(errors.map(({ _tag }) => _tag), ["LogCorrupt", "LogCorrupt", "LogRefused"])
        assert.strictEqual((yield* copy.verify).events, 0)
      }).pipe(Effect.scoped)
  )

  it.live(
    cites("with a call that an import left open closes it when it recovers", "TURN-08"),
    () =>
      Effect.gen(function*() {
        const log = yield* open
        yield* log.append(...oneTurn.slice(0, 5))
        const copy = yield* open
        yield* copy.importing(log.exported)
        assert.deepStrictEqual((yield* copy.recover).map(({ event }) => event._tag), ["tool/result", "turn/end"])
        assert.isTrue(SessionLog.isBalanced(yield* copy.verify))
      }).pipe(Effect.scoped)
  )
})

describe("what does not fit", () => {
  const refusals: ReadonlyArray<readonly [what: string, event: LogEvent.LogEvent, problem: LogError.Problem]> = [
    ["a second result", answered(4), "Answered"],
    ["a mark for a call that has its result", marked(4), "Answered"],
    ["a second mark", marked(5), "Marked"],
    ["a result that says the body ran, without a mark", answered(6, { callId: "c" }), "Unmarked"],
    ["a result under another label", answered(5, { callId: "z" }), "OtherCall"],
    ["a result of another tool", answered(5, { callId: "b", name: "other" }), "OtherCall"],
    ["a result that cites no call", answered(3), "NoCall"],
    ["a result that cites what is not written yet", answered(99), "NoCall"],
    ["a call behind the marks of its step", called(1, "d"), "OutOfOrder"],
    ["the end of a turn with calls that have no result", turnEnd(1), "Unanswered"],
    ["an input between a call and its result", asked(1), "Unanswered"],
    ["the next step before this one is answered", said(1), "Unanswered"],
    ["a turn inside a turn", turnStart, "TurnOpen"],
    ["the end of another turn", turnEnd(2), "NoTurn"]
  ]
  const open = Effect.gen(function*() {
    const { log } = yield* inMemory
    yield* log.append(
      turnStart,
      asked(1),
      said(1),
      called(1, "a"),
      called(1, "b"),
      called(1, "c"),
      marked(4),
      answered(4),
      marked(5)
    )
    return log
  })

  it.effect.each(refusals)(
    cites("is refused and named: %s", "TURN-07", "TURN-10"),
    ([, event, problem]) =>
      Effect.gen(function*() {
        const log = yield* open
        assert.strictEqual(problemOf(yield* Effect.exit(log.append(event))), problem)
        assert.strictEqual((yield* log.verify).events, 9)
      }).pipe(Effect.scoped)
  )

  it.effect(
    cites("is refused: a result that arrives when its turn is closed", "TURN-10"),
    () =>
      Effect.gen(function*() {
        const { log } = yield* inMemory
        yield* log.append(...oneTurn, turnStart)
        assert.strictEqual(problemOf(yield* Effect.exit(log.append(answered(4)))), "NoCall")
        assert.strictEqual(problemOf(yield* Effect.exit(log.append(called(1)))), "NoTurn")
        assert.deepInclude(yield* log.verify, { violations: [], open: [] })
      }).pipe(Effect.scoped)
  )

  it.effect(
    cites("does not include a call that was marked and then aborted before its body", "TURN-07"),
    () =>
      Effect.gen(function*() {
        const { log } = yield* inMemory
        yield* log.append(...oneTurn.slice(0, 5), answered(4, { dispatched: false }), turnEnd(1))
        assert.isTrue(SessionLog.isBalanced(yield* log.verify))
      }).pipe(Effect.scoped)
  )
})

describe("a commit", () => {
  it.effect(
    cites("takes all that wait, and is synced for a mark or a result", "TURN-07", "TURN-09"),
    () =>
      Effect.gen(function*() {
        const { log, storage } = yield* inMemory
        yield* log.append(turnStart)
        yield* log.append(said(1), called(1, "a"), called(1, "b"))
        assert.deepStrictEqual(storage.commits, [{ rows: 1, durable: false }, { rows: 3, durable: false }])
        yield* Effect.all([log.append(marked(3)), log.append(marked(4))], { concurrency: "unbounded" })
        assert.deepStrictEqual(storage.commits.slice(2), [{ rows: 2, durable: true }])
      }).pipe(Effect.scoped)
  )

  it.effect(
    cites("is shared by all marks that come due during the one before", "TURN-07"),
    () =>
      Effect.gen(function*() {
        const { log, storage } = yield* inMemory
        const calls = Array.from({ length: 9 }, (_, index) => called(1, `${index}`))
        yield* log.append(turnStart, said(1), ...calls)
        const gate = yield* Deferred.make<void>()
        storage.gates.push(gate)
        const first = yield* Effect.forkChild(log.append(marked(3)))
        yield* Effect.yieldNow
        yield* Effect.yieldNow
        const others = yield* Effect.forEach(calls.slice(1), (_, index) =>
          Effect.forkChild(log.append(marked(4 + index))))
        yield* Effect.yieldNow
        assert.strictEqual(storage.commits.length, 1)
        yield* Deferred.succeed(gate, undefined)
        yield* Fiber.join(first)
        yield* Effect.forEach(others, Fiber.join)
        assert.deepStrictEqual(storage.commits.slice(1), [{ rows: 1, durable: true }, { rows: 8, durable: true }])
      }).pipe(Effect.scoped)
  )

  it.effect(
    cites("that fails leaves the log where it was, and the next one goes on from there", "TURN-07"),
    () =>
      Effect.gen(function*() {
        const { log, storage } = yield* inMemory
        yield* log.append(...oneTurn.slice(0, 4))
        storage.failures.push(full)
        assert.strictEqual(problemOf(yield* Effect.exit(log.append(marked(4)))), "LogFailed")
        assert.strictEqual((yield* log.append(marked(4)))[0]?.seq, 5)
        yield* log.append(answered(4), turnEnd(1))
        assert.isTrue(SessionLog.isBalanced(yield* log.verify))
      }).pipe(Effect.scoped)
  )

  it.effect(
    cites("that fails for several is tried for each alone", "TURN-07"),
    () =>
      Effect.gen(function*() {
        const { log, storage } = yield* inMemory
        yield* log.append(turnStart, said(1), called(1, "a"), called(1, "b"))
        storage.failures.push(full, full)
        const [a, b] = yield* Effect.all(
          [Effect.exit(log.append(marked(3))), Effect.exit(log.append(marked(4)))],
          { concurrency: "unbounded" }
        )
        assert.strictEqual(problemOf(a), "LogFailed")
        assert.isTrue(Exit.isSuccess(b))
        assert.strictEqual(storage.rows.length, 5)
      }).pipe(Effect.scoped)
  )

  it.effect(
    cites("goes on when whoever waits for it is interrupted", "TURN-07"),
    () =>
      Effect.gen(function*() {
        const { log, storage } = yield* inMemory
        const gate = yield* Deferred.make<void>()
        storage.gates.push(gate)
        const waiting = yield* Effect.forkChild(log.append(turnStart), { startImmediately: true })
        yield* Fiber.interrupt(waiting)
        yield* Deferred.succeed(gate, undefined)
        assert.strictEqual((yield* log.append(asked(1)))[0]?.seq, 2)
      }).pipe(Effect.scoped)
  )

  it.effect(
    cites("is awaited by whoever closes the log, and nothing is written afterwards", "TURN-07"),
    () =>
      Effect.gen(function*() {
        const storage: Disk = disk()
        const scope = yield* Scope.make()
        const log = yield* Scope.provide(SessionLog.make(storage), scope)
        const gate = yield* Deferred.make<void>()
        storage.gates.push(gate)
        const writing = yield* Effect.forkChild(log.append(turnStart), { startImmediately: true })
        const closing = yield* Effect.forkChild(Scope.close(scope, Exit.void), { startImmediately: true })
        yield* Effect.yieldNow
        assert.isUndefined(closing.pollUnsafe())
        assert.strictEqual(problemOf(yield* Effect.exit(log.append(asked(1)))), "LogFailed")
        yield* Deferred.succeed(gate, undefined)
        yield* Fiber.join(closing)
        assert.strictEqual((yield* Fiber.join(writing)).length, 1)
        assert.strictEqual(storage.rows.length, 1)
      })
  )
})

describe("recovery", () => {
  /** Four calls, one of them answered, one marked. */
  const before = [
    turnStart,
    said(1),
    called(1, "a"),
    called(1, "b"),
    called(1, "c"),
    marked(3),
    answered(3),
    marked(4)
  ]

  it.effect(
    cites("aborts marked calls, and those without a mark before dispatch; the turn crashed", "TURN-08"),
    () =>
      Effect.gen(function*() {
        const { log, storage } = yield* inMemory
        yield* log.append(...before)
        storage.crash()
        const again = yield* SessionLog.make(disk(storage.rows))
        const [b, c, end] = again.recovered.map(({ event }) => event)
        assert(b?._tag === "tool/result" && b.result._tag === "Failure")
        assert.deepInclude(b, { call: 4 })
        assert.deepInclude(b.result, { callId: "b", name: "tool", dispatched: true })
        assert.strictEqual(b.result.error.code, "ABORTED")
        assert.strictEqual(b.result.residue.length, 1)
        assert(c?._tag === "tool/result" && c.result._tag === "Failure")
        assert.deepInclude(c.result, { callId: "c", dispatched: false, residue: [] })
        assert.strictEqual(c.result.error.code, "ABORTED_BEFORE_DISPATCH")
        assert.deepStrictEqual(end, { _tag: "turn/end", turn: 1, ending: "crashed" })
        assert.isTrue(SessionLog.isBalanced(yield* again.verify))
      }).pipe(Effect.scoped)
  )

  it.effect(
    cites("does nothing a second time, nor to a turn of this writer's own", "TURN-08"),
    () =>
      Effect.gen(function*() {
        const { log, storage } = yield* inMemory
        yield* log.append(...before)
        storage.crash()
        const again = yield* SessionLog.make(disk(storage.rows))
        assert.deepStrictEqual(yield* again.recover, [])
        yield* again.append(turnStart)
        assert.deepStrictEqual(yield* again.recover, [])
        assert.strictEqual((yield* again.verify).turn, 12)
        const third = yield* SessionLog.make(disk(storage.rows))
        assert.strictEqual(third.recovered.length, 1)
        assert.deepStrictEqual((yield* SessionLog.make(disk(storage.rows))).recovered, [])
      }).pipe(Effect.scoped)
  )

  it.effect(
    cites("finds the open turn however long it is", "TURN-08"),
    () =>
      Effect.gen(function*() {
        const { log, storage } = yield* inMemory
        yield* log.append(...oneTurn, turnStart, ...Array.from({ length: 700 }, () => asked(8)), said(8), called(8))
        storage.crash()
        const again = yield* SessionLog.make(disk(storage.rows))
        assert.deepStrictEqual(again.recovered.map(({ seq }) => seq), [711, 712])
        assert.isTrue(SessionLog.isBalanced(yield* again.verify))
      }).pipe(Effect.scoped)
  )
})

describe("verifying", () => {
  const tamper = (change: (storage: Disk) => void) =>
    Effect.gen(function*() {
      const { log, storage } = yield* inMemory
      yield* log.append(...oneTurn, turnStart, turnEnd(8))
      change(storage)
      return { log, report: yield* log.verify, storage }
    }).pipe(Effect.scoped)

  it.effect(
    cites("names the record that was changed, and reading stops there", "TURN-09"),
    () =>
      Effect.gen(function*() {
        const { log, report } = yield* tamper(({ rows }) => {
          rows[1] = { ...rows[1]!, event: rows[1]!.event.replace("do it", "do is") }
        })
        assert.deepStrictEqual(report.violations.map(({ problem, seq }) => [seq, problem]), [[2, "Corrupt"]])
        const read: Array<number> = []
        const error = yield* Effect.flip(Stream.runForEach(log.read(), ({ seq }) => Effect.sync(() => read.push(seq))))
        assert.deepInclude(error, { _tag: "LogCorrupt", seq: 2 })
        assert.deepStrictEqual(read, [1])
      })
  )

  it.effect(
    cites("names a record that is gone, and what it leaves unbalanced", "TURN-09"),
    () =>
      Effect.gen(function*() {
        const { report } = yield* tamper(({ rows }) => void rows.splice(5, 1))
        assert.deepStrictEqual(
          report.violations.map(({ problem, seq }) => [seq, problem]),
          [[6, "Corrupt"], [7, "Unanswered"], [4, "Unanswered"]]
        )
        assert.include(report.violations[0]?.detail, "missing")
      })
  )

  it.effect(
    cites("reports every violation, not the first", "TURN-09"),
    () =>
      Effect.gen(function*() {
        const { report } = yield* tamper(({ rows }) => {
          rows[2] = { ...rows[2]!, sum: 0 }
          rows[4] = { ...rows[4]!, event: "{" }
        })
        assert.deepStrictEqual(
          report.violations.map(({ problem, seq }) => [seq, problem]),
          // The sum of a record is a part of the next one's, and a call needs to have been said.
          [[3, "Corrupt"], [4, "Corrupt"], [5, "Corrupt"], [6, "NoCall"]]
        )
      })
  )

  it.effect(
    cites("is not needed to find a damaged end: the log does not open, and nothing is written", "TURN-09"),
    () =>
      Effect.gen(function*() {
        const { log, storage } = yield* inMemory
        yield* log.append(...oneTurn.slice(0, 5))
        storage.rows[3] = { ...storage.rows[3]!, event: "{}" }
        const error = yield* Effect.flip(SessionLog.make(disk(storage.rows)))
        assert.deepInclude(error, { _tag: "LogCorrupt", seq: 4 })
        assert.strictEqual(storage.rows.length, 5)
      }).pipe(Effect.scoped)
  )
})
