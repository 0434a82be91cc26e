import { assert, describe, it } from "@effect/vitest"
import { type LogEvent, Turn } from "@quiesce/agent"
import { Approval, Policy, Tool, Wrapper } from "@quiesce/core"
import { Effect, Exit, Fiber, Scope, Stream } from "effect"
import { TestClock } from "effect/testing"
import { cites } from "../../../tests/conformance/cites.ts"
import {
  AnyJson,
  assertBalanced,
  codes,
  held,
  instant,
  makeAgent,
  request,
  settled,
  step,
  watch
} from "./support/agent.ts"
import { disk, full } from "./support/logs.ts"

const events = (log: { readonly read: () => Stream.Stream<LogEvent.Entry, unknown> }) =>
  Effect.map(Stream.runCollect(log.read()), (entries) => entries.map(({ event }) => event))

describe("the pool", () => {
  it.effect(
    cites("starts the next call as soon as one has ended, and never more than `maxParallel` at once", "TURN-01"),
    () =>
      Effect.gen(function*() {
        const a = held("a")
        const { turn } = yield* makeAgent([a.tool])
        const running = yield* Effect.forkChild(
          (yield* turn({ maxParallel: 2 })).step(step("a", "a", "a", "a")),
          { startImmediately: true }
        )
        const first = yield* a.next
        const second = yield* a.next
        yield* settled
        assert.strictEqual(a.runs.length, 2)
        second.end(2)
        const third = yield* a.next
        yield* settled
        assert.strictEqual(a.runs.length, 3)
        first.end(1)
        third.end(3)
        ;(yield* a.next).end(4)
        const { results } = yield* Fiber.join(running)
        assert.deepStrictEqual(results.map((result) => result._tag === "Success" && result.value), [1, 2, 3, 4])
      }).pipe(Effect.scoped)
  )

  it.effect(
    cites("of one is serial", "TURN-01"),
    () =>
      Effect.gen(function*() {
        const a = held("a")
        const { turn } = yield* makeAgent([a.tool])
        const running = yield* Effect.forkChild((yield* turn({ maxParallel: 1 })).step(step("a", "a")))
        const first = yield* a.next
        yield* settled
        assert.strictEqual(a.runs.length, 1)
        first.end(1)
        ;(yield* a.next).end(2)
        assert.deepStrictEqual(codes((yield* Fiber.join(running)).results), ["SUCCESS", "SUCCESS"])
      }).pipe(Effect.scoped)
  )

  it.effect.each([0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY])(
    cites("of %s is refused", "TURN-01"),
    (maxParallel) =>
      Effect.gen(function*() {
        const { context, storage } = yield* makeAgent([])
        const exit = yield* Effect.exit(Effect.provide(Turn.make({ maxParallel }), context))
        assert(Exit.isFailure(exit) && exit.cause.reasons[0]?._tag === "Die")
        assert.instanceOf(exit.cause.reasons[0].defect, Turn.InvalidOptions)
        assert.strictEqual(storage.rows.length, 0)
      }).pipe(Effect.scoped)
  )

  it.effect(
    cites("is empty before an exclusive call starts, and that is over before the next one does", "TURN-01"),
    () =>
      Effect.gen(function*() {
        const a = held("a")
        const x = held("x", { mode: "exclusive" })
        const { turn } = yield* makeAgent([a.tool, x.tool])
        const running = yield* Effect.forkChild((yield* turn()).step(step("a", "a", "x", "a")))
        const first = yield* a.next
        const second = yield* a.next
        first.end(1)
        yield* settled
        assert.strictEqual(x.runs.length, 0)
        second.end(2)
        const alone = yield* x.next
        yield* settled
        assert.strictEqual(a.runs.length, 2)
        alone.end(3)
        ;(yield* a.next).end(4)
        assert.strictEqual((yield* Fiber.join(running)).results.length, 4)
      }).pipe(Effect.scoped)
  )

  it.effect(
    cites("reads the mode again just before the start, when a tool was replaced meanwhile", "TURN-01"),
    () =>
      Effect.gen(function*() {
        const a = held("a")
        const before = held("x", { mode: "exclusive" })
        const after = held("x", { mode: "parallel" })
        const { registry, turn } = yield* makeAgent([a.tool])
        const scope = yield* Scope.make()
        yield* Scope.provide(registry.register(before.tool), scope)
        const running = yield* Effect.forkChild((yield* turn()).step(step("a", "a", "x")))
        const first = yield* a.next
        const second = yield* a.next
        yield* settled
        yield* Scope.close(scope, Exit.void)
        yield* registry.register(after.tool)
        // Something changes, and the call is looked at again: it may run beside the other one now.
        first.end(1)
        const beside = yield* after.next
        assert.strictEqual(before.runs.length, 0)
        second.end(2)
        beside.end(3)
        yield* Fiber.join(running)
      }).pipe(Effect.scoped)
  )

  it.effect(
    cites("reads the mode again just before the start, when a tool became exclusive meanwhile", "TURN-01"),
    () =>
      Effect.gen(function*() {
        const a = held("a")
        const before = held("x", { mode: "parallel" })
        const after = held("x", { mode: "exclusive" })
        const { registry, turn } = yield* makeAgent([a.tool])
        const scope = yield* Scope.make()
        yield* Scope.provide(registry.register(before.tool), scope)
        const running = yield* Effect.forkChild((yield* turn({ maxParallel: 2 })).step(step("a", "a", "x")))
        const first = yield* a.next
        const second = yield* a.next
        yield* settled
        yield* Scope.close(scope, Exit.void)
        yield* registry.register(after.tool)
        first.end(1)
        yield* settled
        assert.strictEqual(after.runs.length, 0)
        second.end(2)
        ;(yield* after.next).end(3)
        yield* Fiber.join(running)
      }).pipe(Effect.scoped)
  )
})

