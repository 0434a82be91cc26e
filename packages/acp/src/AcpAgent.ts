/**
 * An agent: sessions of a model with tools, served to a client.
 *
 * A prompt is a turn. Cancelling either, in whatever way, cancels the other: the model is interrupted, calls are cancelled
 * and waited for, the client is told of all that, and then its prompt is answered. Turns of one session come one after
 * the other.
 */
import * as Sdk from "@agentclientprotocol/sdk"
import type * as Session from "@quiesce/agent/Session"
import type * as SessionLog from "@quiesce/agent/SessionLog"
import type * as Turn from "@quiesce/agent/Turn"
import type * as ToolRegistry from "@quiesce/core/ToolRegistry"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import type * as AcpSession from "./AcpSession.ts"
import * as AgentSide from "./AgentSide.ts"
import type * as Connection from "./Connection.ts"
import type * as Handler from "./Handler.ts"
import { Sessions } from "./internal/sessions.ts"
import { connect as connectSide } from "./internal/side.ts"
import type * as Peer from "./Peer.ts"
import type * as Transport from "./Transport.ts"
import type * as Updates from "./Updates.ts"

/** A turn as the one who runs it sees it: with it go the means to tell the client of it, as long as it lasts. */
export interface Prompt extends Session.Running {
  /** As the client sent it. `text` is all of it as text. */
  readonly prompt: ReadonlyArray<Sdk.ContentBlock>
  /** Shows a piece of what the model says. What of a step's text was not shown like this is shown with the step. */
  readonly say: (text: string) => Effect.Effect<void>
  readonly think: (text: string) => Effect.Effect<void>
  /** Any other update: a plan, a mode, usage. */
  readonly update: (update: Sdk.SessionUpdate) => Effect.Effect<void>
}

/** Services that a session has. */
export type Services = ToolRegistry.ToolRegistry | SessionLog.SessionLog | AcpSession.AcpSession

/** Handlers of what else a client may ask: extensions, and methods of the protocol that an agent does not handle itself. */
export type Handlers = Omit<
  AgentSide.Handlers,
  "initialize" | "session/new" | "session/prompt" | "session/close"
>

export interface Options<E, R, E2, R2, H extends Handlers = {}> {
  readonly info: Sdk.Implementation
  /** What a session is made of, built for each and closed with it: its registry, and its log. */
  readonly session: Layer.Layer<ToolRegistry.ToolRegistry | SessionLog.SessionLog, E, R>
  /**
   * Runs a turn: `Session.loop` with a model, or anything else. It may say why it stopped; by default its turn has ended.
   *
   * **Errors**: `TooManySteps` is a stop reason, anything else an error of the prompt.
   */
  readonly turn: (prompt: Prompt) => Effect.Effect<Sdk.StopReason | void, E2, R2>
  readonly options?: Turn.Options | undefined
  /** How calls are shown. Default: by the tool's name. */
  readonly describe?: Updates.Describe | undefined
  readonly handlers?: H | undefined
}

/** Serves a client over the transport at hand until the scope closes: that cancels every turn and waits for it. */
export const connect = <E, R, E2, R2, const H extends Handlers = {}>(
  options: Options<E, R, E2, R2, H>
): Effect.Effect<
  Connection.Connection<Peer.Client>,
  never,
  Exclude<R | R2, Services | Scope.Scope> | Handler.Services<H> | Transport.Transport | Scope.Scope
> =>
  Effect.gen(function*() {
    const context = yield* Effect.context<Exclude<R | R2, Services | Scope.Scope>>()
    // Sessions end after the connection: what they are made of is there until the last turn is quiet.
    const sessions = yield* Effect.acquireRelease(
      Effect.sync(() => new Sessions(options as Options<E, never, E2, never, H>, context as Context.Context<never>)),
      (sessions) => sessions.end
    )
    const own = {
      initialize: ({ clientCapabilities, protocolVersion }) =>
        Effect.sync((): Sdk.InitializeResponse => {
          sessions.capabilities = clientCapabilities ?? {}
          return {
            protocolVersion: Math.min(protocolVersion, Sdk.PROTOCOL_VERSION),
            agentInfo: options.info,
            agentCapabilities: {
              promptCapabilities: { embeddedContext: true },
              sessionCapabilities: { close: {} }
            },
            authMethods: []
          }
        }),
      "session/new": (request) => sessions.open(request),
      "session/prompt": (request, { peer }) => sessions.prompt(request, peer),
      "session/close": ({ sessionId }) => sessions.close(sessionId)
    } satisfies AgentSide.Handlers
    const connection = yield* connectSide<Peer.Client, Handler.Services<H>>(
      "agent",
      { ...options.handlers, ...own },
      {}
    )
    sessions.client = connection.peer
    return connection
  })

/** The same as a layer. */
export const layer = <E, R, E2, R2, const H extends Handlers = {}>(
  options: Options<E, R, E2, R2, H>
): Layer.Layer<
  AgentSide.AgentConnection,
  never,
  Exclude<R | R2, Services | Scope.Scope> | Handler.Services<H> | Transport.Transport
> => Layer.effect(AgentSide.AgentConnection, connect(options))
