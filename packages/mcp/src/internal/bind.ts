/**
 * Puts the tools of a registry on a server of the official SDK: on a low-level `Server` as its handlers of `tools/list`
 * and `tools/call`, on an `McpServer` as tools among its own.
 */
import {
  type CallToolResult,
  McpServer,
  type RegisteredTool,
  type Server,
  type ServerContext
} from "@modelcontextprotocol/server"
import type * as ToolRegistry from "@quiesce/core/ToolRegistry"
import { Connection } from "./connection.ts"
import { InFlight } from "./inFlight.ts"
import * as Results from "./results.ts"
import type * as Tools from "./tools.ts"

/** A request among those in flight. */
interface Found {
  readonly inFlight: InFlight
  readonly key: unknown
  /** Told when its handler has settled, where nobody else sees that it is answered. */
  readonly settled?: () => void
}

/** Finds the request that a handler was started for. */
export type Find = (context: ServerContext) => Found

/** Binds, and returns how to let go. */
export const bind = (server: McpServer | Server, tools: Tools.Tools, find?: Find): () => void =>
  server instanceof McpServer
    ? bindMcpServer(server, tools, find ?? onTransportOf(server.server))
    : bindServer(server, tools, find ?? onTransportOf(server))

/** Behind the guard the SDK knows a request by its key. */
export const guarded = ({ inFlight }: Connection): Find => ({ mcpReq }) => ({ inFlight, key: mcpReq.id })

/** Without a guard a request is in flight from when its handler is started until that has settled. */
export const unguarded = (inFlight: InFlight): Find => ({ mcpReq: { _meta, id, method } }) => {
  const request = { id, method, params: { _meta } }
  const key = inFlight.accept(request)?.key
  if (key === undefined && !inFlight.closed) throw Results.duplicate()
  return { inFlight, key, settled: () => void inFlight.answer(key) }
}

const onTransportOf = (server: Server): Find => {
  const found = new WeakMap<object, Find>()
  return (context) => {
    const owner = server.transport ?? server
    let find = found.get(owner)
    if (find === undefined) {
      find = owner instanceof Connection ? guarded(owner) : unguarded(new InFlight())
      found.set(owner, find)
    }
    return find(context)
  }
}

const bindServer = (server: Server, tools: Tools.Tools, find: Find): () => void => {
  server.registerCapabilities({ tools: { listChanged: true } })
  server.setRequestHandler("tools/list", () => tools.list())
  server.setRequestHandler(
    "tools/call",
    ({ params }, context) => answer(tools, params, context, find)
  )
  const stop = tools.onChange(() => {
    // A server that is not connected has nobody to tell.
    if (server.transport !== undefined) server.sendToolListChanged().catch((error: Error) => server.onerror?.(error))
  })
  return () => {
    stop()
    server.removeRequestHandler("tools/list")
    server.removeRequestHandler("tools/call")
  }
}

interface Registered {
  readonly schema: ToolRegistry.ToolSchema
  readonly tool: RegisteredTool
}

/** The SDK tells its clients of each tool that is added or removed. */
const bindMcpServer = (server: McpServer, tools: Tools.Tools, find: Find): () => void => {
  const registered = new Map<string, Registered>()
  const sync = (failed: (error: unknown) => void) => {
    const schemas = new Map(tools.schemas().map((schema) => [schema.name, schema]))
    for (const [name, { schema, tool }] of registered) {
      // Another one may have its name by now.
      if (isSame(schema, schemas.get(name))) continue
      registered.delete(name)
      tool.remove()
    }
    for (const [name, schema] of schemas) {
      if (registered.has(name)) continue
      const { description, inputSchema } = schema
      const config = { description, inputSchema: unchecked(Results.objectSchema(inputSchema)) }
      const handler = (args: unknown, context: ServerContext) => answer(tools, { name, arguments: args }, context, find)
      try {
        registered.set(name, { schema, tool: server.registerTool(name, config, handler) })
      } catch (error) {
        failed(error)
      }
    }
  }
  const remove = () => registered.forEach(({ tool }) => tool.remove())
  sync((error) => {
    remove()
    throw error
  })
  // The server may have a tool of that name, which stays; the others are served, and a later change tries again.
  const stop = tools.onChange(() => sync((error) => server.server.onerror?.(error as Error)))
  return () => {
    stop()
    remove()
  }
}

/** Whether that is what a tool of this name was registered with. */
const isSame = (schema: ToolRegistry.ToolSchema, now: ToolRegistry.ToolSchema | undefined): boolean =>
  schema.description === now?.description && schema.inputSchema === now.inputSchema

/** The registry decides what it takes, and says in its own words what it does not. */
const unchecked = (schema: { readonly [key: string]: unknown }) => ({
  "~standard": {
    version: 1 as const,
    vendor: "quiesce",
    validate: (value: unknown) => ({ value }),
    jsonSchema: { input: () => schema, output: () => schema }
  }
})

const answer = async (
  tools: Tools.Tools,
  call: Tools.Call,
  context: ServerContext,
  find: Find
): Promise<CallToolResult> => {
  const { notify, signal } = context.mcpReq
  const { inFlight, key, settled } = find(context)
  try {
    return await tools.call(call, {
      inFlight,
      key,
      signal,
      report: (params) => notify({ method: "notifications/progress", params })
    })
  } finally {
    settled?.()
  }
}
