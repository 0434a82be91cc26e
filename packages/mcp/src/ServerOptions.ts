/** What every server is told, whatever it speaks over. */
import type { McpServer, Server } from "@modelcontextprotocol/server"
import type { Concurrency } from "./internal/tools.ts"

export type { Concurrency }

export interface ServerOptions {
  readonly name: string
  readonly version: string
  /** How a model should use the server. */
  readonly instructions?: string | undefined
  /** Default: as many calls at once as there are. */
  readonly concurrency?: Concurrency | undefined
  /**
   * Makes the official SDK's server that the tools are put on, for one that offers more than tools. It is called for each
   * connection, session or exchange, and gives a new one each time. Default: a server of these tools alone.
   */
  readonly server?: (() => McpServer | Server) | undefined
}
