import { assert, describe, it } from "@effect/vitest"
import { type Json, Policy, Tool, type ToolResult } from "@quiesce/core"
import { Effect, Schema } from "effect"
import { TestClock } from "effect/testing"
import { z } from "zod"
import { cites } from "../../../tests/conformance/cites.ts"
import * as Faces from "./support/faces.ts"
import * as Gate from "./support/Gate.ts"
import { untouchable } from "./support/hostile.ts"
import { effectTool, promiseTool } from "./support/registry.ts"
import { assertAborted, codeOf, failureOf, issuesOf, valueOf } from "./support/results.ts"
import { type Stages, watched } from "./support/watched.ts"

describe("an unknown tool", () => {
  it.effect(
    cites("is UNKNOWN_TOOL once pre-policy has seen the name, and nobody is asked about it", "CALL-19"),
    () =>
      Effect.gen(function*() {
        for (const face of Faces.registryFaces) {
          const names: Array<string> = []
          const parts = watched({
            pre: (call) =>
              Effect.sync(() => {
                names.push(call.name)
                return Policy.ask("may it?")
              })
          })
          const host = yield* face.open(parts)
          const result = yield* (yield* host.call("nope")).result
          const { dispatched, error } = failureOf(result)
          assert.strictEqual(error.code, "UNKNOWN_TOOL")
          assert.include(error.message, "nope")
          assert.isFalse(dispatched)
          assert.deepStrictEqual(names, ["nope"])
          assert.deepStrictEqual(parts.ran, ["pre", "post", "publish UNKNOWN_TOOL"])
        }
      })
  )

  it.effect(cites("a denial of an unknown tool is a denial", "CALL-19"), () =>
    Effect.gen(function*() {
      const host = yield* Faces.start.open(watched({ pre: () => Effect.succeed(Policy.deny("no")) }))
      assert.strictEqual(codeOf(yield* (yield* host.call("nope")).result), "DENIED")
    }))

  it.effect(
    cites("a call of one that is cancelled meanwhile is a cancelled call", "CALL-05", "CALL-19"),
    () =>
      Effect.gen(function*() {
        for (const face of Faces.registryFaces) {
          for (const pre of ["hold", "wait"] as const) {
            const gate = Gate.make()
            const host = yield* face.open(watched({ pre: () => Effect.as(gate[pre], Policy.allow) }))
            const call = yield* host.call("nope")
            yield* gate.reached
            yield* call.cancel
            yield* gate.open()
            assertAborted(yield* call.result, "ABORTED_BEFORE_DISPATCH", face.reason)
          }
        }
      })
  )

  it.effect(cites("has a name of its own whatever that is", "CALL-19"), () =>
    Effect.gen(function*() {
      const host = yield* Faces.start.open(watched())
      for (const name of ["", "toString", "__proto__", "constructor", "\u0000", "a\"b"]) {
        assert.strictEqual(codeOf(yield* (yield* host.call(name)).result), "UNKNOWN_TOOL", name)
      }
    }))
})

const Parameters = Schema.Struct({
  path: Schema.String,
  lines: Schema.Array(Schema.Number),
  options: Schema.optional(Schema.Struct({ deep: Schema.Boolean }))
})

const zodParameters = z.object({
  path: z.string(),
  lines: z.array(z.number()),
  options: z.object({ deep: z.boolean() }).optional()
})

const bad = { path: 1, lines: [1, "two", 3, null], options: { deep: "yes" } }

/** The same schema, of Effect and of zod. */
const dialects = (execute: () => Json): ReadonlyArray<readonly [dialect: string, tool: Tool.AnyNoServices]> => [
  [
    "Effect",
    Tool.make("read", {
      description: "",
      parameters: Parameters,
      success: Schema.Json,
      execute: () => Effect.sync(execute) as Effect.Effect<any>
    })
  ],
  ["zod", Tool.fromPromise("read", { description: "", parameters: zodParameters, success: z.unknown(), execute })],
  [
    "zod, refined asynchronously",
    Tool.fromPromise("read", {
      description: "",
      parameters: zodParameters.refine(async () => true),
      success: z.unknown(),
      execute
    })
  ]
]

