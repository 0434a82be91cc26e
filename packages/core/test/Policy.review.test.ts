import { assert, describe, it } from "@effect/vitest"
import { type Json, Policy, Tool, type ToolCall, type ToolResult, Wrapper } from "@quiesce/core"
import { Effect, Layer, Schema } from "effect"
import { cites } from "../../../tests/conformance/cites.ts"
import { effectTool, input, makeRegistry } from "./support/registry.ts"

const text = (text: string): ReadonlyArray<ToolResult.Content> => [{ type: "text", text }]

const reviewing = (
  post: (call: ToolCall.Pending, result: ToolResult.ToolResult) => Policy.Review | Effect.Effect<Policy.Review>
) =>
  Policy.layer({
    post: (call, result) => {
      const review = post(call, result)
      return Effect.isEffect(review) ? review : Effect.succeed(review)
    }
  })

/** The result of one call of a tool that answers 1, under a post-policy. */
const reviewed = (post: Parameters<typeof reviewing>[0], body: Effect.Effect<Json, unknown> = Effect.succeed(1)) =>
  Effect.flatMap(
    makeRegistry([effectTool("a", () => body)], reviewing(post)),
    (registry) => registry.execute(input("a"))
  )

const expectFailure = (result: ToolResult.ToolResult, code: ToolResult.Code): ToolResult.Failure => {
  assert(result._tag === "Failure")
  assert.strictEqual(result.error.code, code)
  return result
}

