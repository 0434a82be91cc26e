import { assert, describe, it } from "@effect/vitest"
import { Approval, type CancelReason, Observer, Policy, Toolbox, ToolCall, ToolRegistry, Wrapper } from "@quiesce/core"
import { Clock, Deferred, Effect, Fiber, Layer, Logger, Metric, Stream } from "effect"
import { TestClock } from "effect/testing"
import { cites } from "../../../tests/conformance/cites.ts"
import { counted, effectTool, held, input, makeRegistry, promiseTool } from "./support/registry.ts"

const fork = <A, E>(effect: Effect.Effect<A, E>) => Effect.forkChild(effect, { startImmediately: true })

const grace = (grace: ToolRegistry.InFlight["sinceMillis"]) => Layer.succeed(ToolRegistry.Grace, grace)

/** `clock`, and how many sleeps on it have not ended yet. */
const counting = (clock: Clock.Clock) => {
  let sleeping = 0
  const sleep: Clock.Clock["sleep"] = (duration) =>
    Effect.suspend(() => {
      sleeping++
      return Effect.ensuring(clock.sleep(duration), Effect.sync(() => void sleeping--))
    })
  return { clock: { ...clock, sleep }, sleeping: () => sleeping }
}

describe("cancelling", () => {
  it.effect(
    cites("returns when the request is accepted; the result comes at quiescence", "CALL-27"),
    () =>
      Effect.gen(function*() {
        const slow = held("slow", "1 minute")
        const registry = yield* makeRegistry([slow.tool])
        const call = yield* registry.start(input("slow"))
        yield* call.cancel()
        assert.isTrue(slow.runs[0]!.interrupted)
        assert.isFalse(slow.runs[0]!.quiet)
        const result = yield* fork(call.result)
        yield* TestClock.adjust("59 seconds")
        assert.isUndefined(result.pollUnsafe())
        assert.isDefined(yield* call.status)
        yield* TestClock.adjust("1 second")
        assert.strictEqual((yield* Fiber.join(result))._tag, "Failure")
        assert.isTrue(slow.runs[0]!.quiet)
        assert.isUndefined(yield* call.status)
      })
  )

  it.effect(
    cites("does not wait for the call when the wait for its result is interrupted", "CALL-27"),
    () =>
      Effect.gen(function*() {
        const a = held("a")
        const registry = yield* makeRegistry([a.tool])
        const call = yield* registry.start(input("a"))
        yield* Fiber.interrupt(yield* fork(call.result))
        assert.isFalse(a.runs[0]!.interrupted)
        a.end("on")
        assert.deepInclude(yield* call.result, { value: "on" })
      })
  )
})

describe("inFlight", () => {
  it.effect(cites("shows the stage a call is in, and since when", "CALL-27"), () =>
    Effect.gen(function*() {
      const gates = {
        pre: Deferred.makeUnsafe<void>(),
        approval: Deferred.makeUnsafe<void>(),
        wrappers: Deferred.makeUnsafe<void>(),
        post: Deferred.makeUnsafe<void>()
      }
      const a = held("a")
      const registry = yield* makeRegistry(
        [a.tool],
        Policy.layer({
          pre: () => Effect.as(Deferred.await(gates.pre), Policy.ask()),
          post: () => Effect.as(Deferred.await(gates.post), Policy.accept())
        }),
        Approval.layer({ ask: () => Effect.as(Deferred.await(gates.approval), Approval.allowedOnce) }),
        Wrapper.layer([(next) => Effect.andThen(Deferred.await(gates.wrappers), next)])
      )
      const seen: Array<readonly [ToolRegistry.InFlight["stage"], number]> = []
      const look = Effect.map(registry.inFlight, ([status, ...rest]) => {
        assert.deepStrictEqual(rest, [])
        assert.deepInclude(status, { callId: "the call", name: "a" })
        assert.notProperty(status, "cancelling")
        seen.push([status!.stage, status!.sinceMillis])
      })
      assert.deepStrictEqual(yield* registry.inFlight, [])
      const call = yield* registry.start(input("a", "the call"))
      for (const gate of [gates.pre, gates.approval, gates.wrappers]) {
        yield* TestClock.adjust("1 second")
        yield* look
        yield* Deferred.succeed(gate, undefined)
        yield* Effect.yieldNow
      }
      yield* TestClock.adjust("1 second")
      yield* look
      a.end(1)
      yield* TestClock.adjust("1 second")
      yield* look
      yield* Deferred.succeed(gates.post, undefined)
      yield* call.result
      assert.deepStrictEqual(seen, [["pre", 0], ["approval", 1000], ["wrappers", 2000], ["body", 3000], ["post", 4000]])
      assert.deepStrictEqual(yield* registry.inFlight, [])
    }))

  it.effect(
    cites("shows that a call was asked to stop and is not quiet yet, and why", "CALL-27"),
    () =>
      Effect.gen(function*() {
        const a = held("a", "1 second")
        const registry = yield* makeRegistry([a.tool])
        const reason: CancelReason.CancelReason = { _tag: "Caller", cause: { why: "enough" } }
        const call = yield* registry.start(input("a"))
        yield* call.cancel(reason)
        const [status] = yield* registry.inFlight
        assert.deepInclude(status, { stage: "body", cancelling: reason })
        assert.deepStrictEqual(yield* call.status, status)
        yield* TestClock.adjust("1 second")
        assert.deepStrictEqual(yield* registry.inFlight, [])
      })
  )

  it.effect(cites("is the same for code without Effect", "CALL-27", "PROMISE-01"), () =>
    Effect.gen(function*() {
      const finish = Promise.withResolvers<null>()
      const toolbox = Toolbox.make({ tools: [promiseTool("a", () => finish.promise)] })
      const controller = new AbortController()
      const result = toolbox.execute({ ...input("a"), signal: controller.signal })
      assert.deepInclude(toolbox.inFlight()[0], { callId: "a", name: "a", stage: "body" })
      const cause = { why: "enough" }
      controller.abort(cause)
      assert.deepStrictEqual(toolbox.inFlight()[0]?.cancelling, { _tag: "Caller", cause })
      finish.resolve(null)
      yield* Effect.promise(() => result)
      assert.deepStrictEqual(toolbox.inFlight(), [])
    }))
})

