import { assert, describe, it } from "@effect/vitest"
import { Policy, Tool, type ToolResult, type Wrapper } from "@quiesce/core"
import { Effect, Schema, SchemaTransformation } from "effect"
import { cites } from "../../../tests/conformance/cites.ts"
import * as Faces from "./support/faces.ts"
import * as Gate from "./support/Gate.ts"
import { AnyJson, effectTool } from "./support/registry.ts"
import { codeOf, failureOf } from "./support/results.ts"

/**
 * An effect that goes on with what is no effect, as JavaScript or a cast can. Effect ends the fiber that meets it right
 * there: no handler and no finalizer of that fiber runs.
 */
const goesOn: ReadonlyArray<readonly [when: string, effect: Effect.Effect<never>]> = [
  ["at once", Effect.flatMap(Effect.void, () => 3 as never)],
  ["after a wait", Effect.flatMap(Effect.yieldNow, () => 3 as never)],
  [
    "past its handlers",
    Effect.catchCause(Effect.ensuring(Effect.flatMap(Effect.void, () => 3 as never), Effect.void), Effect.die)
  ]
]

/** A schema whose one direction goes on so. */
const stray = (effect: Effect.Effect<never>, direction: "decode" | "encode") =>
  Schema.String.pipe(Schema.decodeTo(
    Schema.String,
    SchemaTransformation.transformEffect({
      decode: (text: string) => direction === "decode" ? effect : Effect.succeed(text),
      encode: (text: string) => direction === "encode" ? effect : Effect.succeed(text)
    })
  ))

const typed = (schemas: { readonly parameters?: Tool.Shape; readonly success?: Tool.Shape }) =>
  Tool.make("tool", {
    description: "",
    parameters: AnyJson,
    success: AnyJson,
    ...schemas,
    execute: () => Effect.succeed("done")
  }) as Tool.AnyNoServices

const plain = effectTool("tool", () => Effect.succeed("done"))
const asks: Policy.Policy = { pre: () => Effect.succeed(Policy.ask()) }

const stages: ReadonlyArray<
  readonly [stage: string, code: ToolResult.Code, parts: (effect: Effect.Effect<never>) => Faces.Parts]
> = [
  ["pre-policy", "POLICY_FAILURE", (effect) => ({ tools: [plain], policy: { pre: () => effect } })],
  ["decoder", "INVALID_ARGUMENTS", (effect) => ({ tools: [typed({ parameters: stray(effect, "decode") })] })],
  ["approval channel", "DENIED", (effect) => ({ tools: [plain], policy: asks, approval: { ask: () => effect } })],
  ["outermost wrapper", "WRAPPER_FAILURE", (effect) => ({ tools: [plain], wrappers: [() => effect] })],
  ["inner wrapper", "WRAPPER_FAILURE", (effect) => ({ tools: [plain], wrappers: [(next) => next, () => effect] })],
  ["body", "TOOL_FAILURE", (effect) => ({ tools: [effectTool("tool", () => effect)] })],
  ["encoder", "INVALID_OUTPUT", (effect) => ({ tools: [typed({ success: stray(effect, "encode") })] })],
  ["encoder inside a wrapper", "INVALID_OUTPUT", (effect) => ({
    tools: [typed({ success: stray(effect, "encode") })],
    wrappers: [(next) => next]
  })],
  ["decoder of what a wrapper made up", "INVALID_OUTPUT", (effect) => ({
    tools: [typed({ success: stray(effect, "decode") })],
    wrappers: [() => Effect.succeed("mine")]
  })],
  ["post-policy", "POLICY_FAILURE", (effect) => ({ tools: [plain], policy: { post: () => effect } })],
  ["channel and then post-policy", "POLICY_FAILURE", (effect) => ({
    tools: [plain],
    policy: { ...asks, post: () => effect },
    approval: { ask: () => effect }
  })]
]

describe.each(goesOn)("a stage that goes on with what is no effect, %s", (_, effect) => {
  it.effect.each(stages)(
    cites("fails its call and no other, under its own code: %s", "CALL-01", "CALL-21"),
    ([, code, parts]) =>
      Effect.gen(function*() {
        for (const face of Faces.registryFaces) {
          const host = yield* face.open(parts(effect))
          for (const callId of ["first", "second"]) {
            const call = yield* host.call("tool", { callId, arguments: "any" })
            assert.strictEqual(codeOf(yield* call.result), code, face.name)
          }
          assert.deepStrictEqual(yield* host.inFlight, [])
          assert.lengthOf(host.published, 2)
        }
      })
  )
})

const goOn: Effect.Effect<never> = Effect.flatMap(Effect.void, () => 3 as never)

