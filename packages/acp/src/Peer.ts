/**
 * The other side of a connection, as effects.
 *
 * A request is over when its answer has come. Interrupting one asks the peer to stop, by `$/cancel_request`, and waits for
 * the answer all the same: it is the only thing that says what became of it.
 */
import type * as Sdk from "@agentclientprotocol/sdk"
import type * as Effect from "effect/Effect"
import type { PeerGone, RequestFailed } from "./AcpError.ts"
import type { RawPeer } from "./internal/host.ts"
import type { Asked, WhenCancelled } from "./internal/outgoing.ts"

export type { Asked, WhenCancelled }

export interface Options {
  /**
   * What interruption means for the request. `wait`, the default: the peer is asked to stop, and its answer waited for, as
   * long as the grace of the connection lasts; then that is reported. `leave`: it is asked, and a late answer is dropped.
   * `finish`: it is not asked, by an interruption nor by `session/cancel`; for clean-up, which has to happen.
   */
  readonly whenCancelled?: WhenCancelled | undefined
}

/** A method of an extension: its name begins with an underscore, and its types are what the two sides agreed on. */
export type Extension = `_${string}`

/**
 * `Requests` and `Responses` by method, `Notifications` by method. The peer's answers are typed as the protocol says and
 * not checked.
 */
export interface Peer<Requests, Responses extends { readonly [M in keyof Requests]: unknown }, Notifications> {
  /**
   * Asks, and waits for the answer.
   *
   * **Errors**: `RequestFailed` is the peer's own; `PeerGone` where there is, or may be, nobody to answer.
   *
   * **Interruption**: see `Options`.
   */
  readonly request: {
    <M extends keyof Requests & string>(
      method: M,
      params: Requests[M],
      options?: Options
    ): Effect.Effect<Responses[M], RequestFailed | PeerGone>
    (method: Extension, params: unknown, options?: Options): Effect.Effect<unknown, RequestFailed | PeerGone>
  }
  /** Asks, and does not wait: for what must be known of a request that was cancelled. */
  readonly start: {
    <M extends keyof Requests & string>(
      method: M,
      params: Requests[M],
      options?: Options
    ): Effect.Effect<Asked<Responses[M]>, PeerGone>
    (method: Extension, params: unknown, options?: Options): Effect.Effect<Asked<unknown>, PeerGone>
  }
  /**
   * Tells. Returns when the peer keeps up: at once, unless a lot is on its way. To a peer that is gone, or for a request
   * that is answered, nothing is sent.
   */
  readonly notify: {
    <M extends keyof Notifications & string>(method: M, params: Notifications[M]): Effect.Effect<void>
    (method: Extension, params: unknown): Effect.Effect<void>
  }
}

/** A client, as its agent sees it. */
export type Client = Peer<
  Sdk.ClientRequestParamsByMethod,
  Sdk.ClientRequestResponsesByMethod,
  Sdk.ClientNotificationParamsByMethod
>

/** An agent, as its client sees it. */
export type Agent = Peer<
  Sdk.AgentRequestParamsByMethod,
  Sdk.AgentRequestResponsesByMethod,
  Sdk.AgentNotificationParamsByMethod
>

/** Gives the untyped peer the protocol's types. */
export const fromRaw = <P extends Client | Agent>(raw: RawPeer): P =>
  ({
    request: (method: string, params: unknown, options?: Options) =>
      raw.request(method, params, options?.whenCancelled ?? "wait"),
    start: (method: string, params: unknown, options?: Options) =>
      raw.start(method, params, options?.whenCancelled ?? "wait"),
    notify: raw.notify
  }) as P