describe("post-policy", () => {
  it.effect(cites("sees the outcome, frozen, once the body is quiet", "CALL-23"), () =>
    Effect.gen(function*() {
      const events: Array<string> = []
      const body = Effect.as(Effect.addFinalizer(() => Effect.sync(() => void events.push("quiet"))), { a: [1] })
      const seen: Array<ToolResult.ToolResult> = []
      const tool = effectTool("a", () => Effect.scoped(body))
      const registry = yield* makeRegistry(
        [tool],
        reviewing((call, result) => {
          events.push(`reviewed ${call.callId}`)
          seen.push(result)
          return Policy.accept()
        })
      )
      const result = yield* registry.execute(input("a"))
      assert.deepStrictEqual(events, ["quiet", "reviewed a"])
      assert.deepStrictEqual(seen, [result])
      assert.isFrozen(seen[0])
      assert(seen[0]?._tag === "Success")
      assert.isFrozen((seen[0].value as { readonly a: unknown }).a)
      assert.isFrozen(seen[0].contexts)
    }))

  it.effect(cites("accepts: the outcome stands", "CALL-23"), () =>
    Effect.gen(function*() {
      assert.deepInclude(yield* reviewed(() => Policy.accept()), { value: 1, content: text("1") })
      const failed = expectFailure(yield* reviewed(() => Policy.accept(), Effect.fail("no")), "TOOL_FAILURE")
      assert.strictEqual(failed.error.message, "no")
    }))

  it.effect(
    cites("replaces the content, of a success and of a failure; the value stands", "CALL-23"),
    () =>
      Effect.gen(function*() {
        const redact = () => Policy.accept({ content: text("redacted") })
        assert.deepInclude(yield* reviewed(redact), { value: 1, content: text("redacted") })
        const failed = expectFailure(yield* reviewed(redact, Effect.fail("no")), "TOOL_FAILURE")
        assert.deepStrictEqual(failed.content, text("redacted"))
        assert.isFrozen(failed.content[0])
      })
  )

  it.effect(
    cites("replaces the value, which is checked and rendered like a body's", "CALL-23"),
    () =>
      Effect.gen(function*() {
        const tool = Tool.make("dated", {
          description: "",
          parameters: Schema.Struct({}),
          success: Schema.Struct({ at: Schema.DateFromString }),
          render: ({ at }) => text(`at ${at.getUTCFullYear()}`),
          execute: () => Effect.succeed({ at: new Date(0) })
        })
        const call = (value: Json) =>
          Effect.flatMap(
            makeRegistry([tool], reviewing(() => Policy.accept({ value }))),
            (registry) => registry.execute(input("dated"))
          )
        const at = "2001-01-01T00:00:00.000Z"
        assert.deepInclude(yield* call({ at }), { value: { at }, content: text("at 2001") })
        const refused = expectFailure(yield* call({ at: 5 }), "INVALID_OUTPUT")
        assert.isTrue(refused.dispatched)
        assert.match(refused.error.message, /\$\.at/)
      })
  )

  it.effect(cites("whose new value is not JSON gives INVALID_OUTPUT", "CALL-23"), () =>
    Effect.gen(function*() {
      expectFailure(yield* reviewed(() => Policy.accept({ value: { a: NaN } })), "INVALID_OUTPUT")
      const cyclic: Record<string, unknown> = {}
      cyclic["self"] = cyclic
      expectFailure(yield* reviewed(() => Policy.accept({ value: cyclic as Json })), "INVALID_OUTPUT")
    }))

  it.effect(cites("replaces a value by null, too", "CALL-23"), () =>
    Effect.gen(function*() {
      assert.deepInclude(yield* reviewed(() => Policy.accept({ value: null })), { value: null, content: text("null") })
    }))

  it.effect(
    cites("blocks: a failure with its feedback, and what was deferred before is dropped", "CALL-23"),
    () =>
      Effect.gen(function*() {
        const tool = effectTool("a", (_, call) =>
          Effect.sync(() => {
            call.deferContext("the body's")
            call.declareResidue({ kind: "process", detail: "pid 7" })
            return 1
          }))
        const registry = yield* makeRegistry(
          [tool],
          reviewing(() => Policy.block("not for you", { contexts: ["the policy's"] }))
        )
        const blocked = expectFailure(yield* registry.execute(input("a")), "BLOCKED")
        assert.deepInclude(blocked, {
          dispatched: true,
          contexts: ["the policy's"],
          content: text("Error: not for you")
        })
        assert.strictEqual(blocked.error.message, "not for you")
        // What may still be alive is said all the same: a block withholds content, not facts.
        assert.deepStrictEqual(blocked.residue, [{ kind: "process", detail: "pid 7" }])
      })
  )

  it.effect(cites("blocks a failure as well", "CALL-23"), () =>
    Effect.gen(function*() {
      expectFailure(yield* reviewed(() => Policy.block("no"), Effect.fail("secret")), "BLOCKED")
    }))

  const misuses: ReadonlyArray<readonly [misuse: string, review: unknown, body?: Effect.Effect<Json, unknown>]> = [
    ["gives a failure a value", Policy.accept({ value: 1 }), Effect.fail("no")],
    ["gives a failure the value null", Policy.accept({ value: null }), Effect.fail("no")],
    ["replaces value and content at once", { _tag: "Accept", value: 1, content: text("1") }],
    ["returns nothing", undefined],
    ["returns something that is no review", { _tag: "Allow" }],
    ["gives content that is no content", { _tag: "Accept", content: [{ type: "image" }] }],
    ["gives content that is no list", { _tag: "Accept", content: "text" }],
    ["gives contexts that are not JSON", { _tag: "Accept", contexts: [() => 1] }],
    ["gives contexts that are no list", { _tag: "Block", feedback: "", contexts: 5 }]
  ]
  it.effect.each(misuses)(
    cites("that %s is a POLICY_FAILURE", "CALL-23"),
    ([, review, body]) =>
      Effect.gen(function*() {
        const result = yield* reviewed(() => Effect.succeed(review as Policy.Review), body)
        expectFailure(result, "POLICY_FAILURE")
        assert.isTrue(result.dispatched)
      })
  )
})

