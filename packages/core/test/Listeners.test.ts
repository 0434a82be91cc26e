import { assert, describe, it } from "@effect/vitest"
import {
  Abortable,
  Deadline,
  Policy,
  Tool,
  Toolbox,
  type ToolCall,
  type ToolRegistry,
  type ToolResult
} from "@quiesce/core"
import { Effect, Schema, type Scope } from "effect"
import { TestClock } from "effect/testing"
import { getEventListeners } from "node:events"
import { cites } from "../../../tests/conformance/cites.ts"
import * as Faces from "./support/faces.ts"
import * as Gate from "./support/Gate.ts"
import { effectTool, promiseTool } from "./support/registry.ts"
import { assertAborted, codeOf } from "./support/results.ts"
import { watched } from "./support/watched.ts"

const count = (signal: AbortSignal): number => getEventListeners(signal, "abort").length

/** Tools that end in every way a call can end, each with the code of its end. */
const endings: ReadonlyArray<readonly [name: string, code: string]> = [
  ["succeeds", "Success"],
  ["succeeds at once", "Success"],
  ["fails", "TOOL_FAILURE"],
  ["throws", "TOOL_FAILURE"],
  ["times out", "TOOL_TIMEOUT"],
  ["answers nonsense", "INVALID_OUTPUT"],
  ["uses the caller's signal", "Success"],
  ["denied", "DENIED"],
  ["unknown", "UNKNOWN_TOOL"]
]

const makeRegistry = (signal: AbortSignal): Effect.Effect<ToolRegistry.Shape, never, Scope.Scope> =>
  Faces.registry({
    tools: [
      promiseTool("succeeds", async () => "done"),
      effectTool("succeeds at once", () => Effect.succeed("done")),
      promiseTool("fails", async () => {
        throw new Error("x")
      }),
      promiseTool("throws", () => {
        throw new Error("x")
      }),
      effectTool("times out", () => Effect.never, { timeout: "1 second" }),
      promiseTool("answers nonsense", async () => undefined as never),
      effectTool("uses the caller's signal", () =>
        Effect.scoped(Effect.gen(function*() {
          yield* Abortable.fuse(signal)
          yield* Abortable.interruptOn(Effect.yieldNow, signal)
          return yield* Deadline.within(Abortable.interruptOn(Effect.succeed(1), signal), {
            timeout: "1 second",
            code: "X"
          })
        }))),
      promiseTool("denied", () => 1)
    ],
    policy: { pre: (call) => Effect.succeed(call.name === "denied" ? Policy.deny("no") : Policy.allow) }
  })