describe("arguments that the schema refuses", () => {
  it.effect(cites("are INVALID_ARGUMENTS with every issue and its path", "CALL-19"), () =>
    Effect.gen(function*() {
      for (const [dialect, tool] of dialects(() => null)) {
        const host = yield* Faces.start.open({ tools: [tool] })
        const result = yield* (yield* host.call("read", { arguments: bad })).result
        assert.strictEqual(codeOf(result), "INVALID_ARGUMENTS", dialect)
        assert.deepStrictEqual(
          issuesOf(result).map(({ path }) => path),
          [["path"], ["lines", 1], ["lines", 3], ["options", "deep"]],
          dialect
        )
        assert.isTrue(issuesOf(result).every(({ message }) => message.length > 0))
        for (const part of ["$.path", "$.lines[1]", "$.lines[3]", "$.options.deep"]) {
          assert.include(failureOf(result).error.message, part, "a model is told each of them")
        }
        assert.isFalse(result.dispatched)
      }
    }))

  it.effect(cites("are found after pre-policy and before the approval", "CALL-19"), () =>
    Effect.gen(function*() {
      for (const face of Faces.registryFaces) {
        const parts = watched()
        const host = yield* face.open(parts)
        const result = yield* (yield* host.call("strict", { arguments: { n: "1" } })).result
        assert.strictEqual(codeOf(result), "INVALID_ARGUMENTS")
        assert.deepStrictEqual(parts.ran, ["pre", "post", "finalizeContent", "publish INVALID_ARGUMENTS"])
      }
    }))

  it.effect(cites("a denial comes before them", "CALL-19"), () =>
    Effect.gen(function*() {
      const host = yield* Faces.start.open(watched({ pre: () => Effect.succeed(Policy.deny("no")) }))
      assert.strictEqual(codeOf(yield* (yield* host.call("strict", { arguments: { n: "1" } })).result), "DENIED")
    }))

  it.effect(
    cites("a cancel before they are looked at comes before them", "CALL-05", "CALL-19"),
    () =>
      Effect.gen(function*() {
        for (const face of Faces.registryFaces) {
          const gate = Gate.make()
          const host = yield* face.open(watched({ pre: () => Effect.as(gate.hold, Policy.allow) }))
          const call = yield* host.call("strict", { arguments: { n: "1" } })
          yield* call.cancel
          yield* gate.open()
          assertAborted(yield* call.result, "ABORTED_BEFORE_DISPATCH", face.reason)
        }
      })
  )

  it.effect(
    cites("a cancel while they are looked at interrupts, and waits for the schema", "CALL-05", "CALL-06"),
    () =>
      Effect.gen(function*() {
        for (const accepted of [true, false]) {
          const gate = Gate.make<boolean>()
          let bodies = 0
          const tool = Tool.fromPromise("t", {
            description: "",
            parameters: z.object({}).refine(gate.promise),
            success: z.unknown(),
            execute: () => ++bodies
          })
          const host = yield* Faces.start.open({ tools: [tool] })
          const call = yield* host.call("t")
          yield* gate.reached
          yield* call.cancel
          yield* TestClock.adjust("1 hour")
          assert.isFalse(call.isOver())
          yield* gate.open(accepted)
          assertAborted(yield* call.result, "ABORTED_BEFORE_DISPATCH", "Caller")
          assert.strictEqual(bodies, 0)
        }
      })
  )

  it.effect(
    cites("text that was cut off, and nothing at all, are not an empty object", "CALL-19"),
    () =>
      Effect.gen(function*() {
        const host = yield* Faces.start.open(watched())
        for (const args of ["", `{"n":`, null, []]) {
          assert.strictEqual(
            codeOf(yield* (yield* host.call("strict", { arguments: args })).result),
            "INVALID_ARGUMENTS"
          )
        }
      })
  )

  it.effect(
    cites("a schema that throws, or answers nonsense, refuses", "CALL-19", "CALL-21"),
    () =>
      Effect.gen(function*() {
        const standard = (validate: (value: unknown) => any) => ({
          "~standard": {
            version: 1 as const,
            vendor: "test",
            validate,
            jsonSchema: { input: () => ({}), output: () => ({}) }
          }
        })
        for (
          const validate of [
            () => {
              throw new Error("x")
            },
            () => undefined,
            () => null,
            async () => {
              throw undefined
            },
            () => ({ issues: [{ message: undefined, path: [Number.NaN, Symbol("s"), { key: -0 }] }] }),
            () => ({ issues: [null] }),
            () => ({ issues: "none" }),
            () => ({
              get issues() {
                throw new Error("x")
              }
            })
          ]
        ) {
          let bodies = 0
          const tool = Tool.fromPromise("t", {
            description: "",
            parameters: standard(validate),
            success: z.json(),
            execute: () => ++bodies
          })
          const host = yield* Faces.start.open({ tools: [tool] })
          const result = yield* (yield* host.call("t")).result
          assert.strictEqual(codeOf(result), "INVALID_ARGUMENTS", String(validate))
          assert.strictEqual(bodies, 0)
          assert.strictEqual(typeof failureOf(result).error.message, "string")
        }
      })
  )
})

