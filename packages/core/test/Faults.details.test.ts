import { assert, describe, it } from "@effect/vitest"
import { Deadline, Tool, Toolbox, ToolRegistry, Wrapper } from "@quiesce/core"
import { Effect, Layer, Schema } from "effect"
import { cites } from "../../../tests/conformance/cites.ts"
import { failureOf } from "./support/results.ts"

const parameters = Schema.Struct({})
const deep = (levels: number): unknown => levels === 0 ? 1 : { deeper: deep(levels - 1) }

describe("what a failure carries", () => {
  it.each([
    ["a code that is no number of JSON", { code: NaN }],
    ["a code of minus zero", { code: -0 }],
    ["a field as deep as JSON may be here", { data: deep(511) }],
    ["fields that are too much together", { a: Array(600_000).fill(1), b: Array(600_000).fill(1) }]
  ])(
    cites("%s loses no call: what cannot be carried is left out", "CALL-01", "CALL-21"),
    async (_, fields) => {
      const tool = Tool.fromPromise("tool", {
        description: "",
        parameters,
        success: Schema.String,
        execute: async () => {
          throw Object.assign(new RangeError("broken"), fields)
        }
      })
      await using toolbox = Toolbox.make({ tools: [tool] })
      const result = await toolbox.execute({
        callId: "a",
        name: "tool",
        arguments: {},
        signal: new AbortController().signal
      })
      const { code, message, name } = failureOf(result).error
      assert.deepStrictEqual([code, name, message], ["TOOL_FAILURE", "RangeError", "broken"])
    }
  )

  it(
    cites("a fault in every element of a large array is INVALID_ARGUMENTS all the same", "CALL-01", "CALL-19"),
    async () => {
      const tool = Tool.fromPromise("tool", {
        description: "",
        parameters: Schema.Struct({ xs: Schema.Array(Schema.Number) }),
        success: Schema.String,
        execute: () => "never"
      })
      await using toolbox = Toolbox.make({ tools: [tool] })
      const result = await toolbox.execute({
        callId: "a",
        name: "tool",
        arguments: { xs: Array(250_000).fill("x") },
        signal: new AbortController().signal
      })
      const { code, message } = failureOf(result).error
      assert.strictEqual(code, "INVALID_ARGUMENTS")
      assert.match(message, /and 249000 more$/)
    }
  )

  it.effect(
    cites("a deadline that somebody made by hand, of nothing, is the wrapper's failure", "CALL-21", "TIME-02"),
    () =>
      Effect.gen(function*() {
        const tool = Tool.make("tool", {
          description: "",
          parameters,
          success: Schema.String,
          execute: () => Effect.succeed("value")
        })
        const junk: Wrapper.Wrapper = () =>
          Effect.fail(new Deadline.DeadlineExceeded({ code: "x", timeout: null as never }))
        const result = yield* Effect.flatMap(
          ToolRegistry.ToolRegistry,
          (registry) => registry.execute({ callId: "a", name: "tool", arguments: {} })
        ).pipe(Effect.provide(Layer.provide(ToolRegistry.layer([tool]), Wrapper.layer([junk]))))
        assert.strictEqual(failureOf(result).error.code, "WRAPPER_FAILURE")
      })
  )
})