describe("one signal of a caller", () => {
  it.effect(
    cites("has no listener of ours when the caller can look, whatever the outcome", "CALL-16"),
    () =>
      Effect.gen(function*() {
        const { signal } = new AbortController()
        const registry = yield* makeRegistry(signal)
        for (const [name, code] of endings) {
          let seen = -1
          const promise = registry.executePromise({ callId: "1", name, arguments: {}, signal }).then((result) => {
            seen = count(signal)
            return result
          })
          yield* TestClock.adjust("1 second")
          assert.strictEqual(codeOf(yield* Effect.promise(() => promise)), code, name)
          assert.strictEqual(seen, 0, `${name}: in the very callback that gets the result`)
        }
      })
  )

  it.effect(
    cites("has none when observers are told, nor when finalizeContent of a pre-aborted call runs", "CALL-16"),
    () =>
      Effect.gen(function*() {
        const { signal } = new AbortController()
        const seen: Array<number> = []
        const registry = yield* Faces.registry({
          tools: [promiseTool("t", async () => 1)],
          observers: [() => Effect.sync(() => void seen.push(count(signal)))]
        })
        yield* Effect.promise(() => registry.executePromise({ callId: "1", name: "t", arguments: {}, signal }))
        assert.deepStrictEqual(seen, [0])
      })
  )

  it.effect(
    cites("has none after an abort, while the body that ignores it still runs, or later", "CALL-16"),
    () =>
      Effect.gen(function*() {
        const controller = new AbortController()
        const { signal } = controller
        const gate = Gate.make<string>()
        const registry = yield* Faces.registry({ tools: [promiseTool("t", gate.promise)] })
        const promise = registry.executePromise({ callId: "1", name: "t", arguments: {}, signal })
        yield* gate.reached
        assert.strictEqual(count(signal), 1)
        controller.abort()
        assert.strictEqual(count(signal), 0)
        yield* gate.open("late")
        assert.strictEqual(codeOf(yield* Effect.promise(() => promise)), "ABORTED")
        assert.strictEqual(count(signal), 0)
      })
  )

  it.effect(
    cites("aborted after its call has settled, nothing happens: nobody listens", "CALL-16"),
    () =>
      Effect.gen(function*() {
        const controller = new AbortController()
        let bodySignal: AbortSignal | undefined
        const registry = yield* Faces.registry({
          tools: [promiseTool("t", async (_, call) => {
            bodySignal = call.signal
            return 1
          })]
        })
        const { signal } = controller
        yield* Effect.promise(() => registry.executePromise({ callId: "1", name: "t", arguments: {}, signal }))
        controller.abort()
        assert.isFalse(bodySignal!.aborted)
      })
  )

  it.effect(
    cites("ten thousand calls at once: never more than one listener, in the end none", "CALL-16"),
    () =>
      Effect.gen(function*() {
        const { signal } = new AbortController()
        const warnings: Array<unknown> = []
        const onWarning = (warning: unknown) => void warnings.push(warning)
        process.on("warning", onWarning)
        const gate = Gate.make<string>()
        const waited = gate.promise()
        const registry = yield* Faces.registry({
          tools: [promiseTool("waits", () => waited), promiseTool("succeeds", () => 1)]
        })
        let most = 0
        const calls = Array.from({ length: 10_000 }, (_, index) => {
          const name = index % 2 === 0 ? "waits" : "succeeds"
          const promise = registry.executePromise({ callId: `${index}`, name, arguments: null, signal })
          most = Math.max(most, count(signal))
          return promise
        })
        yield* gate.open("done")
        const results = yield* Effect.promise(() => Promise.all(calls))
        assert.isTrue(results.every((result) => codeOf(result) === "Success"))
        assert.deepStrictEqual([most, count(signal)], [1, 0])
        yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
        process.off("warning", onWarning)
        assert.deepStrictEqual(warnings, [], "no MaxListenersExceededWarning")
      })
  )

  it.effect(
    cites("two thousand calls one after the other: back to its baseline after each", "CALL-16"),
    () =>
      Effect.gen(function*() {
        const { signal } = new AbortController()
        signal.addEventListener("abort", () => {})
        const registry = yield* makeRegistry(signal)
        const names = ["succeeds", "fails", "answers nonsense", "uses the caller's signal"]
        for (let index = 0; index < 2000; index++) {
          const name = names[index % names.length]!
          yield* Effect.promise(() => registry.executePromise({ callId: `${index}`, name, arguments: {}, signal }))
          assert.strictEqual(count(signal), 1, "the test's own")
        }
      })
  )

  it.effect(
    cites("aborted with many calls on it, all hear of it once, and it is released at once", "CALL-16"),
    () =>
      Effect.gen(function*() {
        const controller = new AbortController()
        const { signal } = controller
        const heard: Array<string> = []
        const tool = promiseTool("t", (_, call) =>
          new Promise((_, reject) =>
            call.signal.addEventListener("abort", () => {
              heard.push(call.callId)
              reject(call.signal.reason)
            })
          ))
        const registry = yield* Faces.registry({ tools: [tool] })
        const ids = Array.from({ length: 100 }, (_, index) =>
          `${index}`)
        const calls = ids.map((callId) =>
          registry.executePromise({ callId, name: "t", arguments: {}, signal })
        )
        assert.strictEqual(count(signal), 1)
        controller.abort()
        assert.deepStrictEqual(heard, ids)
        assert.strictEqual(count(signal), 0)
        const results = yield* Effect.promise(() => Promise.all(calls))
        assert.isTrue(results.every((result) => codeOf(result) === "ABORTED"))
      })
  )

  it.effect(
    cites("a call made by a listener of that very abort is aborted before it begins", "CALL-04", "CALL-16"),
    () =>
      Effect.gen(function*() {
        const controller = new AbortController()
        const { signal } = controller
        let bodies = 0
        let second: Promise<ToolResult.ToolResult> | undefined
        const make = (): Promise<ToolResult.ToolResult> =>
          registry.executePromise({ callId: "2", name: "counts", arguments: {}, signal })
        const registry: ToolRegistry.Shape = yield* Faces.registry({
          tools: [
            promiseTool("counts", () => ++bodies),
            promiseTool("starts another", (_, call) =>
              new Promise((_, reject) =>
                call.signal.addEventListener("abort", () => {
                  second = make()
                  reject(call.signal.reason)
                })
              ))
          ]
        })
        const first = registry.executePromise({ callId: "1", name: "starts another", arguments: {}, signal })
        controller.abort()
        assert.strictEqual(
          codeOf(
            yield* Effect.promise(() =>
              first
            )
          ),
          "ABORTED"
        )
        assert.strictEqual(
          codeOf(yield* Effect.promise(() => second!)),
          "ABORTED_BEFORE_DISPATCH"
        )
        assert.strictEqual(bodies, 0)
        assert.strictEqual(count(signal), 0)
      })
  )
})

