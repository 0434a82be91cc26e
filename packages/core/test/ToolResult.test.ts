import { assert, describe, it } from "@effect/vitest"
import { type Json, Policy, type ToolCall, ToolResult, Wrapper } from "@quiesce/core"
import { Effect, Exit, Schema } from "effect"
import { cites } from "../../../tests/conformance/cites.ts"
import { effectTool, input, makeRegistry } from "./support/registry.ts"

const encode = Schema.encodeUnknownSync(ToolResult.ToolResult)
const decode = Schema.decodeUnknownSync(ToolResult.ToolResult)

/** Through text and back, as a log or a wire takes it. */
const roundTrip = (result: ToolResult.ToolResult) => decode(JSON.parse(JSON.stringify(encode(result))))

const deep = (depth: number): Json => depth === 0 ? 1 : [deep(depth - 1)]

describe("a result", () => {
  /** Results as calls give them, one of every code that a single call can reach. */
  const results = Effect.gen(function*() {
    const registry = yield* makeRegistry(
      [
        effectTool("a", (json, call) =>
          Effect.suspend(() => {
            call.deferContext({ context: [1, null] })
            call.declareResidue({ kind: "remote", detail: "…" })
            call.concludeTurn()
            return Effect.succeed(json)
          })),
        effectTool("fails", () => Effect.fail({ _tag: "Oh", list: [1] })),
        effectTool("fails plainly", () => Effect.fail("no")),
        effectTool("lies", () => Effect.succeed(NaN)),
        effectTool("waits", () => Effect.never),
        effectTool("is late", () => Effect.never, { timeout: "1 millis" })
      ],
      Policy.layer({
        pre: ({ callId }) =>
          callId === "broken"
            ? Effect.die("no")
            : Effect.succeed(callId === "denied" ? Policy.deny("no") : Policy.allow),
        post: ({ callId }) => Effect.succeed(callId === "blocked" ? Policy.block("no") : Policy.accept())
      }),
      Wrapper.layer([(next, { callId }) => callId === "wrapper" ? Effect.fail(new Error("no")) : next])
    )
    const cancelled = Effect.fnUntraced(function*(input: ToolCall.Input) {
      const call = yield* registry.start(input)
      yield* call.cancel()
      return yield* call.result
    })
    const values: ReadonlyArray<Json> = [
      null,
      "",
      0.1,
      [],
      {},
      { a: [{ b: null }], "": "", _tag: "Failure" },
      "\ud800 lone",
      JSON.parse("{\"__proto__\":{\"polluted\":true}}"),
      deep(500)
    ]
    return [
      ...yield* Effect.forEach(values, (value) => registry.execute(input("a", "a", value))),
      yield* registry.execute(input("fails")),
      yield* registry.execute(input("fails plainly")),
      yield* registry.execute(input("lies")),
      yield* registry.execute(input("unknown")),
      yield* registry.execute({ ...input("a"), arguments: undefined }),
      ...yield* Effect.forEach(
        ["denied", "broken", "blocked", "wrapper"],
        (callId) => registry.execute(input("a", callId))
      ),
      yield* cancelled(input("waits")),
      yield* registry.execute(input("waits")).pipe(
        Effect.timeoutOption(0),
        Effect.andThen(registry.shutdown),
        () => cancelled(input("waits", "never began"))
      )
    ]
  })

  it.effect("crosses a log or a wire as JSON and comes back as it was", () =>
    Effect.gen(function*() {
      for (const result of yield* results) {
        const back = roundTrip(result)
        assert.deepStrictEqual(back, result)
        if (back._tag === "Success" && result._tag === "Success") {
          assert.strictEqual(JSON.stringify(back.value), JSON.stringify(result.value))
        }
      }
    }))

  it.effect(
    cites("says by its code what decided it: each of them is a code of the schema", "CALL-11"),
    () =>
      Effect.gen(function*() {
        const codes = (yield* results).flatMap((result) => result._tag === "Failure" ? [result.error.code] : [])
        assert.includeMembers([...ToolResult.Code.literals], codes)
        assert.deepStrictEqual([...new Set(codes)].sort(), [
          "ABORTED",
          "BLOCKED",
          "DENIED",
          "INVALID_ARGUMENTS",
          "INVALID_OUTPUT",
          "POLICY_FAILURE",
          "TOOL_FAILURE",
          "UNKNOWN_TOOL",
          "WRAPPER_FAILURE"
        ])
      })
  )

  const success = {
    _tag: "Success",
    callId: "c",
    name: "n",
    dispatched: true,
    value: 1,
    content: [],
    contexts: [],
    residue: [],
    concludesTurn: false
  }
  const failure = {
    _tag: "Failure",
    callId: "c",
    name: "n",
    dispatched: false,
    error: { code: "DENIED", name: "Denied", message: "no" },
    content: [],
    contexts: [],
    residue: []
  }
  it.each([
    ["of no kind", { ...success, _tag: "Other" }],
    ["with an unknown code", { ...failure, error: { ...failure.error, code: "OTHER" } }],
    ["without a value", { ...success, value: undefined }],
    ["with a value that is not JSON", { ...success, value: { at: new Date(0) } }],
    ["that does not say whether it was dispatched", { ...failure, dispatched: undefined }],
    ["with content of another type", { ...success, content: [{ type: "image", text: "" }] }],
    ["with contexts that are not JSON", { ...success, contexts: [() => 1] }],
    ["with residue of another kind", { ...success, residue: [{ kind: "ghost", detail: "" }] }],
    ["that is nothing", null]
  ])("that comes back %s is refused", (_, json) => {
    assert.isTrue(Exit.isFailure(Schema.decodeUnknownExit(ToolResult.ToolResult)(json)))
    assert.isTrue(Exit.isSuccess(Schema.decodeUnknownExit(ToolResult.ToolResult)(success)))
    assert.isTrue(Exit.isSuccess(Schema.decodeUnknownExit(ToolResult.ToolResult)(failure)))
  })
})
