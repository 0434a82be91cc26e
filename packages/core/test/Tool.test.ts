import { assert, describe, it } from "@effect/vitest"
import { type Json, Tool, Toolbox, type ToolResult } from "@quiesce/core"
import { Duration, Effect, Schema } from "effect"
import { z } from "zod"
import { cites } from "../../../tests/conformance/cites.ts"
import { input, makeRegistry } from "./support/registry.ts"

/** Defines a tool with one part of its definition replaced by anything. */
const define = (part: { readonly [name: string]: unknown }, name: unknown = "tool") =>
  Tool.make(name as string, {
    description: "",
    parameters: Schema.Struct({}),
    success: Schema.String,
    execute: () => Effect.succeed(""),
    ...part
  })

const refused = (define: () => unknown): Tool.InvalidTool => {
  try {
    define()
  } catch (thrown) {
    assert.instanceOf(thrown, Tool.InvalidTool)
    return thrown
  }
  return assert.fail("the definition was accepted")
}

class Opaque {
  readonly field = 1
}

/** A Standard Schema by hand, as a library would make it. */
const standard = (
  validate: (value: unknown) => unknown,
  jsonSchema: (() => unknown) | null = () => ({ $schema: "https://json-schema.org/…", type: "object" })
) =>
  ({
    "~standard": { version: 1, vendor: "by hand", validate, jsonSchema: jsonSchema && { input: jsonSchema } }
  }) as unknown as z.ZodType
const StandardObject = z.object({ n: z.number() })

describe("a definition", () => {
  it.each(["", " ", "\n\t", null, 5, {}, Symbol("s")])("without a name is refused: %j", (name) => {
    assert.match(refused(() => define({}, name)).reason, /name is empty/)
  })

  it.each([0, -1, NaN, Infinity, -Infinity, 2 ** 31, "0 seconds", "-5 seconds", Duration.infinity, {}])(
    cites("with a budget that is not positive, finite and below 2^31 ms is refused: %s", "TIME-05"),
    (timeout) => {
      assert.match(refused(() => define({ timeout })).reason, /timeout/)
    }
  )

  it.each(["soon", "5 fortnights", null, true])(
    cites("with a budget that is no duration is refused: %s", "TIME-05"),
    (timeout) => {
      assert.match(refused(() => define({ timeout })).reason, /timeout: .*Invalid/)
    }
  )

  it.each([1, 0.5, 2 ** 31 - 1, "5 seconds", Duration.minutes(1)])(
    cites("with a budget a timer can count is accepted, and no model sees it: %s", "TIME-05"),
    (timeout) => {
      assert.deepStrictEqual(define({ timeout }).inputSchema, { type: "object", properties: {} })
    }
  )

  it("of every kind is held to the same", () => {
    refused(() =>
      Tool.fromPromise("", { description: "", parameters: StandardObject, success: z.string(), execute: () => "" })
    )
    refused(() => Tool.raw("", { description: "", inputSchema: {}, execute: () => Effect.succeed(null) }))
    refused(() =>
      Tool.raw("raw", { description: "", inputSchema: {}, timeout: 0, execute: () => Effect.succeed(null) })
    )
  })

  it.each([
    ["a class that does not say how it is JSON", Schema.instanceOf(Opaque)],
    [
      "a field of such a class",
      Schema.Struct({ a: Schema.Array(Schema.optionalKey(Schema.instanceOf(Opaque))) as never })
    ],
    ["a collection of such a class", Schema.ReadonlyMap(Schema.String, Schema.instanceOf(Opaque))],
    ["a zod type that is not JSON", z.object({ at: z.date() })],
    ["a Standard Schema that knows no JSON Schema", standard((value) => ({ value }), null)],
    ["a Standard Schema whose JSON Schema is nothing", standard((value) => ({ value }), () => undefined)],
    [
      "a Standard Schema whose JSON Schema throws",
      standard((value) => ({ value }), () => {
        throw new Error("no")
      })
    ],
    ["no schema at all", {}],
    ["nothing", undefined]
  ])(cites("whose parameters have no JSON Schema is refused: %s", "PROMISE-04"), (_, parameters) => {
    const { name, reason } = refused(() => define({ parameters }, "its name"))
    assert.strictEqual(name, "its name")
    assert.match(reason, /its parameters/)
  })

  it.each([["success", {}], ["success", null], ["failure", 5]])(
    cites("with something that is no schema is refused: its %s is %j", "PROMISE-04"),
    (part, schema) => {
      assert.match(refused(() => define({ [part]: schema })).reason, new RegExp(`its ${part}`))
    }
  )
})