describe("a forged `abort` event", () => {
  it.effect(
    cites("on a signal that is not aborted cancels nothing, and the real abort still counts", "CALL-16"),
    () =>
      Effect.gen(function*() {
        const controller = new AbortController()
        const { signal } = controller
        const gate = Gate.make<string>()
        let bodySignal: AbortSignal | undefined
        const registry = yield* Faces.registry({
          tools: [promiseTool("t", (_, call) => {
            bodySignal = call.signal
            return gate.promise()
          })]
        })
        const promise = registry.executePromise({ callId: "1", name: "t", arguments: {}, signal })
        yield* gate.reached
        for (let round = 0; round < 3; round++) signal.dispatchEvent(new Event("abort"))
        assert.isFalse(bodySignal!.aborted)
        assert.deepStrictEqual((yield* registry.inFlight).map(({ cancelling }) => cancelling), [undefined])
        assert.strictEqual(count(signal), 1)
        controller.abort("real")
        assert.strictEqual(bodySignal!.reason, "real")
        yield* gate.open("late")
        assert.strictEqual(codeOf(yield* Effect.promise(() => promise)), "ABORTED")
      })
  )

  it.effect(cites("in every wait of a call: it goes on", "CALL-16"), () =>
    Effect.gen(function*() {
      for (const stage of ["pre", "approval", "wrapper", "post"] as const) {
        const gate = Gate.make()
        const { signal } = new AbortController()
        const wait = (at: string) => at === stage ? gate.promise() : Promise.resolve()
        const toolbox = Toolbox.make({
          tools: [promiseTool("t", () => "done")],
          policy: {
            pre: () => wait("pre").then(() => ({ ask: "?" })),
            post: () => wait("post").then(() => Policy.accept())
          },
          approval: () => wait("approval").then(() => "allow" as const),
          wrappers: [(next, _, { signal }) => wait("wrapper").then(() => next(signal))]
        })
        const promise = toolbox.execute({ callId: "1", name: "t", arguments: {}, signal })
        yield* gate.reached
        signal.dispatchEvent(new Event("abort"))
        yield* gate.open()
        assert.strictEqual(codeOf(yield* Effect.promise(() => promise)), "Success", stage)
      }
    }))
})