describe("the order", () => {
  it.effect(
    cites("of what can be seen is the model's, each as soon as those before it are there", "TURN-02"),
    () =>
      Effect.gen(function*() {
        const tools = ["a", "b", "c"].map((name) => held(name))
        const [a, b, c] = tools as [typeof tools[0], typeof tools[0], typeof tools[0]]
        const { log, turn } = yield* makeAgent(tools.map(({ tool }) => tool))
        const current = yield* turn()
        const told = yield* watch(current)
        const committed = () => told.flatMap((event) => event._tag === "Committed" ? [event.name] : [])
        const running = yield* Effect.forkChild(current.step(step("a", "b", "c")))
        const [first, second, third] = [yield* a.next, yield* b.next, yield* c.next]
        third.end(3)
        yield* settled
        assert.deepStrictEqual(committed(), [])
        // It is in the log already, whatever those before it do.
        assert.strictEqual((yield* events(log)).at(-1)?._tag, "tool/result")
        first.end(1)
        yield* settled
        assert.deepStrictEqual(committed(), ["a"])
        second.end(2)
        yield* Fiber.join(running)
        yield* settled
        assert.deepStrictEqual(committed(), ["a", "b", "c"])
        assert.deepStrictEqual(
          told.flatMap((event) => event._tag === "Settled" ? [event.name] : []),
          ["c", "a", "b"]
        )
      }).pipe(Effect.scoped)
  )

  it.effect(
    cites("of policies is the model's: none is asked before the call before is past its approval", "TURN-02"),
    () =>
      Effect.gen(function*() {
        const asked: Array<string> = []
        const policy: Policy.Policy = {
          pre: (call) =>
            Effect.sync(() => {
              asked.push(call.callId)
              return call.callId === "1" ? Policy.ask() : Policy.allow
            })
        }
        const a = held("a")
        let answer: (outcome: Approval.Outcome) => void = () => {}
        const channel: Approval.Channel = {
          ask: () =>
            Effect.callback((resume) => {
              answer = (outcome) => resume(Effect.succeed(outcome))
            })
        }
        const { turn } = yield* makeAgent([a.tool], [Policy.layer(policy), Approval.layer(channel)])
        const running = yield* Effect.forkChild(
          (yield* turn()).step(step(request("a", "1"), request("a", "2"), request("a", "3")))
        )
        yield* settled
        assert.deepStrictEqual(asked, ["1"])
        answer(Approval.allowedOnce)
        const runs = [yield* a.next, yield* a.next, yield* a.next]
        assert.deepStrictEqual(asked, ["1", "2", "3"])
        runs.forEach((run) => run.end(0))
        yield* Fiber.join(running)
      }).pipe(Effect.scoped)
  )

  it.effect(
    cites("of policies goes on behind a call that was denied, and its siblings run", "TURN-02", "TURN-04"),
    () =>
      Effect.gen(function*() {
        const policy: Policy.Policy = {
          pre: (call) => Effect.succeed(call.callId === "1" ? Policy.deny("no") : Policy.allow)
        }
        const a = instant("a")
        const { log, turn } = yield* makeAgent([a.tool], [Policy.layer(policy)])
        const { results } = yield* (yield* turn({ maxParallel: 1, onFailure: "cancel" })).step(
          step(request("a", "1"), request("a", "2"))
        )
        assert.deepStrictEqual(codes(results), ["DENIED", "SUCCESS"])
        assert.deepInclude(yield* log.verify, { violations: [], open: [] })
      }).pipe(Effect.scoped)
  )

  it.effect(
    cites("of deferred contexts is the model's, and one call that concludes the turn concludes it", "TURN-02"),
    () =>
      Effect.gen(function*() {
        const a = held("a")
        const { turn } = yield* makeAgent([a.tool])
        const current = yield* turn()
        const running = yield* Effect.forkChild(current.step(step("a", "a")))
        const [first, second] = [yield* a.next, yield* a.next]
        second.call.deferContext("second")
        second.call.concludeTurn()
        second.end(2)
        yield* settled
        first.call.deferContext("first")
        first.end(1)
        const { concludes, contexts } = yield* Fiber.join(running)
        assert.deepStrictEqual(contexts, ["first", "second"])
        assert.isTrue(concludes)
        assert.isFalse((yield* current.step(step())).concludes)
      }).pipe(Effect.scoped)
  )
})

