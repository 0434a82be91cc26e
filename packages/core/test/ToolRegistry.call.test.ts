import { assert, describe, it } from "@effect/vitest"
import { assertEquals } from "@effect/vitest/utils"
import { Policy, Tool, type ToolCall, ToolRegistry, ToolResult } from "@quiesce/core"
import { Context, Effect, Exit, Fiber, Layer, Schema, SchemaTransformation } from "effect"
import { z } from "zod"
import { cites } from "../../../tests/conformance/cites.ts"
import { held, makeRegistry } from "./support/registry.ts"

class NotIndexed extends Schema.TaggedError<NotIndexed>()("NotIndexed", { query: Schema.String, at: Schema.Date }) {}

/** What tools and their schemas need: it turns text into its own kind of text and back. */
class Cipher extends Context.Service<Cipher, { readonly shift: number }>()("test/Cipher") {
  static readonly Text = Schema.String.pipe(Schema.decodeTo(
    Schema.String,
    SchemaTransformation.transformEffect({
      decode: (text: string) => Effect.map(Cipher, ({ shift }) => rotate(text, -shift)),
      encode: (text: string) => Effect.map(Cipher, ({ shift }) => rotate(text, shift))
    })
  ))
}

const rotate = (text: string, by: number) => String.fromCharCode(...Array.from(text, (char) => char.charCodeAt(0) + by))

const search = Tool.make("search", {
  description: "",
  parameters: Schema.Struct({ query: Schema.String, since: Schema.DateFromString }),
  success: Schema.Array(Schema.Date),
  failure: NotIndexed,
  execute: ({ query, since }) =>
    query === "nothing"
      ? Effect.fail(new NotIndexed({ query, at: since }))
      : query === "defect"
      ? Effect.die(new NotIndexed({ query, at: since }))
      : query === "another"
      ? Effect.fail(new RangeError("another") as never)
      : Effect.succeed([since])
})

const since = "2020-01-01T00:00:00.000Z"