it.effect(
  cites("a channel that goes on with what is no effect denies, and the denial is reviewed", "CALL-22"),
  () =>
    Effect.gen(function*() {
      const reviewed: Array<string> = []
      const host = yield* Faces.start.open({
        tools: [plain],
        policy: {
          ...asks,
          post: (_, result) => Effect.as(Effect.sync(() => reviewed.push(codeOf(result))), Policy.accept())
        },
        approval: { ask: () => goOn }
      })
      const call = yield* host.call("tool")
      assert.strictEqual(codeOf(yield* call.result), "DENIED")
      assert.deepStrictEqual(reviewed, ["DENIED"])
    })
)

/** Wrappers of which one leaves its `next` running on another fiber, and then goes on with what is no effect. */
const leaves: Wrapper.Wrapper = (next) =>
  Effect.flatMap(Effect.forkDetach(next, { startImmediately: true }), () => 3 as never)
const lists: ReadonlyArray<readonly [where: string, wrappers: ReadonlyArray<Wrapper.Wrapper>]> = [
  ["the outermost", [leaves]],
  ["an inner one", [(next) => next, leaves]]
]

it.effect.each(lists)(
  cites("what a wrapper leaves running so is interrupted and awaited before anybody reviews the call: %s", "CALL-07"),
  ([, wrappers]) =>
    Effect.gen(function*() {
      const body = Gate.make<string>()
      const marks: Array<string> = []
      const host = yield* Faces.start.open({
        tools: [effectTool("tool", () => Effect.ensuring(body.hold, Effect.sync(() => marks.push("quiet"))))],
        wrappers,
        policy: { post: () => Effect.as(Effect.sync(() => marks.push("reviewed")), Policy.accept()) },
        observers: [() => Effect.sync(() => void marks.push("published"))]
      })
      const call = yield* host.call("tool")
      yield* body.reached
      assert.isFalse(call.isOver())
      assert.deepStrictEqual(marks, [])
      yield* body.open("late")
      assert.strictEqual(codeOf(yield* call.result), "WRAPPER_FAILURE")
      assert.deepStrictEqual(marks, ["quiet", "published"])
    })
)

it.effect(
  cites("what a wrapper leaves to be run later so is never run: the call is over", "CALL-07"),
  () =>
    Effect.gen(function*() {
      const gate = Gate.make()
      const bodies: Array<string> = []
      const later: Wrapper.Wrapper = (next) =>
        Effect.flatMap(
          Effect.forkDetach(Effect.andThen(gate.wait, next), { startImmediately: true }),
          () => 3 as never
        )
      const body = Effect.sync(() => {
        bodies.push("ran")
        return null
      })
      const host = yield* Faces.start.open({ tools: [effectTool("tool", () => body)], wrappers: [later] })
      const result = failureOf(yield* (yield* host.call("tool")).result)
      assert.isFalse(result.dispatched)
      yield* gate.open()
      yield* Effect.yieldNow
      assert.deepStrictEqual(bodies, [])
    })
)

it.effect(
  cites("such a call counts as not admitted where it was not", "CALL-01", "CALL-21"),
  () =>
    Effect.gen(function*() {
      const registry = yield* Faces.registry({ tools: [plain], policy: { pre: () => goOn } })
      const call = yield* registry.start({ callId: "a", name: "tool", arguments: {} })
      assert.isFalse(yield* call.admitted)
      const next = yield* registry.start({ callId: "b", name: "none", arguments: {} })
      assert.isFalse(yield* next.admitted)
      assert.strictEqual(codeOf(yield* call.result), "POLICY_FAILURE")
    })
)

it.effect.each(goesOn)(
  cites("contexts stay when a later post-policy goes on with what is no effect, %s", "CALL-23"),
  ([, effect]) =>
    Effect.gen(function*() {
      const tool = effectTool("tool", (_, call) => Effect.sync(() => (call.deferContext("of the body"), "done")))
      const attach: Policy.Post = () => Effect.succeed(Policy.accept({ contexts: ["of a review"] }))
      const host = yield* Faces.start.open({
        tools: [tool],
        policy: Policy.sequence({ post: attach }, { post: () => effect })
      })
      const result = failureOf(yield* (yield* host.call("tool")).result)
      assert.strictEqual(result.error.code, "POLICY_FAILURE")
      assert.deepStrictEqual(result.contexts, ["of the body", "of a review"])
    })
)

it.effect.each(goesOn)(
  cites("a body that goes on with what is no effect, %s, is over once its scope is closed", "CALL-07", "CALL-31"),
  ([, effect]) =>
    Effect.gen(function*() {
      const gate = Gate.make()
      const tool = Tool.make("tool", {
        description: "",
        parameters: AnyJson,
        success: AnyJson,
        execute: () => Effect.andThen(Effect.acquireRelease(Effect.void, () => gate.hold), effect)
      }) as Tool.AnyNoServices
      const host = yield* Faces.start.open({ tools: [tool] })
      const call = yield* host.call("tool")
      yield* gate.reached
      assert.isFalse(call.isOver())
      yield* gate.open()
      assert.strictEqual(codeOf(yield* call.result), "TOOL_FAILURE")
    })
)