describe("cancelling the turn", () => {
  it.effect(
    cites("stops starting, drains what started, and answers the rest in order", "TURN-03"),
    () =>
      Effect.gen(function*() {
        const a = held("a", { stopsIn: "1 second" })
        const b = instant("b")
        const { log, storage, turn } = yield* makeAgent([a.tool, b.tool])
        const current = yield* turn({ maxParallel: 2 })
        const told = yield* watch(current)
        const running = yield* Effect.forkChild(current.step(step("b", "a", "a", "b", "a")))
        const [first, second] = [yield* a.next, yield* a.next]
        yield* current.cancel("user")
        yield* settled
        assert.isTrue(first.interrupted && second.interrupted)
        assert.isUndefined(running.pollUnsafe())
        yield* TestClock.adjust("1 second")
        const { cancelled, results } = yield* Fiber.join(running)
        assert.isTrue(first.quiet && second.quiet)
        assert.strictEqual(cancelled, "user")
        assert.deepStrictEqual(codes(results), [
          "SUCCESS",
          "ABORTED",
          "ABORTED",
          "ABORTED_BEFORE_DISPATCH",
          "ABORTED_BEFORE_DISPATCH"
        ])
        assert.deepStrictEqual([a.runs.length, b.runs.length], [2, 1])
        assert.deepStrictEqual(results.map(({ dispatched }) => dispatched), [true, true, true, false, false])
        yield* settled
        const committed = told.flatMap((event) => event._tag === "Committed" ? [event.call] : [])
        assert.deepStrictEqual(committed, [3, 4, 5, 6, 7])
        assert.deepInclude(yield* log.verify, { violations: [], open: [] })
        assert.isTrue(storage.rows.length > 0)
      }).pipe(Effect.scoped)
  )

  it.effect(
    cites("reaches a call that waits for approval, and one that cancels from within its policy", "TURN-03"),
    () =>
      Effect.gen(function*() {
        let cancel: Effect.Effect<void> = Effect.void
        const policy: Policy.Policy = {
          pre: (call) => Effect.as(call.callId === "2" ? cancel : Effect.void, Policy.ask())
        }
        const a = instant("a")
        const channel: Approval.Channel = {
          ask: (call) => call.callId === "1" ? Effect.succeed(Approval.allowedOnce) : Effect.never
        }
        const { turn } = yield* makeAgent([a.tool], [Policy.layer(policy), Approval.layer(channel)])
        const current = yield* turn({ maxParallel: 1 })
        cancel = current.cancel("user")
        const { results } = yield* current.step(step(request("a", "1"), request("a", "2"), request("a", "3")))
        assert.deepStrictEqual(codes(results), ["SUCCESS", "ABORTED_BEFORE_DISPATCH", "ABORTED_BEFORE_DISPATCH"])
        assert.strictEqual(a.runs.length, 1)
      }).pipe(Effect.scoped)
  )

  it.effect(
    cites("answers also what the model says afterwards, and runs none of it", "TURN-03", "TURN-10"),
    () =>
      Effect.gen(function*() {
        const a = instant("a")
        const asked: Array<string> = []
        const pre = (call: { readonly callId: string }) =>
          Effect.as(Effect.sync(() => asked.push(call.callId)), Policy.allow)
        const { log, turn } = yield* makeAgent([a.tool], [Policy.layer({ pre })])
        const current = yield* turn()
        yield* current.cancel("user")
        const { results } = yield* current.step(step("a", "a"))
        assert.deepStrictEqual(asked, [])
        assert.deepStrictEqual(codes(results), ["ABORTED_BEFORE_DISPATCH", "ABORTED_BEFORE_DISPATCH"])
        assert.deepStrictEqual(a.runs, [])
        assert.deepInclude(yield* log.verify, { violations: [], open: [], calls: 2 })
      }).pipe(Effect.scoped)
  )

  it.effect(
    cites("tells the calls why, and counts the first cause unless the turn is disposed", "TURN-06"),
    () =>
      Effect.gen(function*() {
        const a = held("a", { stopsIn: "1 second" })
        const { turn } = yield* makeAgent([a.tool])
        const current = yield* turn()
        const running = yield* Effect.forkChild(current.step(step("a")))
        const { call } = yield* a.next
        const { signal } = call
        yield* current.cancel("user")
        yield* current.cancel("parent")
        assert.strictEqual(yield* current.cancelled, "user")
        assert.deepInclude(signal.reason, { name: "AbortError", message: "the turn was cancelled (user)" })
        yield* current.cancel("disposed")
        yield* current.cancel("user")
        yield* TestClock.adjust("1 second")
        assert.strictEqual((yield* Fiber.join(running)).cancelled, "disposed")
      }).pipe(Effect.scoped)
  )

  it.effect(
    cites("by interrupting whoever runs it waits for its calls, and leaves the log balanced", "TURN-03", "TURN-06"),
    () =>
      Effect.gen(function*() {
        const a = held("a", { stopsIn: "1 second" })
        const { context, log } = yield* makeAgent([a.tool])
        const running = yield* Effect.forkChild(
          Effect.provide(Turn.run(step("a", "a"), { maxParallel: 1 }), context)
        )
        const run = yield* a.next
        const interrupting = yield* Effect.forkChild(Fiber.interrupt(running), { startImmediately: true })
        yield* settled
        assert.isTrue(run.interrupted)
        assert.isUndefined(interrupting.pollUnsafe())
        yield* TestClock.adjust("1 second")
        yield* Fiber.join(interrupting)
        assert.isTrue(run.quiet)
        yield* assertBalanced(log)
        assert.deepStrictEqual((yield* events(log)).at(-1), { _tag: "turn/end", turn: 1, ending: "cancelled" })
      }).pipe(Effect.scoped)
  )

  it.effect(
    cites("by interrupting whoever waits for a step does not wait for the turn's scope to close", "TURN-03", "TURN-06"),
    () =>
      Effect.gen(function*() {
        const a = held("a", { stopsIn: "1 second" })
        const { turn } = yield* makeAgent([a.tool])
        const current = yield* turn()
        const running = yield* Effect.forkChild(current.step(step("a")))
        const run = yield* a.next
        const interrupting = yield* Effect.forkChild(Fiber.interrupt(running), { startImmediately: true })
        yield* settled
        assert.isUndefined(interrupting.pollUnsafe())
        yield* TestClock.adjust("1 second")
        yield* Fiber.join(interrupting)
        assert.isTrue(run.quiet)
        assert.strictEqual(yield* current.cancelled, "parent")
      }).pipe(Effect.scoped)
  )

  it.effect(
    cites("by closing its scope drains a step that runs, and the turn ends behind it", "TURN-06"),
    () =>
      Effect.gen(function*() {
        const a = held("a", { stopsIn: "1 second" })
        const { log, turn } = yield* makeAgent([a.tool])
        const scope = yield* Scope.make()
        const current = yield* Scope.provide(turn(), scope)
        const running = yield* Effect.forkChild(current.step(step("a")))
        const run = yield* a.next
        const closing = yield* Effect.forkChild(Scope.close(scope, Exit.void), { startImmediately: true })
        yield* settled
        assert.isUndefined(closing.pollUnsafe())
        yield* TestClock.adjust("1 second")
        yield* Fiber.join(closing)
        assert.isTrue(run.quiet)
        assert.deepStrictEqual(codes((yield* Fiber.join(running)).results), ["ABORTED"])
        yield* assertBalanced(log)
      }).pipe(Effect.scoped)
  )
})

