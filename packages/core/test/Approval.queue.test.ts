import { assert, describe, it } from "@effect/vitest"
import { Approval, Policy, type ToolCall, ToolRegistry, type ToolResult } from "@quiesce/core"
import { Context, Effect, Fiber, Latch, Layer, Stream } from "effect"
import { TestClock } from "effect/testing"
import { cites } from "../../../tests/conformance/cites.ts"
import { counted, input } from "./support/registry.ts"

const codeOf = (result: ToolResult.ToolResult) => result._tag === "Success" ? "SUCCESS" : result.error.code

/** A registry all of whose calls wait for an answer, the queue of its questions, and the questions as a consumer sees them. */
const make = Effect.gen(function*() {
  const a = counted("a")
  const context = yield* Layer.build(
    ToolRegistry.layer([a.tool]).pipe(
      Layer.provide(Policy.layer({ pre: () => Effect.succeed(Policy.ask("sure?")) })),
      Layer.provideMerge(Approval.layerQueue)
    )
  )
  const queue = Context.get(context, Approval.Queue)
  const consume = Effect.gen(function*() {
    const seen: Array<string> = []
    const fiber = yield* Effect.forkChild(
      Stream.runForEach(queue.pending, (call) => Effect.sync(() => seen.push(call.callId))),
      { startImmediately: true }
    )
    yield* TestClock.adjust(0)
    return { seen, fiber }
  })
  return { a, registry: Context.get(context, ToolRegistry.ToolRegistry), queue, consume }
})

