/**
 * A connection, as whoever made it sees it.
 */
import type { JsonRpcId } from "@agentclientprotocol/sdk"
import type * as Effect from "effect/Effect"
import type { Ending } from "./internal/host.ts"

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