describe("one call", () => {
  it.effect(
    cites("that is cancelled leaves its siblings alone, whether it ran or waited", "TURN-04"),
    () =>
      Effect.gen(function*() {
        const a = held("a")
        const { log, turn } = yield* makeAgent([a.tool])
        const current = yield* turn({ maxParallel: 3 })
        const requests = ["1", "2", "3", "4", "5"].map((callId) => request("a", callId))
        const running = yield* Effect.forkChild(current.step({ calls: requests }))
        const [first, second, third] = [yield* a.next, yield* a.next, yield* a.next]
        assert.strictEqual(yield* current.cancelCall("4"), 1)
        assert.strictEqual(yield* current.cancelCall("2"), 1)
        assert.isTrue(second.interrupted)
        const fifth = yield* a.next
        assert.strictEqual(fifth.call.callId, "5")
        for (const run of [first, third, fifth]) run.end("kept")
        const { results } = yield* Fiber.join(running)
        assert.deepStrictEqual(codes(results), ["SUCCESS", "ABORTED", "SUCCESS", "ABORTED_BEFORE_DISPATCH", "SUCCESS"])
        assert.strictEqual(yield* current.cancelCall("2"), 0)
        assert.deepInclude(yield* log.verify, { violations: [], open: [] })
      }).pipe(Effect.scoped)
  )

  it.effect(
    cites("is told from another one of the same label by its number", "TURN-04"),
    () =>
      Effect.gen(function*() {
        const a = held("a")
        const { log, turn } = yield* makeAgent([a.tool])
        const current = yield* turn()
        const running = yield* Effect.forkChild(current.step(step(request("a", "same"), request("a", "same"))))
        const [first, second] = [yield* a.next, yield* a.next]
        assert.strictEqual(yield* current.cancelCall(4), 1)
        assert.isTrue(second.interrupted)
        assert.isFalse(first.interrupted)
        first.end(1)
        assert.deepStrictEqual(codes((yield* Fiber.join(running)).results), ["SUCCESS", "ABORTED"])
        assert.deepInclude(yield* log.verify, { violations: [], open: [], calls: 2 })
      }).pipe(Effect.scoped)
  )

  const failing = [
    ["continue", ["TOOL_FAILURE", "SUCCESS", "SUCCESS", "SUCCESS"]],
    ["skip", ["TOOL_FAILURE", "SUCCESS", "ABORTED_BEFORE_DISPATCH", "ABORTED_BEFORE_DISPATCH"]],
    ["cancel", ["TOOL_FAILURE", "ABORTED", "ABORTED_BEFORE_DISPATCH", "ABORTED_BEFORE_DISPATCH"]]
  ] as const
  it.effect.each(failing)(
    cites("that fails means for the others what `onFailure: %s` says, and each has a result", "TURN-04"),
    ([onFailure, expected]) =>
      Effect.gen(function*() {
        const a = held("a")
        const { log, turn } = yield* makeAgent([a.tool])
        const running = yield* Effect.forkChild(
          (yield* turn({ maxParallel: 2, onFailure })).step(step("a", "a", "a", "a"))
        )
        const [first, second] = [yield* a.next, yield* a.next]
        first.fail(new Error("broken"))
        yield* settled
        second.end(2)
        for (let index = 2; index < expected.length; index++) if (onFailure === "continue") (yield* a.next).end(index)
        const { results } = yield* Fiber.join(running)
        assert.deepStrictEqual(codes(results), [...expected])
        if (onFailure === "skip") assert.include(results[2]?.content[0]?.text, "skipped, since a failed")
        assert.deepInclude(yield* log.verify, { violations: [], open: [] })
      }).pipe(Effect.scoped)
  )

  it.effect(
    cites("that is unknown or misused is answered, and the others run", "TURN-04"),
    () =>
      Effect.gen(function*() {
        const typed: Tool.AnyNoServices = Tool.fromPromise("typed", {
          description: "",
          parameters: AnyJson,
          success: AnyJson,
          execute: () => Promise.reject("not even an error")
        })
        const { log, turn } = yield* makeAgent([instant("a").tool, typed])
        const cycle: Array<unknown> = []
        cycle.push(cycle)
        const deep = JSON.parse("[".repeat(3_000) + "]".repeat(3_000))
        const { results } = yield* (yield* turn()).step(
          step(
            "none",
            request("a", "1", cycle),
            request("a", "2", { now: new Date(0) }),
            request("a", "3", deep),
            request("a", "4", [undefined]),
            "typed",
            "a"
          )
        )
        assert.deepStrictEqual(codes(results), [
          "UNKNOWN_TOOL",
          "INVALID_ARGUMENTS",
          "INVALID_ARGUMENTS",
          "INVALID_ARGUMENTS",
          "INVALID_ARGUMENTS",
          "TOOL_FAILURE",
          "SUCCESS"
        ])
        assert.deepInclude(yield* log.verify, { violations: [], open: [], calls: 7 })
      }).pipe(Effect.scoped)
  )
})

