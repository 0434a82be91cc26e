/**
 * The client's side of a connection: handlers of what agents ask.
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
 * Handlers by method. A method that has none is answered as unknown.
 */
export type Handlers =
  & {
    readonly [M in Sdk.ClientRequestMethod]?: Handler.Handler<
      Sdk.ClientRequestParamsByMethod[M],
      Sdk.ClientRequestResponsesByMethod[M],
      Peer.Agent,
      any
    >
  }
  & { readonly [method: Peer.Extension]: Handler.Handler<unknown, unknown, Peer.Agent, any> }

/** Listeners by notification. */
export type Listeners =
  & {
    readonly [M in Sdk.ClientNotificationMethod]?: Handler.Listener<
      Sdk.ClientNotificationParamsByMethod[M],
      Peer.Agent,
      any
    >
  }
  & { readonly [method: Peer.Extension]: Handler.Listener<unknown, Peer.Agent, any> }

/** The connection of a client to its agent. */
export class ClientConnection extends Context.Service<ClientConnection, Connection.Connection<Peer.Agent>>()(
  "@quiesce/acp/ClientConnection"
) {}

/** Serves an agent over the transport at hand, until the scope closes: that cancels every request and waits. */
export const connect: {
  <const H extends Handlers>(
    handlers: H
  ): Effect.Effect<Connection.Connection<Peer.Agent>, never, Services<H> | Transport.Transport | Scope.Scope>
  <const H extends Handlers, const L extends Listeners>(
    handlers: H,
    listeners: L
  ): Effect.Effect<
    Connection.Connection<Peer.Agent>,
    never,
    Services<H> | Services<L> | Transport.Transport | Scope.Scope
  >
} = (handlers: Handlers, listeners: Listeners = {}) => connectSide<Peer.Agent, never>("client", handlers, listeners)

/** The same as a layer. */
export const layer: {
  <const H extends Handlers>(handlers: H): Layer.Layer<ClientConnection, never, Services<H> | Transport.Transport>
  <const H extends Handlers, const L extends Listeners>(
    handlers: H,
    listeners: L
  ): Layer.Layer<ClientConnection, never, Services<H> | Services<L> | Transport.Transport>
} = (handlers: Handlers, listeners: Listeners = {}) =>
  Layer.effect(ClientConnection, connectSide<Peer.Agent, never>("client", handlers, listeners))
