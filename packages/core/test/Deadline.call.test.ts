import { assert, describe, it } from "@effect/vitest"
import { Deadline, type Json, Policy, Tool, Wrapper } from "@quiesce/core"
import { Clock, Duration, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { cites } from "../../../tests/conformance/cites.ts"
import * as Faces from "./support/faces.ts"
import { AnyJson, effectTool, input, makeRegistry, promiseTool } from "./support/registry.ts"
import { codeOf, failureOf, valueOf } from "./support/results.ts"
import { StepClock } from "./support/StepClock.ts"

/** Never ends by itself, and takes a second to stop. */
const stubborn = Effect.ensuring(Effect.never, Effect.sleep("1 second"))

const budget100 = { timeout: Duration.millis(100) }

/** A wrapper that gives what stands further in this much time. */
const limit = (timeout: Duration.Input, code: string): Wrapper.Wrapper => (next) =>
  Deadline.within(next, { timeout, code })

const detailOf = (result: Parameters<typeof failureOf>[0]) => failureOf(result).error.detail as Record<string, unknown>

describe.each(Faces.registryFaces)("deadlines of calls by $name", (face) => {
  /** What happens in 2 s, when the call is cancelled at `cancels` ms, before or after what else is due then. */
  const outcome = Effect.fnUntraced(function*(
    parts: Faces.Parts,
    cancels?: { readonly at: number; readonly first?: boolean }
  ) {
    yield* TestClock.adjust(0)
    const host = yield* face.open(parts)
    const cancel = cancels === undefined
      ? Effect.void
      : Effect.forkChild(Effect.andThen(Effect.sleep(cancels.at), Effect.sync(host.cancelLatest)), {
        startImmediately: true
      })
    // Timers of one moment fire in the order in which they were set.
    if (cancels?.first === true) yield* cancel
    const call = yield* host.call("tool")
    if (cancels?.first !== true) yield* cancel
    yield* TestClock.adjust("2 seconds")
    assert.isTrue(call.isOver())
    return yield* call.result
  })

  const tool = effectTool("tool", () => stubborn, budget100)

  it.effect(
    cites("its time alone: TOOL_TIMEOUT, with the code and the budget", "TIME-02", "TIME-05"),
    () =>
      Effect.gen(function*() {
        const result = failureOf(yield* outcome({ tools: [tool] }))
        assert.deepStrictEqual(result.error, {
          code: "TOOL_TIMEOUT",
          name: "TimeoutError",
          message: "tool call timed out after 100ms",
          detail: { code: "TOOL_TIMEOUT", timeoutMillis: 100 }
        })
        assert.isTrue(result.dispatched)
      })
  )

  for (
    const [what, cancels, code] of [
      ["a cancel alone", { at: 50 }, "ABORTED"],
      ["a cancel, and its time while the body stops", { at: 99 }, "ABORTED"],
      ["its time, and a cancel while the body stops", { at: 101 }, "TOOL_TIMEOUT"],
      ["a cancel and its time in one tick", { at: 100, first: true }, "ABORTED"],
      ["its time and a cancel in one tick", { at: 100 }, "TOOL_TIMEOUT"]
    ] as const
  ) {
    it.effect(cites(`${what}: ${code}, by the first cause`, "TIME-02"), () =>
      Effect.gen(function*() {
        assert.strictEqual(codeOf(yield* outcome({ tools: [tool] }, cancels)), code)
        const wrapped = { tools: [effectTool("tool", () => stubborn)], wrappers: [limit(100, "W")] }
        assert.strictEqual(codeOf(yield* outcome(wrapped, cancels)), code)
      }))
  }

  it.effect(
    cites("of two deadlines the one that fired counts, whatever their codes", "TIME-02"),
    () =>
      Effect.gen(function*() {
        const tools = [effectTool("tool", () => Effect.ensuring(Effect.never, Effect.sleep(20)))]
        for (const [inner, outer] of [[50, 100], [100, 50]] as const) {
          const result = yield* outcome({ tools, wrappers: [limit(outer, "SAME"), limit(inner, "SAME")] })
          assert.strictEqual(codeOf(result), "TOOL_TIMEOUT")
          assert.deepStrictEqual(detailOf(result), { code: "SAME", timeoutMillis: 50 })
        }
        const result = yield* outcome({ tools: [tool], wrappers: [limit(50, "OUTER")] })
        assert.deepStrictEqual(detailOf(result), { code: "OUTER", timeoutMillis: 50 })
      })
  )

  it.effect(
    cites("an outer one that fires while an inner one's work stops has the inner as its cause", "TIME-03"),
    () =>
      Effect.gen(function*() {
        const result = yield* outcome({ tools: [tool], wrappers: [limit(200, "OUTER")] })
        assert.strictEqual(codeOf(result), "TOOL_TIMEOUT")
        const { cause, code } = detailOf(result)
        assert.strictEqual(code, "OUTER")
        assert.match(String(cause), /timed out after 100ms/)
      })
  )

  it.effect(
    cites("a wrapper's DeadlineExceeded is TOOL_TIMEOUT, another library's timeout is not", "TIME-02"),
    () =>
      Effect.gen(function*() {
        const tools = [effectTool("tool", () => stubborn)]
        const other = yield* outcome({ tools, wrappers: [(next) => Effect.timeout(next, 50)] })
        assert.strictEqual(codeOf(other), "WRAPPER_FAILURE")
        assert.strictEqual(failureOf(other).error.name, "TimeoutError")
        const foreign = yield* outcome({
          tools,
          wrappers: [() => Effect.fail(new DOMException("too slow", "TimeoutError"))]
        })
        assert.strictEqual(codeOf(foreign), "WRAPPER_FAILURE")
      })
  )

  it.effect(
    cites("a timeout that the body itself fails with is a tool failure", "TIME-03"),
    () =>
      Effect.gen(function*() {
        const timeouts: ReadonlyArray<Effect.Effect<never, unknown>> = [
          Deadline.within(Effect.never, { timeout: 10, code: "TOOL_TIMEOUT" }),
          Effect.timeout(Effect.never, 10),
          Effect.fail(new DOMException("too slow", "TimeoutError")),
          Effect.die(new Deadline.DeadlineExceeded({ code: "TOOL_TIMEOUT", timeout: Duration.millis(100) }))
        ]
        for (const timeout of timeouts) {
          const result = yield* outcome({ tools: [effectTool("tool", () => timeout, budget100)] })
          assert.strictEqual(codeOf(result), "TOOL_FAILURE")
        }
      })
  )

  it.effect(
    cites("however the body then ends it is TOOL_TIMEOUT, and its failure is the cause", "TIME-03"),
    () =>
      Effect.gen(function*() {
        const ends: ReadonlyArray<readonly [Effect.Effect<string, unknown>, cause: string | undefined]> = [
          [Effect.uninterruptible(Effect.as(Effect.sleep(200), "too late")), undefined],
          [Effect.ensuring(Effect.never, Effect.sleep(100)), undefined],
          [
            Effect.uninterruptible(Effect.andThen(Effect.sleep(200), Effect.fail(new RangeError("late")))),
            "RangeError: late"
          ],
          [Effect.ensuring(Effect.never, Effect.die(new TypeError("bug"))), "TypeError: bug"]
        ]
        for (const [body, cause] of ends) {
          const result = yield* outcome({ tools: [effectTool("tool", () => body, budget100)] })
          assert.strictEqual(codeOf(result), "TOOL_TIMEOUT")
          assert.strictEqual(detailOf(result)["cause"], cause)
        }
        const promises: ReadonlyArray<(signal: AbortSignal) => Promise<Json>> = [
          async () => "too late",
          (signal) => Promise.reject(signal.reason)
        ]
        for (const end of promises) {
          const body = promiseTool("tool", (_, { signal }) =>
            new Promise((resolve) => signal.addEventListener("abort", () => resolve(end(signal)))), budget100)
          const result = yield* outcome({ tools: [body] })
          assert.strictEqual(codeOf(result), "TOOL_TIMEOUT")
          assert.strictEqual(detailOf(result)["cause"], undefined)
        }
      })
  )

  it.effect(cites("comes when the body is quiet, never earlier", "TIME-01", "TIME-03"), () =>
    Effect.gen(function*() {
      yield* TestClock.adjust(0)
      const host = yield* face.open({ tools: [tool] })
      const call = yield* host.call("tool")
      yield* TestClock.adjust(1_099)
      assert.isFalse(call.isOver())
      yield* TestClock.adjust(1)
      assert.strictEqual(codeOf(yield* call.result), "TOOL_TIMEOUT")
    }))

  it.effect(cites("the time of policy and approval is not the tool's", "TIME-04"), () =>
    Effect.gen(function*() {
      const result = yield* outcome({
        tools: [effectTool("tool", () => Effect.as(Effect.sleep(10), "done"), budget100)],
        policy: {
          pre: () => Effect.as(Effect.sleep(500), Policy.ask()),
          post: () => Effect.as(Effect.sleep(500), Policy.accept())
        },
        approval: { ask: () => Effect.as(Effect.sleep(500), { _tag: "AllowedOnce" }) },
        wrappers: [Wrapper.timeout]
      })
      assert.strictEqual(valueOf(result), "done")
    }))

  it.effect(
    cites("counts from where the wrapper stands, and may fire before the body was invoked", "TIME-04"),
    () =>
      Effect.gen(function*() {
        let invoked = 0
        const tools = [effectTool("tool", () => Effect.sync(() => ++invoked), budget100)]
        const slow: Wrapper.Wrapper = (next) => Effect.andThen(Effect.sleep(150), next)
        const outside = failureOf(yield* outcome({ tools, wrappers: [Wrapper.timeout, slow] }))
        assert.strictEqual(outside.error.code, "TOOL_TIMEOUT")
        assert.isFalse(outside.dispatched)
        assert.strictEqual(invoked, 0)
        for (const wrappers of [[slow], [slow, Wrapper.timeout]]) {
          invoked = 0
          assert.strictEqual(valueOf(yield* outcome({ tools, wrappers })), 1)
        }
      })
  )

  it.effect(
    cites("is enforced where Wrapper.timeout stands, also inside a composed one, and always", "TIME-05"),
    () =>
      Effect.gen(function*() {
        const retry: Wrapper.Wrapper = (next) => Effect.retry(next, { times: 1 })
        const startsOf = Effect.fnUntraced(function*(...wrappers: ReadonlyArray<Wrapper.Wrapper>) {
          let starts = 0
          const tools = [effectTool("tool", () => Effect.andThen(Effect.sync(() => starts++), Effect.never), budget100)]
          assert.strictEqual(codeOf(yield* outcome({ tools, wrappers })), "TOOL_TIMEOUT")
          return starts
        })
        // Inside the retry each attempt has its own time, outside of it all have one.
        assert.strictEqual(yield* startsOf(retry), 2)
        assert.strictEqual(yield* startsOf(retry, Wrapper.timeout), 2)
        assert.strictEqual(yield* startsOf(Wrapper.timeout, retry), 1)
        assert.strictEqual(yield* startsOf(Wrapper.compose(Wrapper.timeout, retry)), 1)
      })
  )

  it.effect(cites("without a budget there is no deadline", "TIME-05"), () =>
    Effect.gen(function*() {
      const host = yield* face.open({ tools: [effectTool("tool", () => Effect.never)], wrappers: [Wrapper.timeout] })
      const call = yield* host.call("tool")
      yield* TestClock.adjust("365 days")
      assert.isFalse(call.isOver())
      yield* call.cancel
      assert.strictEqual(codeOf(yield* call.result), "ABORTED")
    }))
})

describe("a budget", () => {
  const define = (timeout: Duration.Input) => effectTool("tool", () => Effect.succeed(1), { timeout })

  it(cites("is positive, finite and at most 2^31-1 ms, or the tool cannot be defined", "TIME-05"), () => {
    for (const timeout of [0, -1, Number.NaN, Number.POSITIVE_INFINITY, "Infinity", 2 ** 31, "25 days"] as const) {
      assert.throws(() => define(timeout), Tool.InvalidTool, undefined, String(timeout))
    }
    for (const timeout of [1, "500 micros", 2 ** 31 - 1, "24 days"] as const) define(timeout)
  })

  it.effect(cites("is nothing a model sees", "TIME-05"), () =>
    Effect.gen(function*() {
      const schemas = Effect.flatMap(
        makeRegistry([
          Tool.make("tool", { description: "d", parameters: AnyJson, success: AnyJson, execute: Effect.succeed }),
          Tool.make("timed", {
            description: "d",
            parameters: AnyJson,
            success: AnyJson,
            timeout: 12_345,
            execute: Effect.succeed
          })
        ]),
        ({ schemas }) => schemas
      )
      const [plain, timed] = yield* schemas
      assert.deepStrictEqual({ ...timed, name: "tool" }, { ...plain! })
      assert.notInclude(JSON.stringify(timed), "12345")
    }))

  it.effect(
    cites("charges a promise body for what it does before it first waits", "TIME-04"),
    () =>
      Effect.gen(function*() {
        const clock = new StepClock()
        const tool = Tool.fromPromise("tool", {
          description: "d",
          parameters: AnyJson,
          success: AnyJson,
          ...budget100,
          execute: (_, { signal }) => {
            clock.busy(70)
            return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)))
          }
        })
        const run = Effect.fnUntraced(function*() {
          const registry = yield* Faces.registry({ tools: [tool] })
          const fiber = yield* Effect.forkChild(registry.execute(input("tool")), { startImmediately: true })
          yield* clock.pass(29)
          assert.isUndefined(fiber.pollUnsafe())
          yield* clock.pass(1)
          assert.strictEqual(codeOf(yield* Fiber.join(fiber)), "TOOL_TIMEOUT")
        })
        yield* Effect.provideService(run(), Clock.Clock, clock)
      })
  )

  it.effect(
    cites("sets no timer for a promise that is settled when it is returned, and one for any other", "TIME-08"),
    () =>
      Effect.gen(function*() {
        let sleeps = 0
        class Counting extends StepClock {
          override sleep(duration: Duration.Duration): Effect.Effect<void> {
            sleeps++
            return super.sleep(duration)
          }
        }
        const clock = new Counting()
        const settled = promiseTool("settled", () => Promise.resolve(null), budget100)
        const later = promiseTool("later", () => new Promise((resolve) => setImmediate(() => resolve(null))), budget100)
        const run = Effect.fnUntraced(function*() {
          const registry = yield* Faces.registry({ tools: [settled, later] })
          valueOf(yield* registry.execute(input("settled")))
          assert.strictEqual(sleeps, 0)
          valueOf(yield* registry.execute(input("later")))
          assert.strictEqual(sleeps, 1)
          assert.strictEqual(clock.sleepers, 0)
        })
        yield* Effect.provideService(run(), Clock.Clock, clock)
      })
  )
})

it.effect(
  cites("an exclusive resource is free before the timeout is told", "TIME-01", "TIME-03"),
  () =>
    Effect.gen(function*() {
      const running = { now: 0, most: 0 }
      const busy = Effect.acquireUseRelease(
        Effect.sync(() => running.most = Math.max(running.most, ++running.now)),
        () => stubborn,
        () => Effect.sync(() => running.now--)
      )
      const registry = yield* makeRegistry([effectTool("tool", () => busy, budget100)])
      const twice = yield* Effect.forkChild(Effect.all([1, 2].map(() => registry.execute(input("tool")))))
      yield* TestClock.adjust("3 seconds")
      assert.deepStrictEqual((yield* Fiber.join(twice)).map(codeOf), ["TOOL_TIMEOUT", "TOOL_TIMEOUT"])
      assert.deepStrictEqual(running, { now: 0, most: 1 })
    })
)
