import { assert, describe, it } from "@effect/vitest"
import { Policy, Toolbox, type ToolResult } from "@quiesce/core"
import * as AiSdk from "@quiesce/interop/AiSdk"
import { jsonSchema, tool, type ToolSet } from "ai"
import * as Schema from "effect/Schema"
import { z } from "zod"
import { cites } from "../../../tests/conformance/cites.ts"
import { rejection, settled } from "./support/tools.ts"

const boxOf = async (tools: ToolSet, options?: Parameters<typeof AiSdk.fromTools>[1]) =>
  Toolbox.make({ tools: await AiSdk.fromTools(tools, options) })

const run = (toolbox: Toolbox.Toolbox, name: string, args: unknown = {}, signal = new AbortController().signal) =>
  toolbox.execute({ callId: "call", name, arguments: args, signal })

const valueOf = (result: ToolResult.ToolResult) => result._tag === "Success" ? result.value : result.error

describe("a tool of the AI SDK", () => {
  const shapes: ReadonlyArray<readonly [string, ToolSet[string]["inputSchema"]]> = [
    ["zod", z.object({ city: z.string() })],
    [
      "an Effect Schema",
      Schema.toStandardJSONSchemaV1(Schema.toStandardSchemaV1(Schema.Struct({ city: Schema.String })))
    ],
    [
      "a JSON Schema with a validator",
      jsonSchema<{ city: string }>({
        type: "object",
        properties: { city: { type: "string" } },
        required: ["city"]
      }, {
        validate: (value) => {
          const { data, error, success } = z.object({ city: z.string() }).safeParse(value)
          return success ? { success, value: data } : { success, error }
        }
      })
    ]
  ]
  for (const [kind, inputSchema] of shapes) {
    it(cites(`with ${kind} is a tool of ours, whose issues have paths`, "PROMISE-02", "PROMISE-04"), async () => {
      const weather = tool({ description: "Weather", inputSchema, execute: ({ city }: any) => `rain in ${city}` })
      const toolbox = await boxOf({ weather })
      const [schema] = toolbox.schemas()
      assert.deepInclude(schema, { name: "weather", description: "Weather" })
      assert.deepInclude(schema!.inputSchema, { type: "object", required: ["city"] })
      assert.strictEqual(valueOf(await run(toolbox, "weather", { city: "Bergen" })), "rain in Bergen")
      const refused = await run(toolbox, "weather", { city: 1 })
      assert.deepInclude(refused, { _tag: "Failure", dispatched: false })
      assert(refused._tag === "Failure")
      assert.strictEqual(refused.error.code, "INVALID_ARGUMENTS")
      assert.match(refused.error.message, /\$\.city/)
    })
  }

  it(cites("without a validator gets what a model sent", "PROMISE-02"), async () => {
    const echo = tool({ inputSchema: jsonSchema({ type: "object" }), execute: (input) => input })
    assert.deepStrictEqual(valueOf(await run(await boxOf({ echo }), "echo", { a: [1] })), { a: [1] })
  })

  it(cites("is given its call: id, signal and context", "PROMISE-02"), async () => {
    let seen: any
    const whoami = tool({
      inputSchema: z.object({}),
      contextSchema: z.object({ user: z.string() }),
      description: ({ context }) => `of ${context.user}`,
      execute: (_, options) => {
        seen = options
      }
    })
    const toolbox = await boxOf({ whoami }, { context: { whoami: { user: "me" } } })
    // No output is no value.
    assert.strictEqual(valueOf(await run(toolbox, "whoami")), null)
    assert.strictEqual(toolbox.schemas()[0]!.description, "of me")
    assert.deepInclude(seen, { toolCallId: "call", messages: [], context: { user: "me" } })
    assert.instanceOf(seen.abortSignal, AbortSignal)
  })

  it(cites("is aborted with its call, and awaited until it is quiet", "PROMISE-02"), async () => {
    const { promise, resolve } = Promise.withResolvers<string>()
    const begun = Promise.withResolvers<AbortSignal | undefined>()
    const slow = tool({
      inputSchema: z.object({}),
      execute: (_, { abortSignal }) => {
        begun.resolve(abortSignal)
        return promise
      }
    })
    const controller = new AbortController()
    const result = run(await boxOf({ slow }), "slow", {}, controller.signal)
    const signal = await begun.promise
    const reason = { why: "enough" }
    controller.abort(reason)
    assert.isFalse(await settled(result))
    assert.strictEqual(signal?.reason, reason)
    resolve("late")
    assert.deepInclude(valueOf(await result) as object, { code: "ABORTED" })
  })

  it(cites("that streams its output yields the last of it", "PROMISE-02"), async () => {
    const count = tool({
      inputSchema: z.object({}),
      async *execute() {
        yield 1
        yield 2
        yield 3
      }
    })
    assert.strictEqual(valueOf(await run(await boxOf({ count }), "count")), 3)
  })

  it(cites("that streams is asked for nothing more after an abort, and cleans up first", "PROMISE-02"), async () => {
    const controller = new AbortController()
    const steps: Array<string> = []
    const { promise, resolve } = Promise.withResolvers<void>()
    const count = tool({
      inputSchema: z.object({}),
      async *execute() {
        try {
          controller.abort()
          yield 1
          steps.push("asked again")
          yield 2
        } finally {
          await promise
          steps.push("cleaned up")
        }
      }
    })
    const result = run(await boxOf({ count }), "count", {}, controller.signal)
    assert.isFalse(await settled(result))
    resolve()
    assert.deepInclude(valueOf(await result) as object, { code: "ABORTED" })
    assert.deepStrictEqual(steps, ["cleaned up"])
  })

  it(
    cites("that says what a model is shown is shown like that, unless a policy says otherwise", "PROMISE-02"),
    async () => {
      const tools = await AiSdk.fromTools({
        picture: tool({
          inputSchema: z.object({}),
          execute: () => ({ bytes: "…" }),
          toModelOutput: async () => ({
            type: "content",
            value: [{ type: "text", text: "a cat" }, { type: "file-id", fileId: "cat" }]
          })
        }),
        plain: tool({
          inputSchema: z.object({}),
          execute: () => "tea",
          toModelOutput: ({ output }) => ({ type: "json", value: { output } })
        })
      })
      const shownBy = async (name: string, policy?: Toolbox.Options["policy"]) => {
        const { content, ...result } = await run(Toolbox.make({ tools, ...policy && { policy } }), name)
        return [valueOf({ content, ...result } as ToolResult.ToolResult), content.map(({ text }) => text)]
      }
      assert.deepStrictEqual(await shownBy("picture"), [{ bytes: "…" }, ["a cat", "[file-id]"]])
      assert.deepStrictEqual(await shownBy("plain"), ["tea", ["{\"output\":\"tea\"}"]])
      const redact = { post: () => Policy.accept({ content: [{ type: "text" as const, text: "withheld" }] }) }
      assert.deepStrictEqual(await shownBy("picture", redact), [{ bytes: "…" }, ["withheld"]])
      const replace = { post: () => Policy.accept({ value: "coffee" }) }
      assert.deepStrictEqual(await shownBy("plain", replace), ["coffee", ["\"coffee\""]])
    }
  )

  it(cites("whose output is no JSON is INVALID_OUTPUT", "PROMISE-02"), async () => {
    const now = tool({ inputSchema: z.object({}), execute: () => new Date(0) })
    assert.deepInclude(valueOf(await run(await boxOf({ now }), "now")) as object, { code: "INVALID_OUTPUT" })
  })

  const refused: ReadonlyArray<readonly [string, ToolSet[string], RegExp]> = [
    ["that has nothing to run", tool({ inputSchema: z.object({}), outputSchema: z.string() }), /no `execute`/],
    [
      "that wants to be approved",
      tool({ inputSchema: z.object({}), needsApproval: true, execute: () => 1 }),
      /`needsApproval`/
    ],
    [
      "that sometimes wants to be approved",
      tool({ inputSchema: z.object({}), needsApproval: () => false, execute: () => 1 }),
      /`needsApproval`/
    ],
    [
      "whose context is not given",
      tool({ inputSchema: z.object({}), contextSchema: z.object({ user: z.string() }), execute: () => 1 }),
      /its context/
    ]
  ]
  for (const [what, wrong, why] of refused) {
    it(cites(`${what} is refused where it is imported`, "PROMISE-02"), async () => {
      const error = await rejection(AiSdk.fromTools({ wrong }))
      assert.instanceOf(error, AiSdk.NotImportable)
      assert.match(error.message, why)
      assert.strictEqual(error.tool, "wrong")
      // As it is printed: the field is not the error's name.
      assert.match(String(error), /^NotImportable: the tool "wrong" cannot be imported/)
    })
  }
})