describe("incomplete arguments", () => {
  it.effect(
    cites("are recorded as they came, and never run", "TURN-10"),
    () =>
      Effect.gen(function*() {
        const a = instant("a")
        const { log, turn } = yield* makeAgent([a.tool])
        const text = `{"path": "/ho\u0000me/\ud83d`
        const { results } = yield* (yield* turn()).step({
          calls: [
            { callId: "1", name: "a", arguments: Turn.incomplete(text) },
            // It parses, and the model was cut off all the same.
            { callId: "2", name: "a", arguments: Turn.incomplete("{}") },
            { callId: "3", name: "a", arguments: Turn.parse(`{"n": 1`) },
            { callId: "4", name: "a", arguments: Turn.parse(`{"n": 1}`) }
          ]
        })
        assert.deepStrictEqual(a.runs, [{ n: 1 }])
        assert.deepStrictEqual(codes(results).slice(0, 3), Array(3).fill("ABORTED_BEFORE_DISPATCH"))
        assert.isTrue(results.slice(0, 3).every(({ dispatched }) => !dispatched))
        const [call] = (yield* events(log)).filter((event) => event._tag === "tool/call")
        assert.deepStrictEqual(call?.arguments, { _tag: "Incomplete", text })
        assert.deepInclude(yield* log.verify, { violations: [], open: [] })
      }).pipe(Effect.scoped)
  )
})

