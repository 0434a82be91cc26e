import { assert, describe, it } from "@effect/vitest"
import { Tool } from "@quiesce/core"
import { type Duration, Effect, Schema, SchemaTransformation } from "effect"
import { TestClock } from "effect/testing"
import { z } from "zod"
import { cites } from "../../../tests/conformance/cites.ts"
import * as Faces from "./support/faces.ts"
import * as Gate from "./support/Gate.ts"
import { AnyJson } from "./support/registry.ts"
import { codeOf, failureOf } from "./support/results.ts"

/** What a body fails with: its schema publishes the reason, and nothing else of it. */
class Refused {
  readonly _tag = "Refused"
  readonly secret = "the password"
  readonly why: unknown
  constructor(why: unknown) {
    this.why = why
  }
}

/** Writes the reason, by way of `write`. */
const publishing = (write: (why: string) => Effect.Effect<string, never>) =>
  Schema.Struct({
    why: Schema.String.pipe(Schema.decodeTo(
      Schema.String,
      SchemaTransformation.transformEffect({ decode: (text: string) => Effect.succeed(text), encode: write })
    ))
  })

/** One tool in both ways to write its body: it waits for `gate` where there is one, whatever happens, and then fails. */
const make: ReadonlyArray<
  readonly [
    body: string,
    make: (options: {
      readonly failure: Tool.Shape
      readonly gate?: Gate.Gate<void>
      readonly timeout?: Duration.Input
      readonly error?: unknown
    }) => Tool.AnyNoServices
  ]
> = [
  ["an effect", ({ error = new Refused("closed"), gate, ...options }) =>
    Tool.make("tool", {
      description: "",
      parameters: AnyJson,
      success: AnyJson,
      ...options,
      execute: () => Effect.uninterruptible(Effect.andThen(gate?.hold ?? Effect.void, Effect.fail(error)))
    }) as Tool.AnyNoServices],
  ["a promise function", ({ error = new Refused("closed"), gate, ...options }) =>
    Tool.fromPromise("tool", {
      description: "",
      parameters: AnyJson,
      success: AnyJson,
      ...options,
      execute: async () => {
        await gate?.promise()
        throw error
      }
    }) as Tool.AnyNoServices]
]

describe.each(make)("the failure schema of a tool whose body is %s", (_, make) => {
  const run = Effect.fnUntraced(function*(tool: Tool.AnyNoServices) {
    const host = yield* Faces.start.open({ tools: [tool], wrappers: [(next) => next] })
    return yield* host.call("tool")
  })

  it.effect.each(
    [
      ["refuses it", Schema.Struct({ why: Schema.Number })],
      [
        "throws",
        publishing(() => {
          throw new Error("no")
        })
      ],
      ["dies", publishing(() => Effect.die("no"))],
      ["goes on with what is no effect", publishing(() => Effect.flatMap(Effect.yieldNow, () => 3 as never))],
      ["writes what is no JSON", z.custom<Refused>()],
      ["is not that of a defect", Schema.Struct({ code: Schema.Number })]
    ] as const
  )(
    cites("publishes nothing of a failure where it %s", "CALL-21"),
    ([, failure]) =>
      Effect.gen(function*() {
        const call = yield* run(make({ failure, error: Object.assign(new Refused("closed"), { date: new Date(0) }) }))
        const { error } = failureOf(yield* call.result)
        assert.deepStrictEqual(error, { code: "TOOL_FAILURE", name: "Refused", message: "Refused" })
      })
  )

  it.effect(cites("may wait: the call is over when it has written", "CALL-07"), () =>
    Effect.gen(function*() {
      const gate = Gate.make<string>()
      const call = yield* run(make({ failure: publishing((why) => Effect.map(gate.wait, (it) => `${why}, ${it}`)) }))
      yield* gate.reached
      yield* TestClock.adjust("1 hour")
      assert.isFalse(call.isOver())
      yield* gate.open("for good")
      assert.deepStrictEqual(failureOf(yield* call.result).error.detail, { why: "closed, for good" })
    }))

  it.effect(
    cites("is interrupted with the call while it waits, and awaited: the failure stays", "CALL-07", "CALL-09"),
    () =>
      Effect.gen(function*() {
        const gate = Gate.make<string>()
        const end = Gate.make()
        const failure = publishing(() => Effect.onInterrupt(gate.wait, () => end.hold))
        const call = yield* run(make({ failure }))
        yield* gate.reached
        yield* call.cancel
        yield* end.reached
        assert.strictEqual(gate.counts.interruptions, 1)
        assert.isFalse(call.isOver())
        yield* end.open()
        const { error } = failureOf(yield* call.result)
        assert.deepStrictEqual(error, { code: "TOOL_FAILURE", name: "Refused", message: "Refused" })
      })
  )

  it.effect.each(
    [
      ["writes at once", (why: string) => Effect.succeed(why), { why: "closed" }],
      ["has no time to wait", () => Effect.never, undefined]
    ] as const
  )(
    cites("of a call that is being cancelled %s", "CALL-09"),
    ([, write, detail]) =>
      Effect.gen(function*() {
        const gate = Gate.make()
        const call = yield* run(make({ failure: publishing(write), gate }))
        yield* gate.reached
        yield* call.cancel
        yield* gate.open()
        const { error } = failureOf(yield* call.result)
        assert.strictEqual(error.code, "TOOL_FAILURE")
        assert.deepStrictEqual(error.detail, detail)
      })
  )

  it.effect(cites("is interrupted by the tool's own deadline, like the body", "TIME-03"), () =>
    Effect.gen(function*() {
      const call = yield* run(make({ failure: publishing(() => Effect.never), timeout: "1 second" }))
      yield* TestClock.adjust("1 second")
      assert.strictEqual(codeOf(yield* call.result), "TOOL_TIMEOUT")
    }))
})
