/**
 * The same for servers of the SDK's 1.x line: the tools of a registry on a server that is built with
 * `@modelcontextprotocol/sdk`, behind the same guard.
 *
 * The guard mends what that line does with ids (it takes `0` and `""` for none) and the wire what it does with the end of
 * its input (nothing).
 */
import type { Server } from "@modelcontextprotocol/sdk/server/index.js"
import type { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js"
import type { Transport as Transport1 } from "@modelcontextprotocol/sdk/shared/transport.js"
import { CallToolRequestSchema, type CallToolResult, ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js"
import type { Transport } from "@modelcontextprotocol/server"
import * as Abortable from "@quiesce/core/Abortable"
import * as Effect from "effect/Effect"
import type { Options } from "./Attach.ts"
import * as Connection from "./internal/connection.ts"
import * as StdioWire from "./internal/stdioWire.ts"
import * as Tools from "./internal/tools.ts"

/**
 * Connects `server` with the tools as its own, over `transport` or the standard streams of this process. Closing the scope
 * cancels what is in flight, closes the connection, and waits until the calls are quiet. What it returns waits until the
 * connection has ended.
 *
 * **Errors**: what the transport fails to start with.
 *
 * **Limits**: a server of the 1.x line has one handler of tools: tools that were registered on it otherwise are hidden.
 */
export const connect = Effect.fnUntraced(function*(
  server: McpServer | Server,
  transport?: Transport1,
  options: Options = {}
) {
  const lowLevel = "server" in server ? server.server : server
  const tools = yield* Tools.make(options.concurrency)
  const fork = Effect.runForkWith(yield* Effect.context<never>())
  const wire = transport ?? new StdioWire.StdioWire(process.stdin, process.stdout, StdioWire.defaultLimits, fork)
  const connection = yield* Connection.scoped(wire as Transport)
  const { inFlight } = connection
  lowLevel.registerCapabilities({ tools: { listChanged: true } })
  lowLevel.setRequestHandler(ListToolsRequestSchema, () => tools.list())
  lowLevel.setRequestHandler(
    CallToolRequestSchema,
    ({ params }, { requestId, sendNotification, signal }) =>
      tools.call(params, {
        inFlight,
        key: requestId,
        signal,
        report: (progress) => sendNotification({ method: "notifications/progress", params: progress })
      }) as Promise<CallToolResult>
  )
  const stop = tools.onChange(() => {
    if (!inFlight.closed) lowLevel.sendToolListChanged().catch((error: Error) => lowLevel.onerror?.(error))
  })
  yield* Effect.addFinalizer(() => Effect.sync(stop))
  yield* Abortable.promise(() => lowLevel.connect(connection as Transport1))
  return Abortable.promise(() => connection.ended)
})