describe("a log that fails", () => {
  it.effect(
    cites(
      "while a result is written stops new starts, drains, and surfaces the failure; nothing is invented",
      "TURN-05"
    ),
    () =>
      Effect.gen(function*() {
        const a = held("a")
        const storage = disk()
        const { log, turn } = yield* makeAgent([a.tool], [], storage)
        const running = yield* Effect.forkChild(
          Effect.exit((yield* turn({ maxParallel: 2 })).step(step("a", "a", "a")))
        )
        const [first, second] = [yield* a.next, yield* a.next]
        storage.failures.push(full)
        first.end(1)
        yield* settled
        assert.strictEqual(a.runs.length, 2)
        assert.isFalse(second.interrupted)
        assert.isUndefined(running.pollUnsafe())
        second.end(2)
        const exit = yield* Fiber.join(running)
        assert(Exit.isFailure(exit) && exit.cause.reasons[0]?._tag === "Fail")
        assert.deepInclude(exit.cause.reasons[0].error, { _tag: "LogFailed", reason: "Full" })
        assert.deepInclude(yield* log.verify, { violations: [], open: [3, 5] })
      }).pipe(Effect.scoped)
  )

  it.effect(
    cites("is not the only fault: a registry that dies at a start surfaces too, and nothing is invented", "TURN-05"),
    () =>
      Effect.gen(function*() {
        const a = instant("a")
        const { log, turn } = yield* makeAgent([a.tool])
        const current = yield* turn()
        // A policy beside the registry, and not in it: the registry refuses to be used so.
        const miswired = Effect.provideService(current.step(step("a", "a")), Policy.Current, {
          pre: () => Effect.die("")
        })
        const exit = yield* Effect.exit(miswired)
        assert(Exit.isFailure(exit))
        assert.strictEqual(exit.cause.reasons[0]?._tag, "Die")
        assert.deepStrictEqual(a.runs, [])
        assert.deepInclude(yield* log.verify, { violations: [], open: [3, 4] })
      }).pipe(Effect.scoped)
  )

  it.effect(
    cites("while a step is written starts nothing", "TURN-05"),
    () =>
      Effect.gen(function*() {
        const a = instant("a")
        const storage = disk()
        const { log, turn } = yield* makeAgent([a.tool], [], storage)
        const current = yield* turn()
        storage.failures.push(full)
        assert.deepInclude(yield* Effect.flip(current.step(step("a"))), { reason: "Full" })
        assert.deepStrictEqual(a.runs, [])
        assert.deepInclude(yield* log.verify, { violations: [], open: [], calls: 0 })
      }).pipe(Effect.scoped)
  )

  it.effect(
    cites("while a mark is written prevents the body", "TURN-07"),
    () =>
      Effect.gen(function*() {
        const a = instant("a")
        const storage = disk()
        const { log, turn } = yield* makeAgent([a.tool], [], storage)
        const current = yield* turn()
        storage.failures.push(undefined, full)
        const { results } = yield* current.step(step("a"))
        assert.deepStrictEqual(codes(results), ["WRAPPER_FAILURE"])
        assert.isFalse(results[0]?.dispatched)
        assert.deepStrictEqual(a.runs, [])
        assert.deepInclude(yield* log.verify, { violations: [], open: [] })
      }).pipe(Effect.scoped)
  )
})

