/**
 * effect's own MCP server, serving the tools of a registry.
 *
 * A cancelled request interrupts the call, and the server ends when its calls are quiet: that much effect does. What it
 * does not tell a handler (the request's id, why it was cancelled) a call here does not know either; `@quiesce/mcp`, on the
 * official SDK, does.
 *
 * **Limits**: effect/ai is marked unstable by effect itself. Its server cannot forget a tool: one that has left the registry
 * is listed on, and a call to it is UNKNOWN_TOOL.
 */
import * as ToolRegistry from "@quiesce/core/ToolRegistry"
import type * as ToolResult from "@quiesce/core/ToolResult"
import * as McpSchema from "effect/ai/McpSchema"
import * as McpServer from "effect/ai/McpServer"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import { texts } from "./internal/shown.ts"

/**
 * Serves the tools of the registry: those it has when the server is built, and those that are added later.
 *
 * Provide it to effect's server as its registrations: `McpServer.layer({ …, registrations: EffectMcp.layer })`.
 */
export const layer: Layer.Layer<never, never, McpServer.McpServer | ToolRegistry.ToolRegistry> = Layer.effectDiscard(
  Effect.gen(function*() {
    const registry = yield* ToolRegistry.ToolRegistry
    const server = yield* McpServer.McpServer
    const served = new Map<string, ToolRegistry.ToolSchema>()
    const isServed = ({ description, inputSchema, name }: ToolRegistry.ToolSchema): boolean => {
      const known = served.get(name)
      return known?.inputSchema === inputSchema && known.description === description
    }
    // The label of a call here: effect does not tell which request it is.
    let calls = 0
    const serve = (schemas: ReadonlyArray<ToolRegistry.ToolSchema>) =>
      Effect.forEach(schemas.filter((schema) => !isServed(schema)), (schema) => {
        served.set(schema.name, schema)
        return server.addTool({
          tool: new McpSchema.Tool({ ...schema, inputSchema: { type: "object", ...schema.inputSchema } }),
          annotations: Context.empty(),
          handle: (payload: unknown) =>
            Effect.map(
              registry.execute({ callId: `mcp-${++calls}`, name: schema.name, arguments: payload ?? {} }),
              toolResult
            )
        })
      }, { discard: true })
    // First, so that no tool is added unseen between the two.
    yield* Effect.forkScoped(Stream.runForEach(registry.schemaChanges, serve), { startImmediately: true })
    yield* serve(yield* registry.schemas)
  })
)

const toolResult = (result: ToolResult.ToolResult): McpSchema.CallToolResult =>
  new McpSchema.CallToolResult({
    isError: result._tag === "Failure",
    content: texts(result).map((text) => ({ type: "text", text }))
  })
