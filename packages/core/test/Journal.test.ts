import { assert, describe, it } from "@effect/vitest"
import { Journal, type ToolCall, type ToolRegistry, type ToolResult, Wrapper } from "@quiesce/core"
import { Deferred, Effect, Exit, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { cites } from "../../../tests/conformance/cites.ts"
import { counted, effectTool, held, input, makeRegistry } from "./support/registry.ts"

const codeOf = (result: ToolResult.ToolResult) => result._tag === "Success" ? "SUCCESS" : result.error.code

const journaling = (dispatching: (call: ToolCall.Pending) => Effect.Effect<void, unknown>) =>
  Effect.provideService(Journal.Current, { dispatching })

describe("the journal", () => {
  it.effect(
    cites("is not written for a call whose wrapper has just interrupted the caller's fiber", "CALL-05", "CALL-34"),
    () =>
      Effect.gen(function*() {
        let marks = 0
        const { runs, tool } = counted("a")
        const wrapper: Wrapper.Wrapper = (next) =>
          Effect.uninterruptible(Effect.andThen(Effect.sync(() => caller.interruptUnsafe()), next))
        const registry = yield* makeRegistry([tool], Wrapper.layer([wrapper]))
        const begin = yield* Deferred.make<void>()
        const caller: Fiber.Fiber<ToolResult.ToolResult> = yield* Effect.forkChild(
          Effect.andThen(
            Deferred.await(begin),
            registry.execute(input("a")).pipe(journaling(() => Effect.sync(() => void marks++)))
          ),
          { startImmediately: true }
        )
        yield* Deferred.succeed(begin, undefined)
        yield* Fiber.await(caller)
        assert.strictEqual(marks, 0)
        assert.deepStrictEqual(runs, [])
      })
  )

  it.effect(
    cites("is awaited directly before the body, inside every wrapper", "CALL-34"),
    () =>
      Effect.gen(function*() {
        const events: Array<string> = []
        const written = yield* Deferred.make<void>()
        const registry = yield* makeRegistry(
          [effectTool("a", () => Effect.sync(() => events.push("body")))],
          Wrapper.layer([(next) => Effect.andThen(Effect.sync(() => events.push("wrapper")), next)])
        )
        const call = yield* registry.start(input("a", "the call", { n: 1 })).pipe(journaling((call) =>
          Effect.andThen(
            Effect.sync(() => {
              assert.deepInclude(call, { callId: "the call", name: "a", arguments: { n: 1 } })
              events.push("journal")
            }),
            Deferred.await(written)
          )
        ))
        assert.deepStrictEqual(events, ["wrapper", "journal"])
        assert.strictEqual((yield* call.status)?.stage, "wrappers")
        yield* Deferred.succeed(written, undefined)
        assert.deepInclude(yield* call.result, { _tag: "Success", dispatched: true })
        assert.deepStrictEqual(events, ["wrapper", "journal", "body"])
      })
  )

  const failures: ReadonlyArray<readonly [how: string, journal: () => Effect.Effect<void, unknown>, name: string]> = [
    ["fails", () => Effect.fail(new RangeError("disk full")), "RangeError"],
    ["dies", () => Effect.die(new TypeError("no disk")), "TypeError"],
    ["throws", () => {
      throw new SyntaxError("no")
    }, "SyntaxError"],
    ["returns no effect", () => undefined as never, "TypeError"]
  ]
  it.effect.each(failures)(
    cites("that %s prevents the body", "CALL-34"),
    ([, journal, name]) =>
      Effect.gen(function*() {
        const a = counted("a")
        const registry = yield* makeRegistry([a.tool])
        const result = yield* registry.execute(input("a")).pipe(journaling(journal))
        assert(result._tag === "Failure")
        assert.deepInclude(result.error, { code: "WRAPPER_FAILURE", name })
        assert.isFalse(result.dispatched)
        assert.deepStrictEqual(a.runs, [])
      })
  )

  it.effect(
    cites("is interrupted by a cancellation, and the body never starts", "CALL-34"),
    () =>
      Effect.gen(function*() {
        const a = counted("a")
        let interrupted = false
        const registry = yield* makeRegistry([a.tool])
        const call = yield* registry.start(input("a")).pipe(
          journaling(() => Effect.onInterrupt(Effect.never, () => Effect.sync(() => void (interrupted = true))))
        )
        yield* call.cancel()
        const result = yield* call.result
        assert.strictEqual(codeOf(result), "ABORTED_BEFORE_DISPATCH")
        assert.isTrue(interrupted)
        assert.deepStrictEqual(a.runs, [])
      })
  )

  it.effect(
    cites("that finishes its mark after a cancellation lets no body start", "CALL-34"),
    () =>
      Effect.gen(function*() {
        const a = counted("a")
        const written = yield* Deferred.make<void>()
        const registry = yield* makeRegistry([a.tool])
        const call = yield* registry.start(input("a")).pipe(
          journaling(() => Effect.uninterruptible(Deferred.await(written)))
        )
        yield* call.cancel()
        assert.isDefined(yield* call.status)
        yield* Deferred.succeed(written, undefined)
        assert.strictEqual(codeOf(yield* call.result), "ABORTED_BEFORE_DISPATCH")
        assert.deepStrictEqual(a.runs, [])
      })
  )

  it.effect(cites("that cancels the call itself lets no body start", "CALL-34"), () =>
    Effect.gen(function*() {
      const a = counted("a")
      const registry = yield* makeRegistry([a.tool])
      const result = yield* registry.execute(input("a")).pipe(
        journaling((call) => Effect.asVoid(registry.cancel(call.token)))
      )
      assert.strictEqual(codeOf(result), "ABORTED_BEFORE_DISPATCH")
      assert.deepStrictEqual(a.runs, [])
    }))

  it.effect(
    cites("whose write fails after a cancellation is a failure all the same", "CALL-09", "CALL-34"),
    () =>
      Effect.gen(function*() {
        const goOn = yield* Deferred.make<void>()
        const registry = yield* makeRegistry([counted("a").tool])
        const call = yield* registry.start(input("a")).pipe(
          journaling(() =>
            Effect.uninterruptible(Effect.andThen(Deferred.await(goOn), Effect.fail(new Error("disk full"))))
          )
        )
        yield* call.cancel()
        yield* Deferred.succeed(goOn, undefined)
        const result = yield* call.result
        assert(result._tag === "Failure")
        assert.deepInclude(result.error, { code: "WRAPPER_FAILURE", message: "disk full" })
        assert.isFalse(result.dispatched)
      })
  )

  it.effect(cites("writes one mark, also when a wrapper runs the body again", "CALL-34"), () =>
    Effect.gen(function*() {
      let [marks, runs] = [0, 0]
      const registry = yield* makeRegistry(
        [effectTool("a", () => Effect.suspend(() => ++runs < 3 ? Effect.fail("no") : Effect.succeed(runs)))],
        Wrapper.layer([Effect.retry({ times: 5 })])
      )
      const result = yield* registry.execute(input("a")).pipe(journaling(() => Effect.sync(() => void marks++)))
      assert.deepInclude(result, { value: 3 })
      assert.strictEqual(marks, 1)
    }))

  it.effect(cites("that failed is asked again by a wrapper's retry", "CALL-34"), () =>
    Effect.gen(function*() {
      let marks = 0
      const a = counted("a")
      const registry = yield* makeRegistry([a.tool], Wrapper.layer([Effect.retry({ times: 2 })]))
      const result = yield* registry.execute(input("a")).pipe(
        journaling(() => Effect.suspend(() => ++marks < 3 ? Effect.fail("busy") : Effect.void))
      )
      assert.strictEqual(codeOf(result), "SUCCESS")
      assert.strictEqual(marks, 3)
      assert.lengthOf(a.runs, 1)
    }))

  it.effect(cites("hears nothing of calls whose body is never due", "CALL-34"), () =>
    Effect.gen(function*() {
      const marks: Array<string> = []
      const registry = yield* makeRegistry(
        [counted("a").tool],
        Wrapper.layer([(next, call) => call.callId === "answered" ? Effect.succeed(1) : next])
      )
      const call = (input: ToolCall.Input) =>
        registry.execute(input).pipe(journaling((call) => Effect.sync(() => void marks.push(call.callId))))
      yield* call(input("a", "answered"))
      yield* call(input("unknown"))
      yield* call({ ...input("a", "not JSON"), arguments: undefined })
      assert.deepStrictEqual(marks, [])
      yield* call(input("a", "due"))
      assert.deepStrictEqual(marks, ["due"])
    }))

  it.effect(
    cites("is that of the caller, not of the registry, and passes on to inner calls", "CALL-32", "CALL-34"),
    () =>
      Effect.gen(function*() {
        const marks: Array<string> = []
        const named = (name: string): Journal.Journal => ({
          dispatching: (call) => Effect.sync(() => void marks.push(`${name} ${call.name}`))
        })
        let registry: ToolRegistry.Shape | undefined
        const outer = effectTool("outer", () => Effect.as(Effect.suspend(() => registry!.execute(input("inner"))), 1))
        registry = yield* makeRegistry([outer, counted("inner").tool]).pipe(
          Effect.provideService(Journal.Current, named("the registry's"))
        )
        yield* registry.execute(input("outer")).pipe(Effect.provideService(Journal.Current, named("the caller's")))
        assert.deepStrictEqual(marks, ["the caller's outer", "the caller's inner"])
      })
  )

  it.effect(cites("holds the interrupter until its write is over", "CALL-18", "CALL-34"), () =>
    Effect.gen(function*() {
      const a = held("a")
      const registry = yield* makeRegistry([a.tool])
      const fiber = yield* registry.execute(input("a")).pipe(
        journaling(() => Effect.uninterruptible(Effect.sleep("1 second"))),
        Effect.forkChild({ startImmediately: true })
      )
      const interrupting = yield* Effect.forkChild(Fiber.interrupt(fiber), { startImmediately: true })
      yield* TestClock.adjust("999 millis")
      assert.isUndefined(interrupting.pollUnsafe())
      yield* TestClock.adjust("1 millis")
      yield* Fiber.join(interrupting)
      assert.isTrue(Exit.hasInterrupts(yield* Fiber.await(fiber)))
      assert.deepStrictEqual(a.runs, [])
    }))
})