describe("changes", () => {
  it.effect(
    cites("tells each stage that a call enters, and that it was asked to stop", "CALL-27"),
    () =>
      Effect.gen(function*() {
        const a = held("a", "1 second")
        const registry = yield* makeRegistry(
          [a.tool, counted("b").tool],
          Policy.layer({ pre: () => Effect.succeed(Policy.ask()), post: () => Effect.succeed(Policy.accept()) }),
          Approval.layerAllow
        )
        const heard: Array<string> = []
        yield* fork(Stream.runForEach(registry.changes, ({ callId, cancelling, stage }) =>
          Effect.sync(() =>
            heard.push(`${callId} ${stage}${cancelling === undefined ? "" : " " + cancelling._tag}`)
          )))
        yield* Effect.yieldNow
        yield* registry.execute(input("b"))
        const call = yield* registry.start(input("a"))
        yield* call.cancel()
        yield* TestClock.adjust("1 second")
        yield* call.result
        yield* TestClock.adjust(0)
        assert.deepStrictEqual(heard, [
          "b pre",
          "b approval",
          "b wrappers",
          "b body",
          "b post",
          "b settling",
          "a pre",
          "a approval",
          "a wrappers",
          "a body",
          "a body Caller",
          "a post Caller",
          "a settling Caller"
        ])
      })
  )

  it.effect(cites("keeps the latest of a burst for a consumer that lags", "CALL-27"), () =>
    Effect.gen(function*() {
      const registry = yield* makeRegistry([counted("a").tool])
      const goOn = yield* Deferred.make<void>()
      const lagging = yield* fork(
        registry.changes.pipe(
          Stream.tap(() => Deferred.await(goOn)),
          Stream.takeUntil(({ callId, stage }) => callId === "999" && stage === "settling"),
          Stream.runCollect
        )
      )
      yield* Effect.yieldNow
      for (let index = 0; index < 1000; index++) yield* registry.execute(input("a", String(index)))
      yield* Deferred.succeed(goOn, undefined)
      // One buffer that was being consumed, and one that waited.
      assert.isAtMost((yield* Fiber.join(lagging)).length, 2 * 1024)
    }))
})

it.effect(
  cites("an entry of inFlight has the token of its call, which is good to cancel it alone", "CALL-27", "CALL-33"),
  () =>
    Effect.gen(function*() {
      const slow = held("slow")
      const registry = yield* makeRegistry([slow.tool])
      const first = yield* registry.start(input("slow"))
      yield* registry.start(input("slow"))
      const [entry] = yield* registry.inFlight
      assert.strictEqual(entry!.token, first.token)
      assert.strictEqual(yield* registry.cancel(entry!.token), 1)
      assert.deepStrictEqual(slow.runs.map(({ interrupted }) => interrupted), [true, false])
    })
)

