/**
 * What a registry says, in the words of MCP.
 *
 * A call that failed is a result that says so (`isError`), for a model to read. Only what the protocol calls an error of
 * its own is one: a tool that is not there.
 */
import type { CallToolResult, ListToolsResult } from "@modelcontextprotocol/server"
import type * as ToolRegistry from "@quiesce/core/ToolRegistry"
import type * as ToolResult from "@quiesce/core/ToolResult"
import * as Message from "./message.ts"

/** An error of the protocol. Every official SDK answers with the `code` of what a handler throws. */
export class Refused extends Error {
  override readonly name = "Refused"
  readonly code: number

  constructor(code: number, message: string) {
    super(message)
    this.code = code
  }
}

export const busy = (max: number): Refused =>
  new Refused(Message.errorCodes.busy, `The server is busy: it runs ${max} calls at once, and no more`)

export const duplicate = (): Refused =>
  new Refused(Message.errorCodes.invalidRequest, "Invalid Request: a request with this id is in flight")

export const listing = (schemas: ReadonlyArray<ToolRegistry.ToolSchema>): ListToolsResult => ({
  tools: schemas.map(({ description, inputSchema, name }) => ({
    name,
    description,
    inputSchema: objectSchema(inputSchema)
  }))
})

/** Arguments are an object in MCP, which its clients check: also where the tool would take anything. */
export const objectSchema = (schema: ToolRegistry.ToolSchema["inputSchema"]): { type: "object" } => ({
  ...schema,
  type: "object"
})

export const toMcp = (result: ToolResult.ToolResult): CallToolResult => {
  const content = result.content.map(({ text, type }) => ({ type, text }))
  const residue = result.residue.length === 0 ? {} : { "quiesce/residue": result.residue }
  if (result._tag === "Success") {
    return {
      content,
      ...(isObject(result.value) ? { structuredContent: result.value } : {}),
      ...(result.residue.length === 0 ? {} : { _meta: residue })
    }
  }
  const { dispatched, error } = result
  if (error.code === "UNKNOWN_TOOL") throw new Refused(Message.errorCodes.invalidParams, `Unknown tool: ${result.name}`)
  return { content, isError: true, _meta: { "quiesce/error": { ...error, dispatched }, ...residue } }
}

const isObject = (value: unknown): value is { [key: string]: unknown } =>
  typeof value === "object" && value !== null && !Array.isArray(value)