interface Tree {
  readonly value: number
  readonly children: ReadonlyArray<Tree>
}
const Tree = Schema.Struct({
  value: Schema.Number,
  children: Schema.Array(Schema.suspend((): Schema.Codec<Tree> => Tree as unknown as Schema.Codec<Tree>))
}).annotate({ identifier: "Tree" })

describe("what a model is shown of the parameters", () => {
  const described: ReadonlyArray<
    readonly [what: string, parameters: Schema.Codec<any, any> | z.ZodType, schema: Json, takes: Json, refuses: Json]
  > = [
    [
      "a number is no text",
      Schema.Struct({ n: Schema.Number }),
      {
        type: "object",
        properties: { n: { type: "number" } },
        required: ["n"],
        additionalProperties: true
      },
      { n: 1 },
      { n: "Infinity" }
    ],
    [
      "nor is one among others",
      Schema.Struct({ n: Schema.NullOr(Schema.Union([Schema.Number, Schema.Boolean])) }),
      {
        type: "object",
        properties: { n: { anyOf: [{ type: "number" }, { type: "boolean" }, { type: "null" }] } },
        required: ["n"],
        additionalProperties: true
      },
      { n: null },
      { n: "NaN" }
    ],
    [
      "nor is one beside any JSON",
      Schema.Struct({ n: Schema.Number, any: Schema.Json }),
      {
        type: "object",
        properties: { n: { type: "number" }, any: {} },
        required: ["n", "any"],
        additionalProperties: true
      },
      { n: 1, any: [null] },
      { n: "NaN", any: 1 }
    ],
    [
      "an optional field is absent and not null",
      Schema.Struct({ a: Schema.optional(Schema.String) }),
      {
        type: "object",
        properties: { a: { type: "string" } },
        additionalProperties: true
      },
      {},
      { a: null }
    ],
    [
      "a field that may be null is shown so",
      Schema.Struct({ a: Schema.optional(Schema.NullOr(Schema.String)) }),
      {
        type: "object",
        properties: { a: { anyOf: [{ type: "string" }, { type: "null" }] } },
        additionalProperties: true
      },
      { a: null },
      { a: 1 }
    ],
    ["no parameters are an object", Schema.Struct({}), { type: "object", properties: {} }, {}, null],
    [
      "a field named like a keyword is a field",
      Schema.Struct({ not: Schema.Null, $ref: Schema.Struct({}) }),
      {
        type: "object",
        properties: { not: { type: "null" }, $ref: { type: "object", properties: {} } },
        required: ["not", "$ref"],
        additionalProperties: true
      },
      { not: null, $ref: {} },
      { not: 1, $ref: {} }
    ],
    [
      "what is not JSON is described as it is written",
      Schema.Struct({ at: Schema.DateFromString, big: Schema.BigInt }),
      {
        type: "object",
        properties: { at: { type: "string" }, big: { type: "string", pattern: "^-?\\d+$" } },
        required: ["at", "big"],
        additionalProperties: true
      },
      { at: "2020-01-01", big: "1" },
      { at: "2020-01-01", big: 1 }
    ],
    [
      "a name for the whole does not hide that it is an object",
      Schema.Struct({ a: Schema.String }).annotate({
        identifier: "Named"
      }),
      {
        type: "object",
        properties: { a: { type: "string" } },
        required: ["a"],
        additionalProperties: true
      },
      { a: "" },
      {}
    ],
    [
      "a recursive schema keeps its definition",
      Tree,
      {
        type: "object",
        properties: { value: { type: "number" }, children: { type: "array", items: { $ref: "#/$defs/Tree" } } },
        required: ["value", "children"],
        additionalProperties: true,
        $defs: {
          Tree: {
            type: "object",
            properties: { value: { type: "number" }, children: { type: "array", items: { $ref: "#/$defs/Tree" } } },
            required: ["value", "children"],
            additionalProperties: true
          }
        }
      },
      { value: 1, children: [{ value: 2, children: [] }] },
      { value: 1, children: [{ value: "Infinity", children: [] }] }
    ],
    [
      "a zod schema describes itself, by its input",
      z.object({ n: z.number().default(1), s: z.string().transform(Number) }),
      {
        type: "object",
        properties: { n: { type: "number", default: 1 }, s: { type: "string" } },
        required: ["s"]
      },
      { s: "1" },
      { s: 1 }
    ],
    [
      "a Standard Schema by hand does so, too",
      standard((value) => value === null ? { issues: [{ message: "null" }] } : { value }),
      {
        type: "object"
      },
      {},
      null
    ]
  ]

  it.effect.each(described)(
    cites("%s, and the decoder takes what it says", "PROMISE-04"),
    ([, parameters, schema, takes, refuses]) =>
      Effect.gen(function*() {
        const tool = Tool.fromPromise("tool", {
          description: "",
          parameters,
          success: Schema.Null,
          execute: () => null
        })
        const registry = yield* makeRegistry([tool])
        assert.deepStrictEqual(tool.inputSchema, schema as never)
        assert.deepStrictEqual(yield* registry.schemas, [{
          name: "tool",
          description: "",
          inputSchema: schema as never
        }])
        assert.strictEqual((yield* registry.execute(input("tool", "", takes)))._tag, "Success")
        const result = yield* registry.execute(input("tool", "", refuses))
        assert(result._tag === "Failure")
        assert.strictEqual(result.error.code, "INVALID_ARGUMENTS")
      })
  )
})