describe("deferred contexts", () => {
  const body = effectTool("a", (json, call) =>
    Effect.suspend(() => {
      call.deferContext("body 1")
      call.deferContext({ body: 2 })
      return json === "fail" ? Effect.fail("no") : Effect.succeed(1)
    }))
  const wrappers = Wrapper.layer([
    (next) => Effect.andThen(Wrapper.deferContext("outer, before"), next),
    (next) => Effect.tap(next, () => Wrapper.deferContext("inner, after"))
  ])
  const post = reviewing(() => Policy.accept({ contexts: ["post"] }))

  it.effect(
    cites("come in the order body, wrapper, post, whoever spoke first", "CALL-23"),
    () =>
      Effect.gen(function*() {
        const registry = yield* makeRegistry([body], wrappers, post)
        const result = yield* registry.execute(input("a"))
        assert.deepStrictEqual(result.contexts, ["body 1", { body: 2 }, "outer, before", "inner, after", "post"])
        assert.isFrozen(result.contexts)
      })
  )

  it.effect(cites("stay on a failure", "CALL-23"), () =>
    Effect.gen(function*() {
      const registry = yield* makeRegistry([body], wrappers, post)
      const result = yield* registry.execute(input("a", "a", "fail"))
      expectFailure(result, "TOOL_FAILURE")
      assert.deepStrictEqual(result.contexts, ["body 1", { body: 2 }, "outer, before", "post"])
    }))

  it.effect(cites("stay on a cancellation, a misuse and a denial", "CALL-08", "CALL-23"), () =>
    Effect.gen(function*() {
      const endless = effectTool("a", (_, call) =>
        Effect.andThen(Effect.sync(() => call.deferContext("body")), Effect.never))
      const registry = yield* makeRegistry([endless], wrappers, post)
      const call = yield* registry.start(input("a"))
      yield* call.cancel()
      assert.deepStrictEqual((yield* call.result).contexts, ["body", "outer, before", "post"])

      const misused = yield* makeRegistry(
        [body],
        reviewing(() =>
          ({ _tag: "Accept", content: "no" }) as never
        )
      )
      assert.deepStrictEqual((yield* misused.execute(input("a"))).contexts, ["body 1", { body: 2 }])

      const denied = yield* makeRegistry(
        [body],
        Policy.layer({
          pre: () => Effect.succeed(Policy.deny("no")),
          post: () => Effect.succeed(Policy.accept({ contexts: ["post"] }))
        })
      )
      assert.deepStrictEqual((yield* denied.execute(input("a"))).contexts, ["post"])
    }))

  it.effect(cites("that are not JSON are refused where they are given", "CALL-23"), () =>
    Effect.gen(function*() {
      const tool = effectTool("a", (_, call) => Effect.sync(() => call.deferContext(new Date(0) as never) as never))
      const registry = yield* makeRegistry([tool])
      const refused = expectFailure(yield* registry.execute(input("a")), "TOOL_FAILURE")
      assert.match(refused.error.message, /not JSON/)
      const wrapped = yield* makeRegistry(
        [body],
        Wrapper.layer([(next) => Effect.andThen(Wrapper.deferContext(undefined as never), next)])
      )
      expectFailure(yield* wrapped.execute(input("a")), "WRAPPER_FAILURE")
    }))

  it.effect(
    cites("are copies: what the body does with its own later changes nothing", "CALL-23"),
    () =>
      Effect.gen(function*() {
        const context = { list: [1] }
        const tool = effectTool("a", (_, call) =>
          Effect.sync(() => {
            call.deferContext(context)
            context.list.push(2)
            return 1
          }))
        const registry = yield* makeRegistry([tool])
        assert.deepStrictEqual((yield* registry.execute(input("a"))).contexts, [{ list: [1] }])
      })
  )
})

