import { assert, describe, it } from "@effect/vitest"
import { Toolbox, type ToolCall, type ToolResult } from "@quiesce/core"
import { Effect, Fiber } from "effect"
import { getEventListeners } from "node:events"
import { cites } from "../../../tests/conformance/cites.ts"
import * as Faces from "./support/faces.ts"
import * as Gate from "./support/Gate.ts"
import { effectTool, promiseTool } from "./support/registry.ts"
import { assertAborted, codeOf, isDeeplyFrozen } from "./support/results.ts"
import { watched } from "./support/watched.ts"

const finalized: ReadonlyArray<ToolResult.Content> = [{ type: "text", text: "finalized" }]

/** The ways to make a call that is cancelled before it begins. */
const entries: ReadonlyArray<{
  readonly entry: string
  readonly reason: string
  readonly make: (parts: Faces.Parts, input: ToolCall.Input) => Effect.Effect<ToolResult.ToolResult>
}> = [
  {
    entry: "executePromise with an aborted signal",
    reason: "Caller",
    make: (parts, input) =>
      Effect.scoped(
        Effect.flatMap(Faces.registry(parts), (registry) =>
          Effect.promise(() => registry.executePromise({ ...input, signal: AbortSignal.abort() })))
      )
  },
  {
    entry: "a registry that is shut down",
    reason: "Shutdown",
    make: (parts, input) =>
      Effect.scoped(
        Effect.flatMap(Faces.registry(parts), (registry) => Effect.andThen(registry.shutdown, registry.execute(input)))
      )
  },
  {
    entry: "a body whose own call is being cancelled",
    reason: "Parent",
    make: (parts, input) =>
      Effect.scoped(Effect.gen(function*() {
        const gate = Gate.make()
        let inner: ToolResult.ToolResult | undefined
        const registry = yield* Faces.registry(parts)
        const outer = effectTool("outer", () =>
          Effect.onInterrupt(Effect.as(gate.wait, null), () =>
            Effect.map(registry.execute(input), (result) => {
              inner = result
            })))
        const around = yield* Faces.registry({ tools: [outer] })
        const fiber = yield* Effect.forkChild(around.execute({ callId: "outer", name: "outer", arguments: {} }), {
          startImmediately: true
        })
        yield* gate.reached
        yield* Fiber.interrupt(fiber)
        return inner!
      }))
  }
]

describe.each(entries)("a call made through $entry", ({ make, reason }) => {
  it.effect.each(
    [
      ["whatever its tool", "tool"],
      ["also where the schema would refuse its arguments", "strict"]
    ] as const
  )(cites("is over at once, %s", "CALL-04", "CALL-11"), ([, name]) =>
    Effect.gen(function*() {
      const parts = watched({ finalizeContent: () => finalized })
      const result = yield* make(parts, { callId: "1", name, arguments: {} })
      assert.deepStrictEqual(parts.ran, ["finalizeContent", "publish ABORTED_BEFORE_DISPATCH"])
      assert.deepStrictEqual(result.content, finalized)
      assert.isTrue(isDeeplyFrozen(result))
      assertAborted(
        { ...result, content: [{ type: "text", text: "Error: tool call aborted before dispatch" }] } as any,
        "ABORTED_BEFORE_DISPATCH",
        reason
      )
    }))

  it.effect(cites("is over at once, also where the tool is unknown", "CALL-04"), () =>
    Effect.gen(function*() {
      const parts = watched()
      const result = yield* make(parts, { callId: "1", name: "unknown", arguments: {} })
      assert.deepStrictEqual(parts.ran, ["publish ABORTED_BEFORE_DISPATCH"])
      assertAborted(result, "ABORTED_BEFORE_DISPATCH", reason)
    }))
})

describe.each(Faces.registryFaces)("$name", (face) => {
  it.effect(
    cites("a call that its own arguments cancel, while they are read, does not begin", "CALL-04"),
    () =>
      Effect.gen(function*() {
        const parts = watched()
        const host = yield* face.open(parts)
        const args = {
          get a() {
            host.cancelLatest()
            return 1
          }
        }
        const result = yield* (yield* host.call("tool", { arguments: args })).result
        assert.deepStrictEqual(parts.ran, ["finalizeContent", "publish ABORTED_BEFORE_DISPATCH"])
        assertAborted(result, "ABORTED_BEFORE_DISPATCH", face.reason)
      })
  )
})

describe("one aborted signal", () => {
  it.live(
    cites("used a thousand times: a thousand results, no body, no question, no listener", "CALL-04", "CALL-16"),
    () =>
      Effect.gen(function*() {
        let bodies = 0
        let questions = 0
        const results: Array<ToolResult.ToolResult> = []
        const toolbox = Toolbox.make({
          tools: [promiseTool("t", () => ++bodies)],
          policy: { pre: () => ({ ask: "?" }) },
          approval: () => {
            questions++
            return "allow"
          },
          observers: [(_, result) => void results.push(result)]
        })
        const { signal } = new AbortController()
        const aborted = AbortSignal.abort("done")
        for (let index = 0; index < 1000; index++) {
          const result = yield* Effect.promise(() =>
            toolbox.execute({ callId: `${index}`, name: "t", arguments: {}, signal: aborted })
          )
          assert.strictEqual(codeOf(result), "ABORTED_BEFORE_DISPATCH")
          assert.strictEqual(getEventListeners(aborted, "abort").length, 0)
        }
        assert.deepStrictEqual(
          results.map(({ callId }) => callId),
          Array.from({ length: 1000 }, (_, index) => `${index}`)
        )
        assert.deepStrictEqual([bodies, questions], [0, 0])
        assert.deepStrictEqual(toolbox.inFlight(), [])
        // The same Toolbox works on.
        const live = yield* Effect.promise(() => toolbox.execute({ callId: "live", name: "t", arguments: {}, signal }))
        assert.strictEqual(codeOf(live), "Success")
      })
  )
})