describe("what a turn writes", () => {
  it.effect(
    cites("is refused once it has ended", "TURN-10"),
    () =>
      Effect.gen(function*() {
        const a = instant("a")
        const { context, log, turn } = yield* makeAgent([a.tool])
        const current = yield* Effect.scoped(turn())
        assert.deepInclude(yield* Effect.flip(current.step(step("a"))), { _tag: "LogRefused", problem: "NoTurn" })
        assert.deepInclude(yield* Effect.flip(current.input("hello?")), { _tag: "LogRefused", problem: "NoTurn" })
        yield* current.cancel("user")
        assert.isUndefined(yield* current.cancelled)
        assert.deepStrictEqual(a.runs, [])
        yield* assertBalanced(log)
        yield* Effect.provide(Turn.run(step("a")), context)
        yield* assertBalanced(log)
      }).pipe(Effect.scoped)
  )

  it.effect(
    cites("never overlaps with another turn of the same log", "TURN-06"),
    () =>
      Effect.gen(function*() {
        const { context, turn } = yield* makeAgent([])
        yield* turn()
        const error = yield* Effect.flip(Effect.provide(Turn.make(), context))
        assert.deepInclude(error, { _tag: "LogRefused", problem: "TurnOpen" })
      }).pipe(Effect.scoped)
  )

  it.effect(
    cites("keeps an input that arrives in the middle of a step behind its results", "TURN-06"),
    () =>
      Effect.gen(function*() {
        const a = held("a")
        const { log, turn } = yield* makeAgent([a.tool])
        const current = yield* turn()
        const running = yield* Effect.forkChild(current.step(step("a")))
        const run = yield* a.next
        const saying = yield* Effect.forkChild(current.input("and also"))
        yield* settled
        assert.isUndefined(saying.pollUnsafe())
        run.end(1)
        yield* Fiber.join(running)
        yield* Fiber.join(saying)
        assert.deepStrictEqual((yield* events(log)).slice(-2).map(({ _tag }) => _tag), ["tool/result", "input"])
      }).pipe(Effect.scoped)
  )

  it.effect(
    cites("has the mark before the body runs, and one mark for a body that a wrapper retries", "TURN-07"),
    () =>
      Effect.gen(function*() {
        const { log, turn, ...agent } = yield* Effect.gen(function*() {
          let runs = 0
          const marks: Array<number> = []
          const flaky: Tool.AnyNoServices = Tool.make("flaky", {
            description: "",
            parameters: AnyJson,
            success: AnyJson,
            execute: () =>
              Effect.suspend(() => {
                marks.push(agent.storage.rows.filter(({ event }) => event.includes("tool/dispatched")).length)
                return ++runs < 3 ? Effect.fail("again") : Effect.succeed(runs)
              })
          })
          const agent = yield* makeAgent([flaky], [Wrapper.layer([(next) => Effect.retry(next, { times: 5 })])])
          return { ...agent, marks }
        })
        const { results } = yield* (yield* turn()).step(step("flaky"))
        assert.deepStrictEqual(codes(results), ["SUCCESS"])
        assert.deepStrictEqual(agent.marks, [1, 1, 1])
        assert.deepInclude(yield* log.verify, { violations: [], open: [] })
      }).pipe(Effect.scoped)
  )

  it.effect(
    cites("has nothing of the calls that a body makes, though they carry its metadata", "TURN-07"),
    () =>
      Effect.gen(function*() {
        const inner = instant("inner")
        const outer: Tool.AnyNoServices = Tool.make("outer", {
          description: "",
          parameters: AnyJson,
          success: AnyJson,
          execute: (_, { metadata }) =>
            Effect.gen(function*() {
              yield* agent.registry.execute({ callId: "1", name: "inner", arguments: 1 })
              yield* agent.registry.execute({ callId: "2", name: "inner", arguments: 2, metadata })
              return null
            })
        })
        const agent = yield* makeAgent([inner.tool, outer])
        const { results } = yield* (yield* agent.turn()).step(step("outer"))
        assert.deepStrictEqual(codes(results), ["SUCCESS"])
        assert.deepStrictEqual(inner.runs, [1, 2])
        assert.deepStrictEqual(
          (yield* events(agent.log)).map(({ _tag }) => _tag),
          ["turn/start", "assistant", "tool/call", "tool/dispatched", "tool/result"]
        )
      }).pipe(Effect.scoped)
  )
})