describe("what a body answers", () => {
  const outputs: ReadonlyArray<readonly [what: string, value: unknown, path: ReadonlyArray<string | number>]> = [
    ["undefined", undefined, []],
    ["a function inside", { a: () => 1 }, ["a"]],
    ["NaN inside", [Number.NaN], [0]],
    ["-0", -0, []],
    ["a bigint", 1n, []],
    ["a Date", new Date(0), []],
    ["a Map inside", { a: { b: new Map() } }, ["a", "b"]],
    [
      "an instance of a class",
      new (class Point {
        readonly x = 1
      })(),
      []
    ],
    ["a hole", Object.assign([1], { 2: 2 }), []],
    [
      "a cycle",
      (() => {
        const cycle: Array<unknown> = []
        cycle.push(cycle)
        return cycle
      })(),
      []
    ],
    ["a Proxy that throws on inspection", { a: untouchable }, ["a"]],
    ["a throwing getter", {
      get a() {
        throw new Error("x")
      }
    }, []]
  ]

  it.effect.each(outputs)(
    cites("%s is INVALID_OUTPUT, and the body was dispatched", "CALL-20"),
    ([, value]) =>
      Effect.gen(function*() {
        for (
          const tool of [
            effectTool("t", () => Effect.succeed(value as Json)),
            promiseTool("t", () => value as Json),
            Tool.raw("t", { description: "", inputSchema: {}, execute: () => Effect.succeed(value as Json) }),
            Tool.fromPromise("t", { description: "", parameters: z.json(), success: z.any(), execute: () => value })
          ]
        ) {
          const host = yield* Faces.start.open({ tools: [tool] })
          const result = yield* (yield* host.call("t")).result
          assert.strictEqual(codeOf(result), "INVALID_OUTPUT")
          assert.isTrue(result.dispatched)
          assert.isTrue(issuesOf(result).length > 0)
        }
      })
  )

  it.effect(
    cites("a value that fails the success schema is INVALID_OUTPUT with every issue", "CALL-20"),
    () =>
      Effect.gen(function*() {
        const tool = Tool.fromPromise("t", {
          description: "",
          parameters: Schema.Struct({}),
          success: Schema.Struct({ n: Schema.Number, list: Schema.Array(Schema.String) }),
          execute: () => ({ n: "1", list: ["a", 2] }) as any
        })
        for (const face of Faces.registryFaces) {
          const host = yield* face.open({ tools: [tool] })
          const result = yield* (yield* host.call("t")).result
          assert.strictEqual(codeOf(result), "INVALID_OUTPUT")
          assert.deepStrictEqual(issuesOf(result).map(({ path }) => path), [["n"], ["list", 1]])
          assert.isTrue(result.dispatched)
        }
      })
  )

  it.effect(
    cites("a value is copied: changing it afterwards changes no result", "CALL-20"),
    () =>
      Effect.gen(function*() {
        const value = { list: [1] }
        const host = yield* Faces.start.open({ tools: [promiseTool("t", () => value)] })
        const result = yield* (yield* host.call("t")).result
        value.list.push(2)
        assert.deepStrictEqual(valueOf(result), { list: [1] })
        assert.isFalse(Object.isFrozen(value))
      })
  )

  it.effect(
    cites("its schema's services and transformations apply: a Date goes out as text", "CALL-20"),
    () =>
      Effect.gen(function*() {
        const tool = Tool.make("t", {
          description: "",
          parameters: Schema.Struct({}),
          success: Schema.Struct({ at: Schema.Date, none: Schema.optional(Schema.String) }),
          execute: () => Effect.succeed({ at: new Date(0) })
        })
        const host = yield* Faces.start.open({ tools: [tool] })
        assert.deepStrictEqual(valueOf(yield* (yield* host.call("t")).result), { at: "1970-01-01T00:00:00.000Z" })
      })
  )
})

const text = (text: string): ReadonlyArray<ToolResult.Content> => [{ type: "text", text }]