describe("the queue of approvals", () => {
  it.effect(
    cites("shows a question until it is answered, and the answer decides", "CALL-22"),
    () =>
      Effect.gen(function*() {
        const { a, consume, queue, registry } = yield* make
        const { seen } = yield* consume
        const calls = [yield* registry.start(input("a", "yes")), yield* registry.start(input("a", "no"))]
        yield* TestClock.adjust(0)
        assert.deepStrictEqual(seen, ["yes", "no"])
        assert.deepStrictEqual((yield* registry.inFlight).map(({ stage }) => stage), ["approval", "approval"])
        assert.deepStrictEqual(a.runs, [])
        assert.isTrue(yield* queue.answer("yes", "allow"))
        assert.isTrue(yield* queue.answer("no", "deny"))
        const results = yield* Effect.forEach(calls, ({ result }) => result)
        assert.deepStrictEqual(results.map(codeOf), ["SUCCESS", "DENIED"])
        assert.deepStrictEqual(a.runs.map(({ callId }) => callId), ["yes"])
      })
  )

  it.effect(
    cites("refuses an answer as stale when the question is closed: answered, cancelled, or unknown", "CALL-22"),
    () =>
      Effect.gen(function*() {
        const { a, queue, registry } = yield* make
        assert.isFalse(yield* queue.answer("nobody", "allow"))
        const answered = yield* registry.start(input("a", "answered"))
        assert.isTrue(yield* queue.answer("answered", "deny"))
        assert.isFalse(yield* queue.answer("answered", "allow"))
        assert.strictEqual(codeOf(yield* answered.result), "DENIED")

        const cancelled = yield* registry.start(input("a", "cancelled"))
        yield* cancelled.cancel()
        assert.isFalse(yield* queue.answer("cancelled", "allow"))
        const result = yield* cancelled.result
        assert.strictEqual(codeOf(result), "ABORTED_BEFORE_DISPATCH")
        assert.isFalse(yield* queue.answer("cancelled", "allow"))
        assert.deepStrictEqual(a.runs, [])
      })
  )

  it.effect(
    cites("counts the cancellation that comes in the same moment as the answer", "CALL-05", "CALL-22"),
    () =>
      Effect.gen(function*() {
        for (const first of ["answer", "cancel"] as const) {
          const { a, queue, registry } = yield* make
          const call = yield* registry.start(input("a"))
          const steps = [queue.answer("a", "allow"), Effect.as(call.cancel(), undefined)]
          // No operation comes in between: the body has not been reached when the second is there.
          const [one, two] = first === "answer" ? steps : steps.toReversed()
          yield* Effect.andThen(one!, two!)
          const result = yield* call.result
          assert.strictEqual(result.dispatched, a.runs.length === 1)
          if (first === "cancel") assert.strictEqual(codeOf(result), "ABORTED_BEFORE_DISPATCH")
        }
      })
  )

  it.effect(
    cites("answers the oldest of the questions that bear one label", "CALL-22", "CALL-33"),
    () =>
      Effect.gen(function*() {
        const { queue, registry } = yield* make
        const twins = [yield* registry.start(input("a", "twin")), yield* registry.start(input("a", "twin"))]
        assert.isTrue(yield* queue.answer("twin", "deny"))
        assert.strictEqual(codeOf(yield* twins[0]!.result), "DENIED")
        assert.isDefined(yield* twins[1]!.status)
        assert.isTrue(yield* queue.answer("twin", "allow"))
        assert.strictEqual(codeOf(yield* twins[1]!.result), "SUCCESS")
        assert.isFalse(yield* queue.answer("twin", "allow"))
      })
  )

  it.effect(
    cites("shows a consumer what is open when it comes, and no more once it has gone", "CALL-22"),
    () =>
      Effect.gen(function*() {
        const { consume, queue, registry } = yield* make
        const open: Array<ToolRegistry.Call> = []
        for (const callId of ["closed", "open"]) open.push(yield* registry.start(input("a", callId)))
        yield* queue.answer("closed", "allow")
        const [early, late] = [yield* consume, yield* consume]
        assert.deepStrictEqual(early.seen, ["open"])
        yield* Fiber.interrupt(early.fiber)
        yield* registry.start(input("a", "new"))
        yield* TestClock.adjust(0)
        assert.deepStrictEqual(early.seen, ["open"])
        assert.deepStrictEqual(late.seen, ["open", "new"])
        yield* registry.shutdown
      })
  )

  it.effect(
    cites("answers the question of a call, whatever others bear its label", "CALL-22", "CALL-33"),
    () =>
      Effect.gen(function*() {
        const { queue, registry } = yield* make
        const twins = [yield* registry.start(input("a", "twin")), yield* registry.start(input("a", "twin"))]
        assert.isTrue(yield* queue.answer(twins[1]!.token, "allow"))
        assert.strictEqual(codeOf(yield* twins[1]!.result), "SUCCESS")
        assert.isDefined(yield* twins[0]!.status)
        assert.isFalse(yield* queue.answer(twins[1]!.token, "allow"))
        yield* registry.shutdown
      })
  )

  it.effect(
    cites("never shows a consumer that lags a question that was closed meanwhile", "CALL-22"),
    () =>
      Effect.gen(function*() {
        const { queue, registry } = yield* make
        const seen: Array<string> = []
        const busy = yield* Latch.make()
        const lagging = yield* Effect.forkChild(
          Stream.runForEach(queue.pending, ({ callId }) => {
            seen.push(callId)
            return busy.await
          }),
          { startImmediately: true }
        )
        const calls: Record<string, ToolRegistry.Call> = {}
        for (const callId of ["first", "answered", "cancelled", "open"]) {
          calls[callId] = yield* registry.start(input("a", callId))
        }
        yield* TestClock.adjust(0)
        assert.isTrue(yield* queue.answer("answered", "deny"))
        yield* calls["cancelled"]!.cancel()
        yield* busy.open
        yield* TestClock.adjust(0)
        assert.deepStrictEqual(seen, ["first", "open"])
        yield* Fiber.interrupt(lagging)
        yield* registry.shutdown
      })
  )

  it.effect(
    cites("closes a question whose call is cancelled by whoever is shown it, at once", "CALL-22"),
    () =>
      Effect.gen(function*() {
        const { a, queue, registry } = yield* make
        const shown: Array<string> = []
        yield* Effect.forkChild(
          Stream.runForEach(queue.pending, ({ callId, token }) => {
            shown.push(callId)
            return registry.cancel(token)
          }),
          { startImmediately: true }
        )
        yield* TestClock.adjust(0)
        const call = yield* registry.start(input("a"))
        assert.strictEqual(codeOf(yield* call.result), "ABORTED_BEFORE_DISPATCH")
        assert.isFalse(yield* queue.answer("a", "allow"))
        assert.deepStrictEqual([shown, a.runs], [["a"], []])
      })
  )

  it.effect(cites("is closed by shutdown like any other wait", "CALL-28"), () =>
    Effect.gen(function*() {
      const { queue, registry } = yield* make
      const call = yield* registry.start(input("a"))
      yield* registry.shutdown
      assert.strictEqual(codeOf(yield* call.result), "ABORTED_BEFORE_DISPATCH")
      assert.isFalse(yield* queue.answer("a", "allow"))
    }))

  it.effect(cites("gives its questions the call as a policy sees it", "CALL-30"), () =>
    Effect.gen(function*() {
      const { queue, registry } = yield* make
      const seen: Array<ToolCall.Pending> = []
      yield* registry.start({ ...input("a", "the call", { n: 1 }), metadata: { session: "s" } })
      yield* Stream.runForEach(Stream.take(queue.pending, 1), (call) => Effect.sync(() => seen.push(call)))
      assert.deepInclude(seen[0], { callId: "the call", name: "a", arguments: { n: 1 }, metadata: { session: "s" } })
      yield* registry.shutdown
    }))
})