describe("the events of a turn", () => {
  it.effect(
    cites("tell stages and progress of its calls, and end with it", "TURN-02"),
    () =>
      Effect.gen(function*() {
        const a = held("a")
        const { turn } = yield* makeAgent([a.tool])
        const scope = yield* Scope.make()
        const current = yield* Scope.provide(turn(), scope)
        const told = yield* watch(current)
        const running = yield* Effect.forkChild(current.step(step("a")))
        const run = yield* a.next
        run.call.progress({ progress: 1, total: 2 })
        yield* settled
        yield* current.cancel("user")
        yield* Fiber.join(running)
        yield* Scope.close(scope, Exit.void)
        yield* settled
        const all = yield* Stream.runCollect(current.events)
        assert.deepStrictEqual(all.map(({ _tag }) => _tag), ["Called", "Started", "Cancelled", "Settled", "Committed"])
        const stages = told.flatMap((event) => event._tag === "Stage" ? [event.stage] : [])
        assert.include(stages, "body")
        const progress = told.find((event) => event._tag === "Progress")
        assert.deepInclude(progress, { call: 3, callId: "a", progress: { progress: 1, total: 2 } })
      }).pipe(Effect.scoped)
  )

  it.effect(
    cites("tell each stage of each call once, also where two have one label", "TURN-02"),
    () =>
      Effect.gen(function*() {
        const a = held("a")
        const { registry, turn } = yield* makeAgent([a.tool])
        const current = yield* turn()
        const told = yield* watch(current)
        const running = yield* Effect.forkChild(current.step(step("a", "a")))
        const runs = [yield* a.next, yield* a.next]
        // Somebody else's, which has this label too.
        const other = yield* Effect.forkChild(registry.execute({ callId: "a", name: "a", arguments: {} }))
        runs.push(yield* a.next)
        yield* settled
        yield* current.cancelCall(4)
        yield* settled
        const stages = told.flatMap((event) => event._tag === "Stage" ? [event] : [])
        const bodies = stages.filter(({ cancelling, stage }) => stage === "body" && cancelling === undefined)
        assert.deepStrictEqual(bodies.map(({ call }) => call), [3, 4])
        assert.deepStrictEqual([...new Set(stages.map(({ call }) => call))], [3, 4])
        for (const run of runs) run.end(1)
        yield* Fiber.join(running)
        yield* Fiber.join(other)
      }).pipe(Effect.scoped)
  )
})
