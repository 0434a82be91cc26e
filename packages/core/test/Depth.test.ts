import { assert, describe, it } from "@effect/vitest"
import { type Json, type ToolCall, type ToolRegistry, type ToolResult, Wrapper } from "@quiesce/core"
import { Cause, Deferred, Effect, Exit, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { cites } from "../../../tests/conformance/cites.ts"
import * as Cancellation from "../src/internal/cancellation.ts"
import { effectTool, makeRegistry, promiseTool } from "./support/registry.ts"

/** More calls inside one another than a stack has room for: with a stack for all of them, a few hundred overflow it. */
const depth = 1_500

/** The body of the innermost call, and what each of those around it does with the call inside. */
type Make = (registry: () => ToolRegistry.Shape, leaf: Effect.Effect<Json>) => ReturnType<typeof effectTool>

const next = (call: ToolCall.Running): ToolCall.Input => {
  const level = Number(call.callId) - 1
  return { callId: String(level), name: "nest", arguments: {} }
}
const isLeaf = (call: ToolCall.Running) => call.callId === "0"
const valueOf = (result: ToolResult.ToolResult): Json => result._tag === "Success" ? result.value : result.error.code

const ways: ReadonlyArray<readonly [way: string, make: Make]> = [
  [
    "executed by the fiber of a body",
    (registry, leaf) =>
      effectTool(
        "nest",
        (_, call) => isLeaf(call) ? leaf : Effect.map(Effect.suspend(() => registry().execute(next(call))), valueOf)
      )
  ],
  ["started by a body", (registry, leaf) =>
    effectTool("nest", (_, call) =>
      isLeaf(call)
        ? leaf
        : Effect.map(
          Effect.flatMap(Effect.suspend(() => registry().start(next(call))), ({ result }) => result),
          valueOf
        ))],
  ["made through the signal of a promise body", (registry, leaf) =>
    promiseTool("nest", (_, call) =>
      isLeaf(call)
        ? Effect.runPromise(leaf, { signal: call.signal })
        : registry().executePromise({ ...next(call), signal: call.signal }).then(valueOf))]
]

describe.each(ways)("many calls inside one another, %s", (_, make) => {
  const open = Effect.fnUntraced(function*(leaf: Effect.Effect<Json>) {
    let registry: ToolRegistry.Shape | undefined
    registry = yield* makeRegistry([make(() => registry!, leaf)], Wrapper.layer([(next) => next]))
    return registry
  })

  it.effect(
    cites("are launched, and each gets the result of the one inside", "CALL-01", "CALL-26"),
    () =>
      Effect.gen(function*() {
        const registry = yield* open(Effect.succeed("found"))
        const { signal } = new AbortController()
        const result = yield* Effect.promise(() =>
          registry.executePromise({ callId: String(depth), name: "nest", arguments: {}, signal })
        )
        assert.strictEqual(valueOf(result), "found")
        assert.deepStrictEqual(yield* registry.inFlight, [])
      })
  )

  it.effect(
    cites(
      "are cancelled together: all know why at once, the innermost ends first, and none is left",
      "CALL-26",
      "CALL-07"
    ),
    () =>
      Effect.gen(function*() {
        const reached = yield* Deferred.make<void>()
        let atInterrupt: ReadonlyArray<ToolRegistry.InFlight> = []
        const leaf = Effect.onInterrupt(
          Effect.andThen(Deferred.succeed(reached, undefined), Effect.never),
          () => Effect.map(Effect.suspend(() => registry.inFlight), (calls) => void (atInterrupt = calls))
        )
        const registry: ToolRegistry.Shape = yield* open(leaf)
        const ended: Array<string> = []
        yield* registry.observe((call) => Effect.sync(() => void ended.push(call.callId)))
        const controller = new AbortController()
        const running = yield* Effect.forkChild(
          Effect.promise(() =>
            registry.executePromise({
              callId: String(depth),
              name: "nest",
              arguments: {},
              signal: controller.signal
            })
          ),
          { startImmediately: true }
        )
        yield* Deferred.await(reached)
        controller.abort("enough")
        assert.strictEqual(valueOf(yield* Fiber.join(running)), "ABORTED")
        assert.strictEqual(atInterrupt.length, depth + 1)
        assert.deepStrictEqual(atInterrupt.filter(({ cancelling }) => cancelling === undefined), [])
        assert.deepStrictEqual(
          atInterrupt.slice(1).filter(({ callId, cancelling }) =>
            cancelling?._tag !== "Parent" || cancelling.callId !== String(Number(callId) + 1)
          ),
          []
        )
        assert.deepStrictEqual(ended, Array.from({ length: depth + 1 }, (_, level) => String(level)))
        yield* TestClock.adjust("1 minute")
        assert.deepStrictEqual(yield* registry.inFlight, [])
      })
  )
})

describe("many calls inside one another that only the stack knows to nest", () => {
  it.effect(cites("are launched, and each gets the result of the one inside", "CALL-01"), () =>
    Effect.gen(function*() {
      let registry: ToolRegistry.Shape | undefined
      registry = yield* makeRegistry([
        promiseTool("nest", (_, call) =>
          isLeaf(call)
            ? "found"
            : registry!.executePromise({ ...next(call), signal: new AbortController().signal }).then(valueOf))
      ])
      const { signal } = new AbortController()
      const result = yield* Effect.promise(() =>
        registry.executePromise({ callId: String(depth), name: "nest", arguments: {}, signal })
      )
      assert.strictEqual(valueOf(result), "found")
    }))
})

it.effect(
  cites("calls inside one another, each inside a hundred wrappers, get the result of the one inside", "CALL-01"),
  () =>
    Effect.gen(function*() {
      let registry: ToolRegistry.Shape | undefined
      const nest = effectTool("nest", (_, call) =>
        isLeaf(call)
          ? Effect.succeed("found")
          : Effect.map(Effect.suspend(() => registry!.execute(next(call))), valueOf))
      registry = yield* makeRegistry([nest], Wrapper.layer(Array.from({ length: 100 }, () => (next) => next)))
      assert.strictEqual(valueOf(yield* registry.execute({ callId: "50", name: "nest", arguments: {} })), "found")
    })
)

const plain: Wrapper.Wrapper = (next) => next
const bound = 128

it.effect(
  cites(
    "a call inside as many wrappers as a registry takes, of promise functions, too, is made and cancelled",
    "CALL-01"
  ),
  () =>
    Effect.gen(function*() {
      const promises = Wrapper.fromPromise((next, _, { signal }) => next(signal))
      const registry = yield* makeRegistry(
        [effectTool("tool", () => Effect.succeed("found")), effectTool("hangs", () => Effect.never)],
        Wrapper.layer(Array.from({ length: bound }, () => promises))
      )
      assert.strictEqual(valueOf(yield* registry.execute({ callId: "a", name: "tool", arguments: {} })), "found")
      const call = yield* registry.start({ callId: "b", name: "hangs", arguments: {} })
      yield* call.cancel()
      assert.include(valueOf(yield* call.result), "ABORTED")
    })
)

it.effect(
  cites("a registry is not built with more wrappers than a stack has room for, and says so", "CALL-01", "CALL-32"),
  () =>
    Effect.gen(function*() {
      const parts = Array.from({ length: bound }, () => plain)
      const exit = yield* Effect.exit(makeRegistry([], Wrapper.layer([plain, Wrapper.compose(...parts)])))
      const defect = Exit.isFailure(exit) ? Cause.squash(exit.cause) : undefined
      assert.instanceOf(defect, RangeError)
      assert.strictEqual(defect.message, "a registry takes 128 wrappers, and was given 129")
    })
)

it(cites("a reason is passed down unchanged, through however many calls", "CALL-17", "CALL-26"), () => {
  const reason = { why: "enough" }
  let cancellation = Cancellation.byCaller(reason)
  for (let level = 0; level < 100_000; level++) {
    cancellation = Cancellation.inherit({ _tag: "Parent", callId: String(level) }, cancellation)
  }
  assert.deepStrictEqual(cancellation.reason, { _tag: "Parent", callId: "99999" })
  assert.strictEqual(cancellation.abortReason, reason)
})