/** Functions that ought to answer with content. */
const nonsense: ReadonlyArray<readonly [what: string, f: () => any]> = [
  ["throws", () => {
    throw new Error("x")
  }],
  ["throws undefined", () => {
    throw undefined
  }],
  ["throws what cannot be inspected", () => {
    throw new Proxy({}, {
      get: () => {
        throw new Error("inspected")
      },
      getPrototypeOf: () => {
        throw new Error("inspected")
      },
      ownKeys: () => {
        throw new Error("inspected")
      }
    })
  }],
  ["answers a string", () => "text"],
  ["answers null", () => null],
  ["answers a part without text", () => [{ type: "text" }]],
  ["answers a part of another type", () => [{ type: "image", text: "x" }]],
  ["answers a hole", () => [null]],
  ["answers a promise", async () => text("late")]
]

describe.each(nonsense)("a function that %s", (_, f) => {
  it.effect(cites("as `render`: a success becomes INVALID_OUTPUT", "CALL-20"), () =>
    Effect.gen(function*() {
      for (const face of Faces.registryFaces) {
        const host = yield* face.open(watched({ render: f }))
        const result = yield* (yield* host.call("tool")).result
        assert.strictEqual(codeOf(result), "INVALID_OUTPUT")
        assert.isTrue(result.dispatched)
      }
    }))

  it.effect(
    cites("as `finalizeContent` of a success: it becomes INVALID_OUTPUT, and is not asked again", "CALL-20"),
    () =>
      Effect.gen(function*() {
        for (const wrap of [undefined, () => Effect.succeed("made up")]) {
          const parts = watched({ finalizeContent: f, ...(wrap && { wrap }) })
          const host = yield* Faces.start.open(parts)
          const result = yield* (yield* host.call("tool")).result
          assert.strictEqual(codeOf(result), "INVALID_OUTPUT")
          assert.strictEqual(result.dispatched, wrap === undefined, "true to fact")
          assert.deepStrictEqual(result.content, text(`Error: ${failureOf(result).error.message}`))
          assert.strictEqual(parts.ran.filter((stage) => stage === "finalizeContent").length, 1)
        }
      })
  )

  it.effect(
    cites("as `finalizeContent` of a failure: it keeps its code and gets default text", "CALL-20"),
    () =>
      Effect.gen(function*() {
        const failing: ReadonlyArray<readonly [code: string, stages: Stages, message: string, dispatched: boolean]> = [
          ["DENIED", { pre: () => Effect.succeed(Policy.deny("no")) }, "no", false],
          ["TOOL_FAILURE", { body: () => Effect.fail("broken") }, "broken", true],
          ["BLOCKED", { post: () => Effect.succeed(Policy.block("withheld")) }, "withheld", true],
          [
            "TOOL_FAILURE",
            {
              body: () => Effect.fail("broken"),
              post: () => Effect.succeed(Policy.accept({ content: text("replaced") }))
            },
            "broken",
            true
          ]
        ]
        for (const [code, stages, message, dispatched] of failing) {
          const parts = watched({ ...stages, finalizeContent: f })
          const host = yield* Faces.start.open(parts)
          const result = failureOf(yield* (yield* host.call("tool")).result)
          assert.deepStrictEqual([result.error.code, result.error.message, result.dispatched], [
            code,
            message,
            dispatched
          ])
          assert.deepStrictEqual(result.content, text(`Error: ${message}`))
          assert.strictEqual(parts.ran.filter((stage) => stage === "finalizeContent").length, 1)
        }
      })
  )

  it.effect(
    cites("as `finalizeContent` of a pre-aborted call, and of refused arguments", "CALL-04", "CALL-20"),
    () =>
      Effect.gen(function*() {
        const registry = yield* Faces.registry(watched({ finalizeContent: f }))
        const input = { callId: "1", name: "tool", arguments: {}, signal: AbortSignal.abort() }
        assertAborted(yield* Effect.promise(() => registry.executePromise(input)), "ABORTED_BEFORE_DISPATCH", "Caller")
        const refused = yield* Effect.promise(() => registry.executePromise({ ...input, arguments: undefined }))
        assert.strictEqual(codeOf(refused), "INVALID_ARGUMENTS")
      })
  )
})

