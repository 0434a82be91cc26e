/**
 * Our requests that the peer has not answered yet.
 *
 * 1. A request leaves `#pending` with its answer, when nobody waits for it any more, or when nobody can answer.
 * 2. `$/cancel_request` is sent at most once for a request, and never for one that is over.
 * 3. An answer to what is not pending is dropped: it is late, a duplicate, or to nothing we asked.
 */
import * as Deferred from "effect/Deferred"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { PeerGone, RequestFailed } from "../AcpError.ts"
import { type AnyMessage, type AnyResponse, cancelRequest, sessionOf } from "./message.ts"

/** A request that was sent: that it is asked to stop, and that it is answered, are two things. */
export interface Asked<A> {
  /** The peer's answer. Interrupting the wait leaves the request alone. */
  readonly answer: Effect.Effect<A, RequestFailed | PeerGone>
  /** Asks the peer to stop: once, however often this runs. `answer` says what became of it. */
  readonly cancel: Effect.Effect<void>
}

/**
 * What a cancellation means for a request that waits for its answer: `wait` asks the peer to stop and waits for the answer
 * as long as the grace lasts; `leave` asks, and does not wait; `finish`, for clean-up, does not ask.
 */
export type WhenCancelled = "wait" | "leave" | "finish"

export interface Pending {
  readonly id: number
  readonly method: string
  readonly sessionId: string | undefined
  readonly whenCancelled: WhenCancelled
  readonly answer: Deferred.Deferred<unknown, RequestFailed | PeerGone>
  cancelled: boolean
}

/** How long a cancelled request is waited for, and who hears of one that was not answered in time. */
export interface Patience {
  readonly grace: Duration.Input
  readonly unanswered: (
    request: { readonly method: string; readonly sessionId: string | undefined }
  ) => Effect.Effect<void>
}

export class Outgoing {
  readonly #send: (message: AnyMessage) => void
  readonly #patience: Patience
  readonly #pending = new Map<number, Pending>()
  #next = 0
  #closed = false

  constructor(send: (message: AnyMessage) => void, patience: Patience) {
    this.#send = send
    this.#patience = patience
  }

  get size(): number {
    return this.#pending.size
  }

  /** The id of the next request: those that are sent until then have lower ones. */
  get next(): number {
    return this.#next
  }

  /** Sends a request. It is pending when this returns. */
  start(method: string, params: unknown, whenCancelled: WhenCancelled): Pending | PeerGone {
    if (this.#closed) return new PeerGone({ method, reason: "closed" })
    const pending: Pending = {
      id: this.#next++,
      method,
      sessionId: sessionOf(params),
      whenCancelled,
      answer: Deferred.makeUnsafe(),
      cancelled: false
    }
    this.#send({ jsonrpc: "2.0", id: pending.id, method, params })
    this.#pending.set(pending.id, pending)
    return pending
  }

  /** A request as two things to do with it. */
  asked(pending: Pending): Asked<unknown> {
    return {
      answer: Deferred.await(pending.answer),
      cancel: Effect.sync(() => this.#cancel(pending))
    }
  }

  /** A request and its answer. Interrupting it does what `whenCancelled` says; what is answered then is nobody's. */
  request(
    method: string,
    params: unknown,
    whenCancelled: WhenCancelled
  ): Effect.Effect<unknown, RequestFailed | PeerGone> {
    return Effect.uninterruptibleMask((restore) => {
      const pending = this.start(method, params, whenCancelled)
      if (pending instanceof PeerGone) return Effect.fail(pending)
      const answer = Deferred.await(pending.answer)
      if (whenCancelled === "finish") return answer
      return Effect.onInterrupt(
        restore(answer),
        () => whenCancelled === "wait" ? this.end(pending) : Effect.sync(() => this.#leave(pending))
      )
    })
  }

  /** Cancels a request and waits for its answer, whatever it is, as long as the grace lasts: `undefined` if it does not. */
  readonly end = (pending: Pending): Effect.Effect<Option.Option<unknown>> => {
    const { grace, unanswered } = this.#patience
    return Effect.suspend(() => {
      this.#cancel(pending)
      return Effect.timeoutOption(Effect.option(Deferred.await(pending.answer)), grace)
    }).pipe(
      Effect.flatMap(Option.match({
        onSome: (answer) => Effect.succeed(answer),
        onNone: () => {
          this.#pending.delete(pending.id)
          return Effect.as(unanswered(pending), Option.none())
        }
      }))
    )
  }

  /** Asks the peer to stop what is going on in a session. */
  cancelSession(sessionId: string): void {
    for (const pending of this.#pending.values()) {
      if (pending.sessionId === sessionId && pending.whenCancelled !== "finish") this.#cancel(pending)
    }
  }

  #leave(pending: Pending): void {
    this.#cancel(pending)
    this.#pending.delete(pending.id)
  }

  #cancel(pending: Pending): void {
    if (pending.cancelled || !this.#pending.has(pending.id)) return
    pending.cancelled = true
    this.#send({ jsonrpc: "2.0", method: cancelRequest, params: { requestId: pending.id } })
  }

  /** Takes the peer's answer; `false`: it is to nothing that is pending. */
  settle(response: AnyResponse): boolean {
    const pending = this.#take(response.id)
    if (pending === undefined) return false
    const { method } = pending
    if ("error" in response) {
      const { code, data, message } = response.error
      Deferred.doneUnsafe(pending.answer, Effect.fail(new RequestFailed({ method, code, reason: message, data })))
    } else {
      Deferred.doneUnsafe(pending.answer, Effect.succeed(response.result))
    }
    return true
  }

  /** Takes an answer that cannot be read. */
  settleInvalid(id: unknown, problem: string): boolean {
    const pending = this.#take(id)
    if (pending === undefined) return false
    const error = new RequestFailed({
      method: pending.method,
      code: -32600,
      reason: `its answer is invalid: ${problem}`,
      data: undefined
    })
    Deferred.doneUnsafe(pending.answer, Effect.fail(error))
    return true
  }

  #take(id: unknown): Pending | undefined {
    // Ours are numbers: `"0"` answers nothing.
    const pending = this.#pending.get(id as number)
    if (pending !== undefined) this.#pending.delete(pending.id)
    return pending
  }

  /** Nobody answers any more, nor can anything be asked. */
  close(): void {
    this.#closed = true
    this.giveUp(this.#next)
  }

  /** Nobody answers the requests that were sent before that one. */
  giveUp(next: number): void {
    const pending = Array.from(this.#pending.values()).filter(({ id }) => id < next)
    for (const { id } of pending) this.#pending.delete(id)
    for (const { answer, method } of pending) {
      Deferred.doneUnsafe(answer, Effect.fail(new PeerGone({ method, reason: "closed" })))
    }
  }
}
