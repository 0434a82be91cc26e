/**
 * Adds the tools of a registry to a server that somebody has built with the official SDK: beside what it has, and with
 * what this package guarantees for them.
 */
import type { McpServer, Server, Transport } from "@modelcontextprotocol/server"
import * as Abortable from "@quiesce/core/Abortable"
import type * as ToolRegistry from "@quiesce/core/ToolRegistry"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { bind } from "./internal/bind.ts"
import * as Connection from "./internal/connection.ts"
import * as Tools from "./internal/tools.ts"
import type { Concurrency } from "./ServerOptions.ts"

export interface Options {
  /** Default: as many calls at once as there are. */
  readonly concurrency?: Concurrency | undefined
}

/**
 * Puts the tools on `server` until the scope closes, and keeps its list that of the registry.
 *
 * An `McpServer` keeps its own tools beside them. A low-level `Server` is given its handlers of `tools/list` and
 * `tools/call`.
 *
 * **Limits**: what the SDK does with a request before a handler sees it, and with its answer, stays the SDK's where the
 * server is not connected by `connect`: of two requests under one id it cancels the second only.
 */
export const attach = Effect.fnUntraced(function*(
  server: McpServer | Server,
  options: Options = {}
): Effect.fn.Return<void, never, ToolRegistry.ToolRegistry | Scope.Scope> {
  const tools = yield* Tools.make(options.concurrency)
  yield* Effect.acquireRelease(Effect.sync(() => bind(server, tools)), (release) => Effect.sync(release))
})

/**
 * Connects `server` by `transport` with the tools on it. Closing the scope cancels what is in flight, closes the
 * connection, and waits until the calls of the registry are quiet.
 *
 * **Errors**: what the transport fails to start with.
 */
export const connect = Effect.fnUntraced(function*(
  server: McpServer | Server,
  transport: Transport,
  options: Options = {}
) {
  yield* attach(server, options)
  const connection = yield* Connection.scoped(transport)
  yield* Abortable.promise(() => server.connect(connection))
})
