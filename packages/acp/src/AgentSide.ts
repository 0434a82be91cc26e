/**
 * The agent's side of a connection: handlers of what clients ask.
 */
import type * as Sdk from "@agentclientprotocol/sdk"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import type * as Connection from "./Connection.ts"
import type * as Handler from "./Handler.ts"
import { connect as connectSide, type Services } from "./internal/side.ts"
import type * as Peer from "./Peer.ts"
import type * as Transport from "./Transport.ts"

/**
 * Handlers by method. A method that has none is answered as unknown. With a handler of `initialize`, everything else is
 * refused until that has succeeded.
 */
export type Handlers =
  & {
    readonly [M in Sdk.AgentRequestMethod]?: Handler.Handler<
      Sdk.AgentRequestParamsByMethod[M],
      Sdk.AgentRequestResponsesByMethod[M],
      Peer.Client,
      any
    >
  }
  & { readonly [method: Peer.Extension]: Handler.Handler<unknown, unknown, Peer.Client, any> }

/** Listeners by notification. That `session/cancel` cancels is not theirs to see to. */
export type Listeners =
  & {
    readonly [M in Sdk.AgentNotificationMethod]?: Handler.Listener<
      Sdk.AgentNotificationParamsByMethod[M],
      Peer.Client,
      any
    >
  }
  & { readonly [method: Peer.Extension]: Handler.Listener<unknown, Peer.Client, any> }

/** The connection of an agent to its client. */
export class AgentConnection extends Context.Service<AgentConnection, Connection.Connection<Peer.Client>>()(
  "@quiesce/acp/AgentConnection"
) {}

/** Serves a client over the transport at hand, until the scope closes: that cancels every request and waits. */
export const connect: {
  <const H extends Handlers>(
    handlers: H
  ): Effect.Effect<Connection.Connection<Peer.Client>, never, Services<H> | Transport.Transport | Scope.Scope>
  <const H extends Handlers, const L extends Listeners>(
    handlers: H,
    listeners: L
  ): Effect.Effect<
    Connection.Connection<Peer.Client>,
    never,
    Services<H> | Services<L> | Transport.Transport | Scope.Scope
  >
} = (handlers: Handlers, listeners: Listeners = {}) => connectSide<Peer.Client, never>("agent", handlers, listeners)

/** The same as a layer. */
export const layer: {
  <const H extends Handlers>(handlers: H): Layer.Layer<AgentConnection, never, Services<H> | Transport.Transport>
  <const H extends Handlers, const L extends Listeners>(
    handlers: H,
    listeners: L
  ): Layer.Layer<AgentConnection, never, Services<H> | Services<L> | Transport.Transport>
} = (handlers: Handlers, listeners: Listeners = {}) =>
  Layer.effect(AgentConnection, connectSide<Peer.Client, never>("agent", handlers, listeners))