describe("arguments that a schema refuses", () => {
  const issues = (result: ToolResult.ToolResult) => {
    assert(result._tag === "Failure")
    assert.strictEqual(result.error.code, "INVALID_ARGUMENTS")
    return (result.error.detail as unknown as {
      readonly issues: ReadonlyArray<{ readonly path: Json; readonly message: string }>
    }).issues
  }
  const call = (parameters: Schema.Codec<any, any> | z.ZodType, args: unknown) =>
    Effect.promise(() => {
      const tool = Tool.fromPromise("tool", { description: "", parameters, success: z.null(), execute: () => null })
      return Toolbox.make({ tools: [tool] }).execute({
        ...input("tool", "", args),
        signal: new AbortController().signal
      })
    })

  const wrong = { list: [{ n: 1 }, { n: "two" }, {}] }
  it.effect.each(
    [
      ["an Effect Schema", Schema.Struct({ list: Schema.Array(Schema.Struct({ n: Schema.Number })) })],
      ["zod", z.object({ list: z.array(z.object({ n: z.number() })) })]
    ] as const
  )(
    cites("of %s are told with every issue and its path", "CALL-19", "PROMISE-04"),
    ([, parameters]) =>
      Effect.gen(function*() {
        const result = yield* call(parameters, wrong)
        assert.deepStrictEqual(issues(result).map(({ path }) => path), [["list", 1, "n"], ["list", 2, "n"]])
        assert(result._tag === "Failure")
        assert.match(result.error.message, /\$\.list\[1\]\.n: .*; \$\.list\[2\]\.n: /)
      })
  )

  it.effect(
    cites("of a Standard Schema may come late, and have segments of any kind", "PROMISE-04"),
    () =>
      Effect.gen(function*() {
        const symbol = Symbol("s")
        const parameters = standard(async () => ({
          issues: [{ message: "deep", path: [{ key: "a" }, { key: 0 }, "b", 1, symbol] }, { message: "whole" }]
        }))
        assert.deepStrictEqual(issues(yield* call(parameters, {})), [
          { path: ["a", 0, "b", 1, "Symbol(s)"], message: "deep" },
          { path: [], message: "whole" }
        ])
      })
  )

  it.effect(
    cites("by throwing or by answering nonsense are refused all the same", "PROMISE-04"),
    () =>
      Effect.gen(function*() {
        const answers: ReadonlyArray<(value: unknown) => unknown> = [
          () => {
            throw new Error("no")
          },
          () => Promise.reject(new Error("no")),
          () => undefined,
          () => 5,
          () => ({}),
          () => ({ issues: "many" })
        ]
        for (const answer of answers) assert.isNotEmpty(issues(yield* call(standard(answer), {})))
      })
  )
})

describe("a schema that changes what it takes", () => {
  it.effect(
    cites("gives the body the decoded side, and the result the encoded one", "PROMISE-04"),
    () =>
      Effect.gen(function*() {
        const bodies: Array<unknown> = []
        const tool = Tool.make("tool", {
          description: "",
          parameters: Schema.Struct({ at: Schema.DateFromString, n: Schema.NumberFromString }),
          success: Schema.Struct({ at: Schema.DateFromString }),
          execute: (parameters) =>
            Effect.sync(() => {
              bodies.push(parameters)
              return { at: parameters.at }
            })
        })
        const registry = yield* makeRegistry([tool])
        const at = "2020-01-01T00:00:00.000Z"
        const result = yield* registry.execute(input("tool", "", { at, n: "5" }))
        assert.deepStrictEqual(bodies, [{ at: new Date(at), n: 5 }])
        assert.deepInclude(result, { value: { at }, content: [{ type: "text", text: `{"at":"${at}"}` }] })
      })
  )

  it.effect(cites("of zod fills its defaults", "PROMISE-04"), () =>
    Effect.gen(function*() {
      const tool = Tool.fromPromise("tool", {
        description: "",
        parameters: z.object({ n: z.number().default(7) }),
        success: z.number(),
        execute: async ({ n }) => n
      })
      const registry = yield* makeRegistry([tool])
      assert.deepInclude(yield* registry.execute(input("tool")), { value: 7 })
    }))
})
