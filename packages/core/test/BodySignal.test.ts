import { assert, describe, it } from "@effect/vitest"
import { type Json, type Tool, type ToolCall } from "@quiesce/core"
import { Effect, type Scope } from "effect"
import { cites } from "../../../tests/conformance/cites.ts"
import { settle } from "./support/bridge.ts"
import * as Faces from "./support/faces.ts"
import * as Gate from "./support/Gate.ts"
import { effectTool, promiseTool } from "./support/registry.ts"
import { codeOf, valueOf } from "./support/results.ts"

/** How many AbortControllers are made from now on, until the scope closes. */
const countControllers: Effect.Effect<() => number, never, Scope.Scope> = Effect.map(
  Effect.acquireRelease(
    Effect.sync(() => {
      const { AbortController } = globalThis
      let made = 0
      globalThis.AbortController = class extends AbortController {
        constructor() {
          super()
          made++
        }
      }
      return { restore: () => globalThis.AbortController = AbortController, made: () => made }
    }),
    ({ restore }) => Effect.sync(restore)
  ),
  ({ made }) => made
)

const bodies: ReadonlyArray<{
  readonly body: string
  readonly make: (execute: (call: ToolCall.Running) => Effect.Effect<Json>) => Tool.AnyNoServices
}> = [
  { body: "an effect", make: (execute) => effectTool("tool", (_, call) => execute(call)) },
  { body: "a promise function", make: (execute) => promiseTool("tool", (_, call) => Effect.runPromise(execute(call))) }
]

// `start` makes no controller of its own, as a caller with a signal does.
const face = Faces.start

describe.each(bodies)("the signal of a body that is $body", ({ make }) => {
  it.effect(
    cites("costs nothing to a body that does not look, however it ends", "BRIDGE-05"),
    () =>
      Effect.gen(function*() {
        const gate = Gate.make<string>()
        const made = yield* countControllers
        const host = yield* face.open({ tools: [make(() => gate.hold)] })
        const ends = yield* host.call("tool")
        const cancelled = yield* host.call("tool")
        yield* cancelled.cancel
        yield* gate.open("done")
        assert.strictEqual(valueOf(yield* ends.result), "done")
        assert.strictEqual(codeOf(yield* cancelled.result), "ABORTED")
        assert.strictEqual(made(), 0)
      })
  )

  it.effect(
    cites("is made once, when the body looks first, and stays the same", "BRIDGE-05"),
    () =>
      Effect.gen(function*() {
        const gate = Gate.make<string>()
        const made = yield* countControllers
        const seen: Array<AbortSignal> = []
        const host = yield* face.open({
          tools: [make((call) => {
            seen.push(call.signal, call.signal)
            return Effect.tap(gate.hold, () => Effect.sync(() => seen.push(call.signal)))
          })]
        })
        const call = yield* host.call("tool")
        assert.strictEqual(made(), 1)
        assert.isFalse(seen[0]?.aborted)
        yield* gate.open("done")
        yield* call.result
        assert.strictEqual(made(), 1)
        assert.deepStrictEqual(seen.map((signal) => signal === seen[0]), [true, true, true])
        assert.isFalse(seen[0]?.aborted, "a call that ended well aborts nothing")
      })
  )

  it.effect(
    cites("looked at only after the cancel, is aborted already, for the cancel's reason", "BRIDGE-05", "CALL-17"),
    () =>
      Effect.gen(function*() {
        for (const reason of [0, "", null, Object.freeze({ why: "because" })]) {
          const gate = Gate.make<string>()
          let signal: AbortSignal | undefined
          const registry = yield* Faces.registry({
            tools: [make((call) => Effect.ensuring(gate.hold, Effect.sync(() => signal = call.signal)))]
          })
          const call = yield* registry.start({ callId: "1", name: "tool", arguments: {} })
          yield* call.cancel({ _tag: "Caller", cause: reason })
          yield* settle
          yield* gate.open("too late")
          yield* call.result
          assert.isTrue(signal?.aborted)
          assert.strictEqual(signal?.reason, reason)
        }
      })
  )

  it.effect(cites("looked at when the call is over, never aborts", "BRIDGE-05"), () =>
    Effect.gen(function*() {
      let kept: ToolCall.Running | undefined
      const controller = new AbortController()
      const registry = yield* Faces.registry({
        tools: [make((call) => {
          kept = call
          return Effect.succeed("done")
        })]
      })
      yield* Effect.promise(() =>
        registry.executePromise({ callId: "1", name: "tool", arguments: {}, signal: controller.signal })
      )
      const { signal } = kept!
      controller.abort()
      assert.isFalse(signal.aborted)
    }))
})