describe("another listener of the caller's signal, which comes before ours", () => {
  it.effect(
    cites("that lets the body end first: the call was cancelled all the same", "CALL-08", "CALL-17"),
    () =>
      Effect.gen(function*() {
        for (const stop of [false, true]) {
          const controller = new AbortController()
          let end = (_: Effect.Effect<string>) => {}
          controller.signal.addEventListener("abort", (event) => {
            if (stop) event.stopImmediatePropagation()
            end(Effect.succeed("done"))
          })
          const registry = yield* Faces.registry({
            tools: [effectTool("t", () =>
              Effect.callback<string>((resume) => {
                end = resume
              }))]
          })
          const { signal } = controller
          const promise = registry.executePromise({ callId: "1", name: "t", arguments: {}, signal })
          controller.abort("why")
          assertAborted(yield* Effect.promise(() => promise), "ABORTED", "Caller")
          assert.strictEqual(count(signal), 1, "the other's")
        }
      })
  )

  it.effect(
    cites("that stops the event: what waits is not told, and what comes next does not begin", "CALL-05"),
    () =>
      Effect.gen(function*() {
        for (const stage of ["pre", "wrap"] as const) {
          const gate = Gate.make()
          const controller = new AbortController()
          controller.signal.addEventListener("abort", (event) => event.stopImmediatePropagation())
          const parts = watched(
            stage === "pre"
              ? { pre: () => Effect.as(gate.wait, Policy.ask()) }
              : { wrap: (next) => Effect.andThen(gate.wait, next) }
          )
          const registry = yield* Faces.registry(parts)
          const { signal } = controller
          const promise = registry.executePromise({ callId: "1", name: "tool", arguments: {}, signal })
          yield* gate.reached
          controller.abort()
          yield* gate.open()
          assertAborted(yield* Effect.promise(() => promise), "ABORTED_BEFORE_DISPATCH", "Caller")
          assert.notInclude(parts.ran, "body")
          if (stage === "pre") assert.notInclude(parts.ran, "approval")
        }
      })
  )
})

describe("a body's own signal", () => {
  it.effect(cites("nothing of ours listens to it once the call is over", "CALL-16"), () =>
    Effect.gen(function*() {
      let signal: AbortSignal | undefined
      const inner = Tool.fromPromise("inner", {
        description: "",
        parameters: Schema.Struct({}),
        success: Schema.String,
        execute: async () => "done"
      })
      const registry: ToolRegistry.Shape = yield* Faces.registry({
        tools: [
          inner,
          promiseTool("outer", async (_, call: ToolCall.Running) => {
            signal = call.signal
            const result: ToolResult.ToolResult = await registry.executePromise({
              callId: "2",
              name: "inner",
              arguments: {},
              signal
            })
            return codeOf(result)
          })
        ]
      })
      const controller = new AbortController()
      const result = yield* Effect.promise(() =>
        registry.executePromise({ callId: "1", name: "outer", arguments: {}, signal: controller.signal })
      )
      assert.strictEqual(codeOf(result), "Success")
      assert.strictEqual(count(signal!), 0)
    }))
})

describe("a caller's signal that is not what it says", () => {
  it.effect.each(["addEventListener", "removeEventListener"] as const)(
    cites("whose `%s` throws holds up neither its call nor another", "CALL-16", "CALL-29"),
    (method) =>
      Effect.gen(function*() {
        const { signal } = new AbortController()
        Object.defineProperty(signal, method, {
          value: () => {
            throw new Error("hostile")
          }
        })
        const registry = yield* Faces.registry({ tools: [promiseTool("tool", async () => "done")] })
        const settled = yield* Abortable.promise(() =>
          registry.executePromise({ callId: "1", name: "tool", arguments: {}, signal })
            .then(codeOf, (thrown: unknown) => String(thrown))
        )
        // One that cannot be listened to is a mistake of the program: the call that it could not cancel does not begin.
        assert.strictEqual(settled, method === "addEventListener" ? "Error: hostile" : "Success")
        yield* registry.whenIdle
        const well = yield* registry.execute({ callId: "2", name: "tool", arguments: {} })
        assert.strictEqual(codeOf(well), "Success")
      })
  )
})
