import { assert, describe, it } from "@effect/vitest"
import { CancelReason, Deadline, Policy, Toolbox, ToolCall, Wrapper } from "@quiesce/core"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { cites } from "../../../tests/conformance/cites.ts"
import * as Faces from "./support/faces.ts"
import * as Gate from "./support/Gate.ts"
import { effectTool, promiseTool } from "./support/registry.ts"
import { assertAborted, codeOf, failureOf } from "./support/results.ts"

/** What callers abort with. `undefined` is the platform's to replace. */
const reasons: ReadonlyArray<readonly [what: string, reason: unknown]> = [
  ["0", 0],
  ["an empty string", ""],
  ["null", null],
  ["false", false],
  ["NaN", Number.NaN],
  ["undefined", undefined],
  ["a string", "user pressed escape"],
  ["a symbol", Symbol("why")],
  ["a bigint", 0n],
  ["an Error", new Error("why")],
  ["a frozen object", Object.freeze({ why: 1 })],
  ["a function", () => "why"],
  ["an AbortError of another origin", new DOMException("why", "AbortError")],
  [
    "a Proxy that throws on inspection",
    new Proxy({}, {
      get: () => {
        throw new Error("inspected")
      },
      getPrototypeOf: () => {
        throw new Error("inspected")
      },
      ownKeys: () => {
        throw new Error("inspected")
      }
    })
  ]
]

/** A body that waits for the gate and shows its signal. */
const waiting = () => {
  const gate = Gate.make<string>()
  const shown: { signal: AbortSignal | undefined; call: ToolCall.Running | undefined } = {
    signal: undefined,
    call: undefined
  }
  const tool = promiseTool("tool", (_, call) => {
    shown.call = call
    shown.signal = call.signal
    return gate.promise()
  })
  return { gate, shown, tool }
}

