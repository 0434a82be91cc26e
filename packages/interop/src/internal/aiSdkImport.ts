/** A tool of the AI SDK as one of ours. */
import type { Json } from "@quiesce/core/Json"
import * as Tool from "@quiesce/core/Tool"
import type * as ToolCall from "@quiesce/core/ToolCall"
import type * as ToolResult from "@quiesce/core/ToolResult"
import { asSchema, type Schema, type ToolSet } from "ai"
import type { StandardSchemaV1 } from "effect/StandardSchema"
import { textOfOutput } from "./aiSdkMessages.ts"
import * as Importing from "./importing.ts"

export const toTool = async (name: string, tool: ToolSet[string], context: unknown): Promise<Tool.AnyNoServices> => {
  const refuse = (reason: string) => new Importing.NotImportable({ tool: name, reason })
  const { execute, needsApproval, toModelOutput } = tool
  if (execute === undefined) throw refuse("it has no `execute`, somebody else runs it")
  if (needsApproval !== undefined && needsApproval !== false) throw refuse(Importing.needsApproval)
  const contextIssues = tool.contextSchema === undefined
    ? undefined
    : await issues(asSchema(tool.contextSchema), context)
  if (contextIssues !== undefined) throw refuse(`its context is not what it declares: ${contextIssues[0]?.message}`)
  const input = asSchema(tool.inputSchema)
  const inputSchema = await input.jsonSchema

  return Tool.fromPromise(name, {
    description: typeof tool.description === "function" ? tool.description({ context }) : tool.description ?? "",
    parameters: {
      "~standard": {
        version: 1,
        vendor: "@quiesce/interop",
        validate: (value: unknown) => validate(input, value),
        jsonSchema: { input: () => ({ ...inputSchema }), output: () => ({ ...inputSchema }) }
      }
    },
    success: shown,
    render: (output) => output instanceof Shown ? output.content : [{ type: "text", text: JSON.stringify(output) }],
    execute: async (input, call) => {
      const output = await outputOf(
        execute(input, { toolCallId: call.callId, messages: [], abortSignal: call.signal, context }),
        call
      )
      const value = (output ?? null) as Json
      if (toModelOutput === undefined) return value
      return new Shown(value, textOfOutput(await toModelOutput({ toolCallId: call.callId, input, output })))
    }
  })
}

/** A value beside what the tool itself wants a model to be shown of it. */
class Shown {
  readonly value: Json
  readonly content: ReadonlyArray<ToolResult.Content>

  constructor(value: Json, content: ReadonlyArray<ToolResult.Content>) {
    this.value = value
    this.content = content
  }
}

/** JSON, also where a body says how it is shown. */
const shown = {
  "~standard": {
    version: 1,
    vendor: "@quiesce/interop",
    validate: (value: unknown): StandardSchemaV1.Result<Json | Shown> => ({
      value: value instanceof Shown ? value.value : value as Json
    }),
    jsonSchema: { input: () => ({}), output: () => ({}) },
    types: undefined as { readonly input: Json; readonly output: Json | Shown } | undefined
  }
} as const

/** The value of a promise, or the last of what is streamed. After an abort nothing more is asked for. */
const outputOf = async (result: unknown, { progress, signal }: ToolCall.Running): Promise<unknown> => {
  if (!isAsyncIterable(result)) return result
  let output: unknown
  let count = 0
  for await (output of result) {
    // Leaving the loop ends the generator, and waits for its clean-up.
    if (signal.aborted) break
    progress({ progress: ++count })
  }
  return output
}

const isAsyncIterable = (value: unknown): value is AsyncIterable<unknown> =>
  typeof value === "object" && value !== null && Symbol.asyncIterator in value

const validate = async (schema: Schema, value: unknown): Promise<StandardSchemaV1.Result<unknown>> => {
  const result = await schema.validate?.(value)
  if (result === undefined) return { value }
  return result.success ? { value: result.value } : { issues: issuesOf(result.error) }
}

const issues = async (schema: Schema, value: unknown): Promise<ReadonlyArray<StandardSchemaV1.Issue> | undefined> =>
  (await validate(schema, value)).issues

/** The issues of a schema's error: they are in it, in its cause, or its cause itself. */
const issuesOf = (error: Error): ReadonlyArray<StandardSchemaV1.Issue> => {
  for (const holder of [error, error.cause, { issues: error.cause }]) {
    const found = (holder as { readonly issues?: unknown } | undefined)?.issues
    if (Array.isArray(found) && found.length > 0) return found as ReadonlyArray<StandardSchemaV1.Issue>
  }
  return [{ message: error.message }]
}