describe("finalizeContent", () => {
  it.effect(
    cites("has the last say in the content, and in nothing else", "CALL-20", "CALL-22"),
    () =>
      Effect.gen(function*() {
        const seen: Array<ToolResult.ToolResult> = []
        const host = yield* Faces.start.open(watched({
          render: () => text("rendered"),
          finalizeContent: (_, result) => {
            seen.push(result)
            return text(`<${result.content[0]!.text}>`)
          }
        }))
        const result = yield* (yield* host.call("tool")).result
        assert.deepStrictEqual(seen[0]!.content, text("rendered"))
        assert.deepStrictEqual(result, { ...seen[0]!, content: text("<rendered>") })
      })
  )

  it.effect(
    cites(
      "what it answers is read once: a getter cannot show one text to the check and another to the copy",
      "CALL-20"
    ),
    () =>
      Effect.gen(function*() {
        let reads = 0
        const part = {
          type: "text" as const,
          get text() {
            return ++reads === 1 ? "checked" : ({ not: "text" } as unknown as string)
          }
        }
        const host = yield* Faces.start.open(watched({ finalizeContent: () => [part] }))
        assert.deepStrictEqual((yield* (yield* host.call("tool")).result).content, text("checked"))
      })
  )

  it.effect(
    cites("that calls back into the registry, cancels its call or makes another, does no harm", "CALL-20"),
    () =>
      Effect.gen(function*() {
        for (const face of Faces.registryFaces) {
          let cancel = () => {}
          let again: Effect.Effect<unknown> = Effect.void
          let depth = 0
          const parts = watched({
            finalizeContent: () => {
              cancel()
              if (depth++ === 0) Effect.runFork(again)
              return text("finalized")
            }
          })
          const host = yield* face.open(parts)
          cancel = host.cancelLatest
          again = host.call("tool")
          const call = yield* host.call("tool")
          const result = yield* call.result
          assert.strictEqual(codeOf(result), "Success")
          yield* host.whenIdle
          assert.deepStrictEqual(host.published.map(codeOf), ["Success", "Success"])
        }
      })
  )
})

describe("an optional field that is given as `undefined`", () => {
  const Optional = Schema.Struct({ a: Schema.Number, o: Schema.optional(Schema.String) })
  const value = { a: 1, o: undefined }

  it.effect(
    cites("is absent from a success and from a failure, whoever made them", "CALL-20"),
    () =>
      Effect.gen(function*() {
        const options = { description: "", parameters: Schema.Struct({}), success: Optional, failure: Optional }
        const tools = [
          Tool.make("succeeds", { ...options, execute: () => Effect.succeed(value) }),
          Tool.make("fails", { ...options, execute: () => Effect.fail(value) }),
          Tool.fromPromise("promises", { ...options, execute: async () => value })
        ]
        const registry = yield* Faces.registry({ tools })
        const made = yield* Faces.registry({ tools, wrappers: [() => Effect.succeed(value as never)] })
        for (const name of ["succeeds", "promises"]) {
          for (const  of of[registry, made]) {
            const result = yield* of.execute({ callId: "1", name, arguments: {} })
            assert.deepStrictEqual(Object.keys(valueOf(result) as object), ["a"])
          }
        }
        const result = failureOf(yield* registry.execute({ callId: "1", name: "fails", arguments: {} }))
        assert.deepStrictEqual(result.error.detail, { a: 1 })
        assert.strictEqual(JSON.stringify(result.error.detail), `{"a":1}`)
      })
  )

  it.effect(cites("is not JSON in an array, nor in arguments", "CALL-02", "CALL-20"), () =>
    Effect.gen(function*() {
      const tool = Tool.make("tool", {
        description: "",
        parameters: Optional,
        success: Schema.Array(Schema.Unknown),
        execute: () => Effect.succeed([undefined])
      })
      const registry = yield* Faces.registry({ tools: [tool] })
      assert.strictEqual(
        codeOf(yield* registry.execute({ callId: "1", name: "tool", arguments: { a: 1 } })),
        "INVALID_OUTPUT"
      )
      assert.strictEqual(
        codeOf(yield* registry.execute({ callId: "1", name: "tool", arguments: value })),
        "INVALID_ARGUMENTS"
      )
    }))
})

describe("a typed call of a tool", () => {
  it.effect(
    cites("whose parameters are no JSON as they stand takes what their type says", "CALL-30", "PROMISE-04"),
    () =>
      Effect.gen(function*() {
        const tool = Tool.make("tool", {
          description: "",
          parameters: Schema.Struct({ big: Schema.BigInt, at: Schema.Date, text: Schema.BigIntFromString }),
          success: Schema.BigInt,
          execute: ({ at, big, text }) => Effect.succeed(big + text + BigInt(at.getTime()))
        })
        const registry = yield* Faces.registry({ tools: [tool] })
        assert.strictEqual(yield* registry.call(tool, { big: 1n, at: new Date(20), text: "300" }), 321n)
        const refused = yield* Effect.flip(registry.call(tool, { big: "x", at: new Date(0), text: "1" } as never))
        assert.strictEqual(refused.code, "INVALID_ARGUMENTS")
      })
  )
})
