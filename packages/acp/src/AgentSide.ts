/**
 * The agent's side of a connection: handlers of what clients ask.
 */
import type * as Sdk from "@agentclientprotocol/sdk"
import * as Context from "effect/Context"
import * as Layer from "effect/Layer"
import type * as Connection from "./Connection.ts"
import type * as Handler from "./Handler.ts"
import { connect as connectSide } from "./internal/side.ts"
import type * as Peer from "./Peer.ts"

/**
 * Handlers by method. A method that has none is answered as unknown. With a handler of `initialize`, everything else is
 * refused until that has succeeded.
 */
export type Handlers = Handler.Handlers<
  Sdk.AgentRequestParamsByMethod,
  Sdk.AgentRequestResponsesByMethod,
  Peer.Client
>

/** Listeners by notification. That `session/cancel` cancels is not theirs to see to. */
export type Listeners = Handler.Listeners<Sdk.AgentNotificationParamsByMethod, Peer.Client>

/** The connection of an agent to its client. */
export class AgentConnection extends Context.Service<AgentConnection, Connection.Connection<Peer.Client>>()(
  "@quiesce/acp/AgentConnection"
) {}

/** Serves a client over the transport at hand, until the scope closes: that cancels every request and waits. */
export const connect: Connection.Connect<Peer.Client, Handlers, Listeners> = (
  handlers: Handlers,
  listeners: Listeners = {}
) => connectSide<Peer.Client, never>("agent", handlers, listeners)

/** The same as a layer. */
export const layer: Connection.ConnectLayer<AgentConnection, Handlers, Listeners> = (
  handlers: Handlers,
  listeners: Listeners = {}
) => Layer.effect(AgentConnection, connect(handlers, listeners))
