/**
 * The client's side of a connection: handlers of what agents ask.
 */
import type * as Sdk from "@agentclientprotocol/sdk"
import * as Context from "effect/Context"
import * as Layer from "effect/Layer"
import type * as Connection from "./Connection.ts"
import type * as Handler from "./Handler.ts"
import { connect as connectSide } from "./internal/side.ts"
import type * as Peer from "./Peer.ts"

/** Handlers by method. A method that has none is answered as unknown. */
export type Handlers = Handler.Handlers<
  Sdk.ClientRequestParamsByMethod,
  Sdk.ClientRequestResponsesByMethod,
  Peer.Agent
>

/** Listeners by notification. */
export type Listeners = Handler.Listeners<Sdk.ClientNotificationParamsByMethod, Peer.Agent>

/** The connection of a client to its agent. */
export class ClientConnection extends Context.Service<ClientConnection, Connection.Connection<Peer.Agent>>()(
  "@quiesce/acp/ClientConnection"
) {}

/** Serves an agent over the transport at hand, until the scope closes: that cancels every request and waits. */
export const connect: Connection.Connect<Peer.Agent, Handlers, Listeners> = (
  handlers: Handlers,
  listeners: Listeners = {}
) => connectSide<Peer.Agent, never>("client", handlers, listeners)

/** The same as a layer. */
export const layer: Connection.ConnectLayer<ClientConnection, Handlers, Listeners> = (
  handlers: Handlers,
  listeners: Listeners = {}
) => Layer.effect(ClientConnection, connect(handlers, listeners))
