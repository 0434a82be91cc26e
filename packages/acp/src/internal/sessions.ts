/**
 * The sessions of a connection.
 *
 * 1. A session's turns hold its one permit: a prompt that comes while another runs waits for it, and can be cancelled there.
 * 2. A prompt is answered when its turn is quiet, and the client has been told of all of it.
 * 3. A session that is closed has no turn any more when its scope closes, and gets none.
 */
import * as Sdk from "@agentclientprotocol/sdk"
import * as SessionLog from "@quiesce/agent/SessionLog"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as Semaphore from "effect/Semaphore"
import type * as AcpAgent from "../AcpAgent.ts"
import { AcpSession, type Shape } from "../AcpSession.ts"
import type * as Peer from "../Peer.ts"
import { Conversation } from "./conversation.ts"

interface Session {
  readonly shape: Shape
  readonly context: Context.Context<AcpAgent.Services>
  readonly scope: Scope.Closeable
  readonly turns: Semaphore.Semaphore
  /** Those who run a prompt, or wait for their turn. */
  readonly prompts: Set<Fiber.Fiber<unknown, unknown>>
  /** The turn that runs, as its client hears of it. */
  conversation: Conversation | undefined
}

type Options = Omit<AcpAgent.Options<unknown, never, unknown, never>, "handlers">

export class Sessions {
  readonly #options: Options
  readonly #context: Context.Context<never>
  readonly #sessions = new Map<string, Session>()
  capabilities: Sdk.ClientCapabilities = {}
  /** Set when the connection is there, and so before anybody asks for a session. */
  declare client: Peer.Client

  constructor(options: Options, context: Context.Context<never>) {
    this.#options = options
    this.#context = context
  }

  readonly open = (
    { cwd, mcpServers }: Sdk.NewSessionRequest
  ): Effect.Effect<Sdk.NewSessionResponse, unknown, Scope.Scope> =>
    Effect.uninterruptibleMask((restore) =>
      Effect.gen({ self: this }, function*() {
        const sessionId = crypto.randomUUID()
        const shape: Shape = {
          sessionId,
          cwd,
          mcpServers,
          capabilities: this.capabilities,
          client: this.client,
          decisions: new Map(),
          announced: (call) => Effect.suspend(() => session.conversation?.announced(call) ?? Effect.void)
        }
        const scope = yield* Scope.make()
        const services = Layer.succeed(AcpSession, shape)
        const layer = Layer.merge(Layer.provide(this.#options.session, services), services)
        const context = yield* restore(Layer.buildWithScope(layer, scope)).pipe(
          Effect.provideContext(this.#context),
          Effect.onError((cause) => Scope.close(scope, Exit.failCause(cause)))
        )
        const session: Session = {
          shape,
          context: Context.merge(this.#context, context),
          scope,
          turns: Semaphore.makeUnsafe(1),
          prompts: new Set(),
          conversation: undefined
        }
        this.#sessions.set(sessionId, session)
        // Cancelled in this moment, the request is answered so, and nobody is told of its session.
        yield* Effect.addFinalizer((exit) => Exit.isSuccess(exit) ? Effect.void : this.close(sessionId))
        return { sessionId }
      })
    )

  readonly prompt = (
    { prompt, sessionId }: Sdk.PromptRequest,
    peer: Peer.Client
  ): Effect.Effect<Sdk.PromptResponse, unknown> =>
    Effect.withFiber((fiber) => {
      const session = this.#sessions.get(sessionId)
      if (session === undefined) return Effect.fail(Sdk.RequestError.sessionNotFound(sessionId))
      session.prompts.add(fiber)
      return Effect.ensuring(
        session.turns.withPermit(this.#turn(session, prompt, peer)),
        Effect.sync(() => session.prompts.delete(fiber))
      )
    })

  #turn(
    session: Session,
    prompt: ReadonlyArray<Sdk.ContentBlock>,
    peer: Peer.Client
  ): Effect.Effect<Sdk.PromptResponse, unknown> {
    return Effect.suspend(() => {
      const { describe, options, turn } = this.#options
      const conversation = session.conversation = new Conversation(session.shape.sessionId, peer, describe)
      const log = Context.get(session.context, SessionLog.SessionLog)
      const run = conversation.run(turn, options, prompt, log)
      return Effect.ensuring(
        Effect.provideContext(run, session.context),
        Effect.sync(() => session.conversation = undefined)
      )
    })
  }

  /** Cancels the turns of a session, waits for them, and closes it. Nothing happens for one that is not there. */
  close(sessionId: string): Effect.Effect<Sdk.CloseSessionResponse> {
    return Effect.uninterruptible(Effect.suspend(() => {
      const session = this.#sessions.get(sessionId)
      if (session === undefined) return Effect.succeed({})
      // Nobody finds it any more.
      this.#sessions.delete(sessionId)
      return Effect.andThen(Fiber.interruptAll(session.prompts), Scope.close(session.scope, Exit.void)).pipe(
        Effect.as({})
      )
    }))
  }

  /** Closes them all. */
  get end(): Effect.Effect<void> {
    return Effect.suspend(() =>
      Effect.forEach(Array.from(this.#sessions.keys()), (sessionId) => this.close(sessionId), {
        concurrency: "unbounded",
        discard: true
      })
    )
  }
}
