/**
 * A connection, as whoever made it sees it.
 */
import type { JsonRpcId } from "@agentclientprotocol/sdk"
import type * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import type * as Handler from "./Handler.ts"
import type { Ending } from "./internal/host.ts"
import type * as Transport from "./Transport.ts"

export type { Ending }

/** A request of the peer that is not answered yet. */
export interface Live {
  readonly id: JsonRpcId
  readonly method: string
  /** The time of the clock when it came. */
  readonly sinceMillis: number
  /** It was asked to stop, and is not quiet yet. */
  readonly cancelling: boolean
}

export interface Connection<Peer> {
  /** The other side, for what belongs to no request. */
  readonly peer: Peer
  /** The peer's requests that are not answered yet. */
  readonly live: Effect.Effect<ReadonlyArray<Live>>
  /**
   * Cancels every request, and waits for `closed`. Requests that still come are answered as cancelled.
   *
   * **Interruption**: ends the wait. The connection is closing all the same.
   */
  readonly close: Effect.Effect<Ending>
  /** Resolves when the connection has ended, by whomever, every handler is quiet, and what could be written is. */
  readonly closed: Effect.Effect<Ending>
}

/** Makes a connection over the transport at hand, from one side's handlers and listeners. It ends with the scope. */
export interface Connect<Peer, Handlers, Listeners> {
  <const H extends Handlers>(
    handlers: H
  ): Effect.Effect<Connection<Peer>, never, Handler.Services<H> | Transport.Transport | Scope.Scope>
  <const H extends Handlers, const L extends Listeners>(
    handlers: H,
    listeners: L
  ): Effect.Effect<
    Connection<Peer>,
    never,
    Handler.Services<H> | Handler.Services<L> | Transport.Transport | Scope.Scope
  >
}

/** The same as a layer. */
export interface ConnectLayer<Identifier, Handlers, Listeners> {
  <const H extends Handlers>(handlers: H): Layer.Layer<Identifier, never, Handler.Services<H> | Transport.Transport>
  <const H extends Handlers, const L extends Listeners>(
    handlers: H,
    listeners: L
  ): Layer.Layer<Identifier, never, Handler.Services<H> | Handler.Services<L> | Transport.Transport>
}