describe("a typed call", () => {
  it.effect(cites("takes the encoded side and yields the decoded one", "CALL-30"), () =>
    Effect.gen(function*() {
      const { call } = yield* makeRegistry([search])
      assert.deepStrictEqual(yield* call(search, { query: "a", since }), [new Date(since)])
    }))

  it.effect(
    cites("fails with what the body failed with, typed, where the tool declares it", "CALL-30"),
    () =>
      Effect.gen(function*() {
        const { call } = yield* makeRegistry([search])
        const failed = yield* Effect.flip(call(search, { query: "nothing", since }))
        assert.deepInclude(failed, { _tag: "ToolCallFailed", code: "TOOL_FAILURE", dispatched: true })
        assertEquals(failed.failure, new NotIndexed({ query: "nothing", at: new Date(since) }))
        assert.instanceOf(failed.failure, NotIndexed)
        assert.deepInclude(failed.result.error, {
          name: "NotIndexed",
          detail: { _tag: "NotIndexed", query: "nothing", at: since }
        })
        assert.match(failed.message, /search: .*\(TOOL_FAILURE\)/)
      })
  )

  it.effect(
    cites("fails without one where the body failed with something else, or not at all", "CALL-30"),
    () =>
      Effect.gen(function*() {
        const { call } = yield* makeRegistry([search])
        const another = yield* Effect.flip(call(search, { query: "another", since }))
        assert.deepInclude(another, { code: "TOOL_FAILURE", failure: undefined })
        const invalid = yield* Effect.flip(call(search, { query: "a", since: 5 as never }))
        assert.deepInclude(invalid, { code: "INVALID_ARGUMENTS", dispatched: false, failure: undefined })
        const { call: elsewhere } = yield* makeRegistry([])
        const unknown = yield* Effect.flip(elsewhere(search, { query: "a", since }))
        assert.deepInclude(unknown, { code: "UNKNOWN_TOOL", dispatched: false, failure: undefined })
      })
  )

  it.effect(cites("of a tool of promises is typed as well", "CALL-30", "PROMISE-04"), () =>
    Effect.gen(function*() {
      const tool = Tool.fromPromise("tool", {
        description: "",
        parameters: z.object({ n: z.number().default(1) }),
        success: z.object({ n: z.number() }),
        failure: z.object({ why: z.string() }),
        execute: async ({ n }) => n === 0 ? Promise.reject({ why: "zero" }) : { n }
      })
      const { call } = yield* makeRegistry([tool])
      const { n } = yield* call(tool, {})
      assert.strictEqual(n, 1)
      const { failure } = yield* Effect.flip(call(tool, { n: 0 }))
      assert.deepStrictEqual(failure, { why: "zero" })
    }))

  it.effect(
    cites("needs none of the services that the tool's schemas need", "CALL-30", "CALL-32"),
    () =>
      Effect.gen(function*() {
        const secret = Tool.make("secret", {
          description: "",
          parameters: Schema.Struct({ text: Cipher.Text }),
          success: Cipher.Text,
          failure: Schema.Struct({ text: Cipher.Text }),
          execute: ({ text }) => text === "fail" ? Effect.fail({ text: "no" }) : Effect.succeed(`${text}!`)
        })
        const registry = Context.get(
          yield* Layer.build(
            ToolRegistry.layer([secret]).pipe(Layer.provide(Layer.succeed(Cipher, { shift: 1 })))
          ),
          ToolRegistry.ToolRegistry
        )
        const result = yield* registry.execute({ callId: "c", name: "secret", arguments: { text: "ab" } })
        assert.deepInclude(result, { value: rotate("`a!", 1) })
        assert.strictEqual(yield* registry.call(secret, { text: rotate("ab", 1) }), "ab!")
        const { failure, result: failed } = yield* Effect.flip(registry.call(secret, { text: rotate("fail", 1) }))
        assert.deepStrictEqual(failed.error.detail, { text: "op" })
        assert.deepStrictEqual(failure, { text: "no" })
      })
  )

  it.effect(
    cites("has a label of its own each time, or the one it is given, and takes metadata", "CALL-33"),
    () =>
      Effect.gen(function*() {
        const seen: Array<ToolCall.Pending> = []
        const { call } = yield* makeRegistry(
          [search],
          Policy.layer({ pre: (call) => Effect.as(Effect.sync(() => seen.push(call)), Policy.allow) })
        )
        yield* call(search, { query: "a", since })
        yield* call(search, { query: "a", since })
        yield* call(search, { query: "a", since }, { callId: "mine", metadata: { n: 1 } })
        const [first, second, third] = seen
        assert.match(first!.callId, /^search-/)
        assert.notStrictEqual(first!.callId, second!.callId)
        assert.deepInclude(third, { callId: "mine", rootCallId: "mine", metadata: { n: 1 } })
      })
  )

  it.effect(cites("is cancelled by interrupting it", "CALL-18"), () =>
    Effect.gen(function*() {
      const a = held("a")
      const { call } = yield* makeRegistry([a.tool])
      const fiber = yield* Effect.forkChild(call(a.tool, {}), { startImmediately: true })
      yield* Fiber.interrupt(fiber)
      assert.isTrue(a.runs[0]!.quiet)
      assert.isTrue(Exit.hasInterrupts(yield* Fiber.await(fiber)))
    }))

  it.effect(cites("can be made through the registry in the context", "CALL-32"), () =>
    Effect.gen(function*() {
      const dates = yield* ToolRegistry.call(search, { query: "a", since }).pipe(
        Effect.provide(ToolRegistry.layer([search]))
      )
      assert.deepStrictEqual(dates, [new Date(since)])
    }))

  it.effect(
    cites("composes like any effect: one after the other, siblings that stop, a fallback", "CALL-18", "CALL-30"),
    () =>
      Effect.gen(function*() {
        const a = held("a")
        const registry = yield* makeRegistry([search, a.tool])
        const { call } = registry
        const found = yield* call(search, { query: "nothing", since }).pipe(
          Effect.catchTag("ToolCallFailed", ({ failure }) => Effect.succeed(failure === undefined ? [] : [failure.at]))
        )
        assert.deepStrictEqual(found, [new Date(since)])
        const both = yield* Effect.exit(
          Effect.all([call(a.tool, {}), call(search, { query: "nothing", since })], { concurrency: "unbounded" })
        )
        assert.isTrue(Exit.isFailure(both))
        assert.isTrue(a.runs[0]!.quiet)
        assert.deepStrictEqual(yield* registry.inFlight, [])
      })
  )
})

describe("toEffect", () => {
  it.effect("yields the value of a success, and fails with what a failed result says", () =>
    Effect.gen(function*() {
      const registry = yield* makeRegistry([search])
      const execute = (query: string) => registry.execute({ callId: "c", name: "search", arguments: { query, since } })
      assert.deepStrictEqual(yield* ToolResult.toEffect(yield* execute("a")), [since])
      const result = yield* execute("nothing")
      const failed = yield* Effect.flip(ToolResult.toEffect(result))
      assert.deepInclude(failed, {
        _tag: "ToolCallFailed",
        code: "TOOL_FAILURE",
        dispatched: true,
        result: result as ToolResult.Failure,
        failure: undefined
      })
    }))
})
