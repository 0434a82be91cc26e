/**
 * Why a call that came over the wire was cancelled: what a body finds as `signal.reason`, and a policy in the
 * `Caller` reason of its call.
 *
 * It bears the name of an abort, so that code which asks for that name need not know of MCP. A host that hands its own
 * signal to `HttpServer.handle` is a caller of its own: its reason arrives unchanged, and is none of these.
 */

/** Who wanted it: the client that asked for the call, the end of its connection or session, or this server. */
export type By = "client" | "connection" | "server"

export class Cancelled extends Error {
  override readonly name = "AbortError"
  readonly _tag = "Cancelled"
  readonly by: By
  /** What the client gave as its reason, if it gave one. */
  readonly reason: string | undefined

  constructor(by: By, message: string, reason?: string) {
    super(message)
    this.by = by
    this.reason = reason
  }
}

export const byClient = (reason: unknown): Cancelled =>
  typeof reason === "string" && reason !== ""
    ? new Cancelled("client", `the client cancelled the request: ${reason}`, reason)
    : new Cancelled("client", "the client cancelled the request")

export const connectionClosed = (): Cancelled => new Cancelled("connection", "the connection was closed")

export const sessionDeleted = (): Cancelled => new Cancelled("connection", "the session was deleted by its client")

export const sessionExpired = (): Cancelled => new Cancelled("connection", "the session was not used for too long")

export const serverClosed = (): Cancelled => new Cancelled("server", "the server is closing")