describe("a call that is cancelled and not quiet", () => {
  /** A registry with an observer that records each report, and a logger that records each line. */
  const observed = Effect.fnUntraced(function*(
    tools: Parameters<typeof makeRegistry>[0],
    ...layers: ReadonlyArray<Layer.Layer<never>>
  ) {
    const reports: Array<string> = []
    const lines: Array<string> = []
    const logger = Logger.make(({ message }) => void lines.push(String(message)))
    const observer = Observer.layer({
      notQuiescent: (call, sinceMillis) => Effect.sync(() => void reports.push(`${call.callId} ${sinceMillis}`))
    })
    const registry = yield* Effect.provideService(
      makeRegistry(tools, observer, ...layers),
      Logger.CurrentLoggers,
      new Set([logger])
    )
    return { registry, reports, lines }
  })

  it.effect(
    cites("is reported after the grace: to observers, in the log, as a metric", "CALL-27"),
    () =>
      Effect.gen(function*() {
        const slow = held("slow", "1 hour")
        const { lines, registry, reports } = yield* observed([slow.tool])
        const count = Effect.map(Metric.snapshot, (all) =>
          all.reduce((sum, metric) =>
            metric.id === "quiesce_calls_not_quiescent" && metric.type === "Counter"
              ? sum + Number(metric.state.count)
              : sum, 0))
        const before = yield* count
        yield* TestClock.adjust("1 minute")
        const call = yield* registry.start(input("slow"))
        yield* TestClock.adjust("1 minute")
        assert.deepStrictEqual(reports, [])
        yield* call.cancel()
        yield* TestClock.adjust("4999 millis")
        assert.deepStrictEqual(reports, [])
        yield* TestClock.adjust("1 millis")
        assert.deepStrictEqual(reports, ["slow 120000"])
        assert.lengthOf(lines, 1)
        assert.match(lines[0]!, /slow.*not quiet/)
        assert.strictEqual((yield* count) - before, 1)
        assert.isDefined(yield* call.status)
        yield* TestClock.adjust("1 hour")
        yield* call.result
      })
  )

  it.effect(
    cites("is reported again with back-off, and never released early", "CALL-27"),
    () =>
      Effect.gen(function*() {
        const slow = held("slow", "1 hour")
        const { registry, reports } = yield* observed([slow.tool], grace(1000))
        const call = yield* registry.start(input("slow"))
        yield* call.cancel()
        const at: Array<number> = []
        for (let second = 1; second < 3600; second++) {
          yield* TestClock.adjust("1 second")
          if (reports.length > at.length) at.push(second)
        }
        assert.deepStrictEqual(at, [1, 3, 7, 15, 31, 63, 127, 255, 511, 1023, 2047])
        assert.isDefined(yield* call.status)
        yield* TestClock.adjust("1 second")
        assert.strictEqual((yield* call.result)._tag, "Failure")
        yield* TestClock.adjust("2 hours")
        assert.lengthOf(reports, at.length)
      })
  )

  it.effect(
    cites("is not reported when it is quiet in time, nor is one that was never cancelled", "CALL-27"),
    () =>
      Effect.gen(function*() {
        const [quick, patient] = [held("quick", "4999 millis"), held("patient")]
        const { registry, reports } = yield* observed([quick.tool, patient.tool])
        const call = yield* registry.start(input("quick"))
        yield* registry.start(input("patient"))
        yield* call.cancel()
        yield* TestClock.adjust("1 hour")
        assert.deepStrictEqual(reports, [])
      })
  )

  it.effect(cites("has a grace of its own, whatever others are waited for", "CALL-27"), () =>
    Effect.gen(function*() {
      const slow = held("slow", "1 hour")
      const { registry, reports } = yield* observed([slow.tool])
      const calls = [yield* registry.start(input("slow", "a")), yield* registry.start(input("slow", "b"))]
      yield* calls[0]!.cancel()
      yield* TestClock.adjust("3 seconds")
      yield* calls[1]!.cancel()
      yield* TestClock.adjust("2 seconds")
      assert.deepStrictEqual(reports, ["a 0"])
      yield* TestClock.adjust("3 seconds")
      assert.deepStrictEqual(reports, ["a 0", "b 3000"])
      yield* TestClock.adjust("7 seconds")
      assert.deepStrictEqual(reports, ["a 0", "b 3000", "a 0"])
      yield* TestClock.adjust("1 hour")
    }))

  it.effect(
    cites("is reported whatever holds it: a policy, an inner call, a promise", "CALL-27"),
    () =>
      Effect.gen(function*() {
        const finish = yield* Deferred.make<void>()
        const slow = held("slow", "1 hour")
        let registry: ToolRegistry.Shape | undefined
        const made = yield* observed(
          [
            counted("policy").tool,
            promiseTool("promise", () => Effect.runPromise(Effect.as(Deferred.await(finish), null))),
            effectTool("outer", () => Effect.as(Effect.suspend(() => registry!.execute(input("slow"))), null)),
            slow.tool
          ],
          Policy.layer({
            pre: ({ name }) =>
              name === "policy"
                ? Effect.as(Effect.uninterruptible(Deferred.await(finish)), Policy.allow)
                : Effect.succeed(Policy.allow)
          })
        )
        registry = made.registry
        for (const name of ["policy", "promise", "outer"]) {
          const call = yield* registry.start(input(name))
          yield* call.cancel()
        }
        yield* TestClock.adjust("5 seconds")
        assert.deepStrictEqual(made.reports.sort(), ["outer 0", "policy 0", "promise 0", "slow 0"])
        yield* Deferred.succeed(finish, undefined)
        yield* TestClock.adjust("1 hour")
        yield* registry.whenIdle
      })
  )

  it.effect(
    cites("is reported to everybody when an observer of reports throws or hangs", "CALL-24", "CALL-27"),
    () =>
      Effect.gen(function*() {
        const slow = held("slow", "1 hour")
        const { registry, reports } = yield* observed([slow.tool], grace(1000))
        yield* registry.observe({
          notQuiescent: () => {
            throw new Error("no")
          }
        })
        yield* registry.observe({ notQuiescent: () => Effect.never })
        const late: Array<string> = []
        yield* registry.observe({ notQuiescent: (call) => Effect.sync(() => void late.push(call.callId)) })
        const call = yield* registry.start(input("slow"))
        yield* call.cancel()
        yield* TestClock.adjust("3 seconds")
        assert.lengthOf(reports, 2)
        assert.deepStrictEqual(late, ["slow", "slow"])
        yield* TestClock.adjust("1 hour")
        yield* call.result
      })
  )

  for (const [name, value] of [["zero", 0], ["less than a millisecond", 0.25]] as const) {
    it.effect(
      cites(`with a grace of ${name} is reported with back-off all the same`, "CALL-27"),
      () =>
        Effect.gen(function*() {
          const slow = held("slow", "1 hour")
          const { registry, reports } = yield* observed([slow.tool], grace(value))
          const call = yield* registry.start(input("slow"))
          yield* call.cancel()
          yield* TestClock.adjust("1 minute")
          assert.isAtLeast(reports.length, 10)
          assert.isAtMost(reports.length, 20)
          const other = yield* registry.start(input("slow", "other"))
          yield* other.cancel()
          yield* TestClock.adjust("1 second")
          assert.include(reports, "other 60000")
          yield* TestClock.adjust("1 hour")
          yield* call.result
          yield* other.result
        })
    )
  }

  it.effect(cites("is never reported where the grace is infinite", "CALL-27"), () =>
    Effect.gen(function*() {
      const slow = held("slow", "30 days")
      const { registry, reports } = yield* observed([slow.tool], grace(Infinity))
      yield* (yield* registry.start(input("slow"))).cancel()
      yield* TestClock.adjust("30 days")
      assert.deepStrictEqual(reports, [])
    }))

  it.effect(
    cites("has one timer with all others, which goes when the last of them is quiet", "CALL-27", "TIME-08"),
    () =>
      Effect.gen(function*() {
        const slow = effectTool("slow", (json) => Effect.onInterrupt(Effect.never, () => Effect.sleep(Number(json))))
        const { clock, sleeping } = counting(yield* Clock.Clock)
        const registry = yield* makeRegistry([slow]).pipe(Effect.provideService(Clock.Clock, clock))
        const calls = yield* Effect.forEach(
          [1000, 2000, 20_000],
          (millis) => registry.start(input("slow", "a", millis))
        )
        assert.strictEqual(sleeping(), 0)
        yield* Effect.forEach(calls, ({ cancel }) => cancel())
        assert.strictEqual(sleeping(), 1)
        yield* TestClock.adjust("6 seconds")
        assert.strictEqual(sleeping(), 1)
        // The next report of the last call is due after the first one of this.
        const late = yield* registry.start(input("slow", "b", 10_000))
        yield* late.cancel()
        assert.strictEqual(sleeping(), 1)
        yield* TestClock.adjust("13999 millis")
        assert.strictEqual(sleeping(), 1)
        yield* TestClock.adjust("1 millis")
        yield* Effect.forEach([...calls, late], ({ result }) => result)
        assert.strictEqual(sleeping(), 0)
      })
  )
})

describe("ToolCall.cancelReason", () => {
  it.effect(cites("tells who reads it that the call was asked to stop", "CALL-27"), () =>
    Effect.gen(function*() {
      const a = held("a", "1 second")
      const registry = yield* makeRegistry([a.tool])
      const call = yield* registry.start(input("a"))
      const [{ call: running } = assert.fail("no run")] = a.runs
      assert.isUndefined(ToolCall.cancelReason(running))
      yield* call.cancel({ _tag: "Shutdown" })
      assert.deepStrictEqual(ToolCall.cancelReason(running), { _tag: "Shutdown" })
      yield* TestClock.adjust("1 second")
      yield* call.result
    }))
})