describe("Policy.sequence", () => {
  const post = (name: string, review: Policy.Review): Policy.Policy => ({
    post: (_, result) => Effect.as(Effect.sync(() => seen.push([name, result])), review)
  })
  let seen: Array<readonly [string, ToolResult.ToolResult]> = []
  const run = (...policies: ReadonlyArray<Policy.Policy>) =>
    Effect.suspend(() => {
      seen = []
      return Effect.flatMap(
        makeRegistry([effectTool("a", () => Effect.succeed({ n: 1 }))], Policy.layer(Policy.sequence(...policies))),
        (registry) => registry.execute(input("a"))
      )
    })
  const valueOf = (result: ToolResult.ToolResult) => result._tag === "Success" ? result.value : result.error.code

  it.effect(
    cites("shows each review what the ones before made of the outcome", "CALL-23"),
    () =>
      Effect.gen(function*() {
        const result = yield* run(
          post("first", Policy.accept({ value: { n: 2 }, contexts: ["first"] })),
          post("second", Policy.accept({ contexts: ["second"] })),
          post("third", Policy.accept({ content: text("third") })),
          {},
          post("fourth", Policy.accept())
        )
        assert.deepStrictEqual(seen.map(([name]) => name), ["first", "second", "third", "fourth"])
        assert.deepStrictEqual(seen.map(([, result]) => valueOf(result)), [{ n: 1 }, { n: 2 }, { n: 2 }, { n: 2 }])
        assert.deepStrictEqual(seen[3]![1].content, text("third"))
        assert.deepInclude(result, { value: { n: 2 }, content: text("third"), contexts: ["first", "second"] })
      })
  )

  it.effect(
    cites("lets a later value replace a content that was written for an earlier one", "CALL-23"),
    () =>
      Effect.gen(function*() {
        const result = yield* run(
          post("first", Policy.accept({ content: text("about n = 1") })),
          post("second", Policy.accept({ value: { n: 2 } }))
        )
        assert.deepInclude(result, { value: { n: 2 }, content: text("{\"n\":2}") })
      })
  )

  it.effect(cites("ends with the first block, whose contexts alone are kept", "CALL-23"), () =>
    Effect.gen(function*() {
      const result = yield* run(
        post("first", Policy.accept({ contexts: ["first"] })),
        post("second", Policy.block("no", { contexts: ["second"] })),
        post("third", Policy.accept())
      )
      assert.deepStrictEqual(seen.map(([name]) => name), ["first", "second"])
      expectFailure(result, "BLOCKED")
      assert.deepStrictEqual(result.contexts, ["second"])
    }))

  it.effect(
    cites("of policies that only decide reviews nothing, and the other way round", "CALL-23"),
    () =>
      Effect.sync(() => {
        const decides: Policy.Policy = { pre: () => Effect.succeed(Policy.allow) }
        assert.isUndefined(Policy.sequence(decides, {}).post)
        assert.isUndefined(Policy.sequence(post("", Policy.accept())).pre)
      })
  )
})

describe("a policy of promise functions", () => {
  it.effect(cites("reviews like any other", "CALL-23"), () =>
    Effect.gen(function*() {
      const policy = Policy.fromPromise({
        post: async (call, result, signal) => {
          assert.isFalse(signal.aborted)
          return result._tag === "Success" ? Policy.accept({ value: `${call.name} answered` }) : Policy.block("no")
        }
      })
      const registry = yield* makeRegistry(
        [effectTool("a", () => Effect.succeed(1)), effectTool("b", () => Effect.fail(1))],
        Layer.mergeAll(Policy.layer(policy))
      )
      assert.deepInclude(yield* registry.execute(input("a")), { value: "a answered" })
      expectFailure(yield* registry.execute(input("b")), "BLOCKED")
    }))

  it.effect(
    cites("that rejects is a POLICY_FAILURE, with what it rejected with", "CALL-21", "CALL-23"),
    () =>
      Effect.gen(function*() {
        const policy = Policy.fromPromise({ post: () => Promise.reject(new RangeError("too far")) })
        const registry = yield* makeRegistry([effectTool("a", () => Effect.succeed(1))], Policy.layer(policy))
        const failed = expectFailure(yield* registry.execute(input("a")), "POLICY_FAILURE")
        assert.deepInclude(failed.error, { name: "RangeError", message: "too far" })
      })
  )
})
