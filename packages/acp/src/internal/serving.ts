/**
 * What the peer asks and tells, on its way to the handlers; what the handlers come to, on its way back.
 *
 * 1. A request that was cancelled before its handler is found is answered without it.
 * 2. A request is answered when the fiber of its handler has ended, and its scope is closed.
 * 3. Requests are answered also when the router has ended by itself: those whose handlers run when these have ended, others
 *    at once.
 */
import * as Abortable from "@quiesce/core/Abortable"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { RouterFailed } from "../AcpError.ts"
import { answerOf, cancelled } from "./answer.ts"
import type { Host, RawPeer, Router } from "./host.ts"
import type { Entry, Incoming } from "./incoming.ts"
import type { Lanes } from "./lanes.ts"
import {
  type AnyNotification,
  type AnyRequest,
  code,
  failure,
  type JsonRpcId,
  type Result,
  sessionOf
} from "./message.ts"
import type { Wire } from "./wire.ts"

/** What it serves with, and who hears that its router has ended. */
export interface Means {
  readonly context: Context.Context<never>
  readonly incoming: Incoming
  readonly lanes: Lanes<never>
  readonly wire: Wire
  /** The peer as the handler of a request sees it, or as listeners do. */
  readonly peerOf: (entry: Entry | undefined) => RawPeer
  readonly failed: (error: RouterFailed) => void
}

export class Serving {
  readonly #means: Means
  readonly #router: Router
  /** The requests whose handlers run. */
  readonly #running = new Set<Entry>()
  /** Whether the router is there, has ended by itself, or was told to end. */
  #state: "served" | "lost" | "over" = "served"

  constructor(means: Means, makeRouter: (host: Host) => Router) {
    this.#means = means
    this.#router = makeRouter({ serve: this.#serve, hear: this.#hear, answer: this.#answer, lost: this.#lose })
  }

  /** Has a message handled. */
  route(message: AnyRequest | AnyNotification): void {
    if (this.#state === "served") this.#router.route(message)
    else if ("id" in message) this.#abandon(message)
  }

  /** Ends the router: all is quiet. */
  close(): void {
    this.#state = "over"
    this.#router.close()
  }

  readonly #serve: Host["serve"] = (id, handler, done) => {
    const { context, incoming, peerOf } = this.#means
    const entry = incoming.get(id)
    if (entry === undefined) return done(failure(code.internalError, "Internal error"))
    const { controller: { signal }, method } = entry
    if (signal.aborted) return done(cancelled(method))
    const request = { id, method, peer: peerOf(entry), signal }
    const work = Effect.scoped(Effect.suspend(() => handler(request)))
    const fiber = Effect.runForkWith(context)(Abortable.interruptOn(work, signal))
    this.#running.add(entry)
    fiber.addObserver((exit) => {
      this.#running.delete(entry)
      if (signal.aborted && Exit.isFailure(exit)) this.#report(`${method} failed while it was cancelled`, exit)
      const result = answerOf(method, exit, signal.aborted)
      if (this.#state === "served") done(result)
      else this.#reply(id, result)
    })
  }

  readonly #hear: Host["hear"] = (params, handler) => {
    const { lanes, peerOf } = this.#means
    const work = Effect.scoped(Effect.suspend(() => handler(peerOf(undefined))))
    const logged = work.pipe(
      Effect.catchCause((cause) => Effect.logWarning("A notification could not be handled", cause)),
      // Nor may it be told: the next one is handled.
      Effect.catchCause(() => Effect.void)
    )
    lanes.push(sessionOf(params), logged, JSON.stringify(params)?.length ?? 0)
  }

  readonly #answer: Host["answer"] = (response) => {
    const { incoming, wire } = this.#means
    incoming.answer(response.id, () => wire.send(response))
  }

  readonly #lose: Host["lost"] = (cause) => {
    if (this.#state === "over") return
    this.#state = "lost"
    this.#means.failed(new RouterFailed({ cause }))
    for (const entry of this.#means.incoming.live) if (!this.#running.has(entry)) this.#abandon(entry)
  }

  #abandon({ id, method }: Pick<Entry, "id" | "method">): void {
    this.#reply(id, cancelled(method))
  }

  #reply(id: JsonRpcId, result: Result<unknown>): void {
    this.#answer({ jsonrpc: "2.0", id, ...result })
  }

  /** What only we know: the peer is told that its request was cancelled, and no more. */
  #report(text: string, exit: Exit.Failure<unknown, unknown>): void {
    if (Exit.hasFails(exit) || Exit.hasDies(exit)) {
      Effect.runForkWith(this.#means.context)(Effect.logDebug(text, exit.cause))
    }
  }
}