describe("the reason that a body's signal shows", () => {
  it.effect.each(reasons)(
    cites("is the caller's own, unchanged: %s", "CALL-17"),
    ([, reason]) =>
      Effect.gen(function*() {
        const { gate, shown, tool } = waiting()
        const toolbox = Toolbox.make({ tools: [tool], wrappers: [(next, _, { signal }) => next(signal)] })
        const controller = new AbortController()
        const promise = toolbox.execute({ callId: "1", name: "tool", arguments: {}, signal: controller.signal })
        yield* gate.reached
        controller.abort(reason)
        assert.isTrue(shown.signal!.aborted)
        assert.isTrue(Object.is(shown.signal!.reason, controller.signal.reason))
        yield* gate.open("late")
        assertAborted(yield* Effect.promise(() => promise), "ABORTED", "Caller")
      })
  )

  it.effect.each(reasons)(
    cites("and rejecting with it is being aborted: %s", "CALL-09", "CALL-17"),
    ([, reason]) =>
      Effect.gen(function*() {
        const tool = promiseTool(
          "tool",
          (_, { signal }) => new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)))
        )
        const toolbox = Toolbox.make({ tools: [tool] })
        const controller = new AbortController()
        const promise = toolbox.execute({ callId: "1", name: "tool", arguments: {}, signal: controller.signal })
        controller.abort(reason)
        assertAborted(yield* Effect.promise(() => promise), "ABORTED", "Caller")
      })
  )

  it.effect(
    cites("is the same for a body that looks at its signal only when it has aborted", "CALL-17"),
    () =>
      Effect.gen(function*() {
        for (const [, reason] of reasons) {
          const gate = Gate.make()
          let seen: AbortSignal | undefined
          const tool = promiseTool("tool", async (_, call) => {
            await gate.promise()
            seen = call.signal
            return null
          })
          const toolbox = Toolbox.make({ tools: [tool] })
          const controller = new AbortController()
          const promise = toolbox.execute({ callId: "1", name: "tool", arguments: {}, signal: controller.signal })
          yield* gate.reached
          controller.abort(reason)
          yield* gate.open()
          yield* Effect.promise(() => promise)
          assert.isTrue(seen!.aborted && Object.is(seen!.reason, controller.signal.reason))
        }
      })
  )

  it.effect(cites("is the same in policies, approval channels and wrappers", "CALL-17"), () =>
    Effect.gen(function*() {
      for (const stage of ["pre", "approval", "wrapper"] as const) {
        const gate = Gate.make()
        const seen: Record<string, AbortSignal> = {}
        const wait = (at: string, signal: AbortSignal) => {
          seen[at] = signal
          return at === stage ? gate.promise() : Promise.resolve()
        }
        const toolbox = Toolbox.make({
          tools: [promiseTool("t", () => "done")],
          policy: { pre: (_, signal) => wait("pre", signal).then(() => ({ ask: "?" })) },
          approval: (_, signal) => wait("approval", signal).then(() => "allow" as const),
          wrappers: [(next, _, { signal }) => wait("wrapper", signal).then(() => next(signal))]
        })
        const controller = new AbortController()
        const promise = toolbox.execute({ callId: "1", name: "t", arguments: {}, signal: controller.signal })
        yield* gate.reached
        controller.abort(0)
        assert.deepStrictEqual([seen[stage]!.aborted, seen[stage]!.reason], [true, 0])
        yield* gate.open()
        assertAborted(yield* Effect.promise(() => promise), "ABORTED_BEFORE_DISPATCH", "Caller")
      }
    }))

  it.effect(cites("is what a call was cancelled with by hand", "CALL-17"), () =>
    Effect.gen(function*() {
      const { gate, shown, tool } = waiting()
      const registry = yield* Faces.registry({ tools: [tool] })
      const call = yield* registry.start({ callId: "1", name: "tool", arguments: {} })
      const cause = { by: "hand" }
      yield* call.cancel(CancelReason.caller(cause))
      assert.strictEqual(shown.signal!.reason, cause)
      yield* gate.open("late")
      assertAborted(yield* call.result, "ABORTED", "Caller")
    }))

  it.effect(
    cites("is an AbortError that names the origin when a fiber was interrupted", "CALL-17"),
    () =>
      Effect.gen(function*() {
        const { gate, shown, tool } = waiting()
        const host = yield* Faces.execute.open({ tools: [tool] })
        const call = yield* host.call("tool")
        yield* gate.reached
        yield* call.cancel
        const { reason } = shown.signal!
        assert.strictEqual(reason.name, "AbortError")
        assert.match(reason.message, /fiber.*interrupted/)
        yield* gate.open("late")
        assertAborted(yield* call.result, "ABORTED", "Interrupt")
      })
  )

  it.effect(cites("is an AbortError that names the shutdown", "CALL-17"), () =>
    Effect.gen(function*() {
      const { gate, shown, tool } = waiting()
      const registry = yield* Faces.registry({ tools: [tool] })
      const call = yield* registry.start({ callId: "1", name: "tool", arguments: {} })
      yield* Effect.forkChild(registry.shutdown, { startImmediately: true })
      assert.strictEqual(shown.signal!.reason.name, "AbortError")
      assert.match(shown.signal!.reason.message, /shutting down/)
      yield* gate.open("late")
      assertAborted(yield* call.result, "ABORTED", "Shutdown")
    }))

  it.effect(
    cites("is the deadline's error when a deadline fired, wherever the deadline stands", "CALL-17"),
    () =>
      Effect.gen(function*() {
        const within: Wrapper.Wrapper = (next) => Deadline.within(next, { timeout: "1 second", code: "MINE" })
        const budget = { timeout: "1 second" } as const
        for (
          const [code, wrappers, options] of [
            ["MINE", [within], {}],
            ["MINE", [within, Effect.uninterruptible], {}],
            ["MINE", [(next: Wrapper.Next) => Effect.timeout(next, "1 day"), within], {}],
            ["TOOL_TIMEOUT", [], budget],
            ["TOOL_TIMEOUT", [Wrapper.timeout], budget]
          ] as ReadonlyArray<readonly [string, ReadonlyArray<Wrapper.Wrapper>, { readonly timeout?: "1 second" }]>
        ) {
          let seen: unknown
          const tool = effectTool(
            "tool",
            (_, { signal }) => Effect.onInterrupt(Effect.never, () => Effect.sync(() => void (seen = signal.reason))),
            options
          )
          const host = yield* Faces.start.open({ tools: [tool], wrappers })
          const call = yield* host.call("tool")
          yield* TestClock.adjust("1 second")
          assert.strictEqual(codeOf(yield* call.result), "TOOL_TIMEOUT")
          assert.instanceOf(seen, Deadline.DeadlineExceeded)
          assert.strictEqual((seen as Deadline.DeadlineExceeded).code, code)
        }
      })
  )
})

