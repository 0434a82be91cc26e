/**
 * What stands between a connection and the handlers: what a router is given, what it brings back, and what handlers get.
 */
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { NotHeard, PeerGone, RequestFailed, RouterFailed } from "../AcpError.ts"
import type { TransportFailed } from "../Transport.ts"
import type { AnyNotification, AnyRequest, AnyResponse, JsonRpcId, Result } from "./message.ts"
import type { Asked, WhenCancelled } from "./outgoing.ts"

/** How a connection ended. */
export type Ending =
  | { readonly _tag: "Closed" }
  | { readonly _tag: "EndOfInput" }
  | { readonly _tag: "Failed"; readonly error: TransportFailed | RouterFailed | NotHeard }

/** The peer, as untyped as the wire. */
export interface RawPeer {
  readonly request: (
    method: string,
    params: unknown,
    whenCancelled: WhenCancelled
  ) => Effect.Effect<unknown, RequestFailed | PeerGone>
  /** Sends a request that nobody is bound to wait for. Cancelling it is a thing to be done with it. */
  readonly start: (
    method: string,
    params: unknown,
    whenCancelled: WhenCancelled
  ) => Effect.Effect<Asked<unknown>, PeerGone>
  readonly notify: (method: string, params: unknown) => Effect.Effect<void>
}

/** Finds the handler of a message. What it is given it brings back to `Host`: the request, its answer, a notification. */
export interface Router {
  readonly route: (message: AnyRequest | AnyNotification) => void
  readonly close: () => void
}

/** Its services are those the connection was made with. */
export type RequestHandler = (request: RawRequest) => Effect.Effect<unknown, unknown, Scope.Scope>
export type NotificationHandler = (peer: RawPeer) => Effect.Effect<void, unknown, Scope.Scope>

/** A request as its handler sees it. `peer` is good until the request is answered. */
export interface RawRequest {
  readonly id: JsonRpcId
  readonly method: string
  readonly peer: RawPeer
  /** Aborts when the request is cancelled. */
  readonly signal: AbortSignal
}

export interface Host {
  /** Runs the handler of a live request, and says what it came to. */
  readonly serve: (id: JsonRpcId, handler: RequestHandler, done: (result: Result<unknown>) => void) => void
  /** Handles a notification, after those of its session that came before. */
  readonly hear: (params: unknown, handler: NotificationHandler) => void
  /** Says to the peer what became of a request. */
  readonly answer: (response: AnyResponse) => void
  /** The router has ended by itself: it brings back nothing any more. */
  readonly lost: (cause: unknown) => void
}