describe("the first cause", () => {
  it.effect(
    cites("wins: what comes later changes neither the signal nor the outcome nor what is shown", "CALL-17"),
    () =>
      Effect.gen(function*() {
        const { gate, shown, tool } = waiting()
        const registry = yield* Faces.registry({ tools: [tool] })
        const controller = new AbortController()
        const promise = registry.executePromise({
          callId: "1",
          name: "tool",
          arguments: {},
          signal: controller.signal
        })
        yield* gate.reached
        controller.abort("first")
        assert.strictEqual(yield* registry.cancel("1", CancelReason.wrapper("second")), 1)
        yield* Effect.forkChild(registry.shutdown, { startImmediately: true })
        assert.strictEqual(shown.signal!.reason, "first")
        assert.deepStrictEqual(ToolCall.cancelReason(shown.call!), { _tag: "Caller", cause: "first" })
        assert.deepStrictEqual((yield* registry.inFlight).map(({ cancelling }) => cancelling), [
          { _tag: "Caller", cause: "first" }
        ])
        yield* gate.open("late")
        assertAborted(yield* Effect.promise(() => promise), "ABORTED", "Caller")
      })
  )

  it.effect(
    cites("an interruption before an abort, and an abort before an interruption", "CALL-17"),
    () =>
      Effect.gen(function*() {
        for (const order of [["interrupt", "shutdown"], ["shutdown", "interrupt"]] as const) {
          const { gate, shown, tool } = waiting()
          const registry = yield* Faces.registry({ tools: [tool] })
          const results: Array<string> = []
          yield* registry.observe((_, result) =>
            Effect.sync(() => void results.push((failureOf(result).error.detail as any).reason))
          )
          const fiber = yield* Effect.forkChild(registry.execute({ callId: "1", name: "tool", arguments: {} }), {
            startImmediately: true
          })
          for (const what of order) {
            if (what === "interrupt") fiber.interruptUnsafe()
            else yield* Effect.forkChild(registry.shutdown, { startImmediately: true })
          }
          assert.match(shown.signal!.reason.message, order[0] === "interrupt" ? /interrupted/ : /shutting down/)
          yield* gate.open("late")
          yield* registry.whenIdle
          assert.deepStrictEqual(results, [order[0] === "interrupt" ? "Interrupt" : "Shutdown"])
        }
      })
  )

  it.effect(
    cites("a deadline that fires after the cancel, and a cancel after the deadline", "CALL-09", "CALL-17"),
    () =>
      Effect.gen(function*() {
        for (const first of ["cancel", "deadline"] as const) {
          const gate = Gate.make<string>()
          const tool = effectTool("tool", () => gate.hold, { timeout: "1 second" })
          const host = yield* Faces.start.open({ tools: [tool] })
          const call = yield* host.call("tool")
          if (first === "cancel") yield* call.cancel
          yield* TestClock.adjust("1 second")
          if (first === "deadline") yield* call.cancel
          yield* gate.open("late")
          const result = yield* call.result
          if (first === "cancel") assertAborted(result, "ABORTED", "Caller")
          else assert.strictEqual(codeOf(result), "TOOL_TIMEOUT")
        }
      })
  )

  it.effect(cites("a post-policy reads it from the call", "CALL-10", "CALL-17"), () =>
    Effect.gen(function*() {
      const { gate, tool } = waiting()
      let seen: unknown
      const host = yield* Faces.executePromise.open({
        tools: [tool],
        policy: {
          post: (call) =>
            Effect.sync(() => {
              seen = ToolCall.cancelReason(call)?._tag
              return Policy.accept()
            })
        }
      })
      const call = yield* host.call("tool")
      yield* gate.reached
      yield* call.cancel
      yield* gate.open("late")
      yield* call.result
      assert.strictEqual(seen, "Caller")
    }))
})
