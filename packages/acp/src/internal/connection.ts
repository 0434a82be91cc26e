/**
 * One connection, from its first byte to quiescence.
 *
 * It stands between the wire and the SDK: what the peer asks is entered in `Incoming` before anybody acts on it, what is
 * answered leaves through it, and what we ask is `Outgoing`'s. The SDK checks parameters and finds the handler.
 *
 * 1. All frames of a chunk are seen before the first is acted on: a cancel that came with its request came before it.
 * 2. `session/cancel` meets the prompts that were read before it and none that comes later.
 * 3. Once `ending` is set every request is cancelled when it is read, so that all are answered and none begins.
 * 4. `closed` is the last thing that happens: every handler is quiet, and what could be written is.
 */
import * as Abortable from "@quiesce/core/Abortable"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import { PeerGone, RequestCancelled } from "../AcpError.ts"
import * as Limits from "../Limits.ts"
import type * as Transport from "../Transport.ts"
import { answerOf, cancelled } from "./answer.ts"
import { Decoder, type Frame } from "./frames.ts"
import type { Ending, Host, RawPeer, Router } from "./host.ts"
import { type Entry, Incoming } from "./incoming.ts"
import { Lanes } from "./lanes.ts"
import {
  type AnyNotification,
  type AnyRequest,
  cancelRequest,
  code,
  failure,
  isRecord,
  type JsonRpcId,
  sessionOf
} from "./message.ts"
import { Outgoing } from "./outgoing.ts"
import { Wire } from "./wire.ts"

export class Connection {
  readonly #context: Context.Context<never>
  readonly #transport: Transport.Shape
  readonly #limits: Limits.Limits
  readonly #clock: Clock.Clock
  readonly #decoder: Decoder
  readonly #wire: Wire
  readonly #incoming = new Incoming()
  readonly #outgoing: Outgoing
  readonly #lanes: Lanes<never>
  readonly #router: Router
  readonly #closed = Deferred.makeUnsafe<Ending>()
  readonly #reader: Fiber.Fiber<void>
  readonly #writer: Fiber.Fiber<void>
  #ending: Ending | undefined
  /** A notification was routed, and its handler may not have been started yet. */
  #routed = false
  readonly peer: RawPeer

  constructor(context: Context.Context<never>, transport: Transport.Shape, makeRouter: (host: Host) => Router) {
    this.#context = context
    this.#transport = transport
    this.#limits = Context.get(context, Limits.Current)
    this.#clock = Context.get(context, Clock.Clock)
    this.#decoder = new Decoder(this.#limits)
    this.#wire = new Wire(transport)
    this.#outgoing = new Outgoing(this.#wire.send, { grace: this.#limits.grace, unanswered })
    this.#lanes = new Lanes(context)
    this.#router = makeRouter({ serve: this.#serve, hear: this.#hear, answer: this.#answer })
    this.peer = this.#peerOf(undefined)
    const run = Effect.runForkWith(context)
    this.#writer = run(Effect.matchEffect(this.#wire.pump, { onFailure: this.#fail, onSuccess: () => Effect.void }))
    this.#reader = run(Effect.matchEffect(this.#read, { onFailure: this.#fail, onSuccess: () => Effect.void }))
  }

  /** The requests of the peer that are not answered yet. */
  get live(): ReadonlyArray<Entry> {
    return this.#incoming.live
  }

  /** How many of our own requests wait for an answer. */
  get asking(): number {
    return this.#outgoing.size
  }

  get closed(): Effect.Effect<Ending> {
    return Deferred.await(this.#closed)
  }

  /** Ends the connection, and waits until it is quiet. Interrupting the wait leaves it ending. */
  get close(): Effect.Effect<Ending> {
    return Effect.suspend(() => {
      this.#end({ _tag: "Closed" })
      return this.closed
    })
  }

  get #read(): Effect.Effect<void, Transport.TransportFailed> {
    return Effect.gen({ self: this }, function*() {
      while (true) {
        const chunk = yield* this.#transport.read
        if (chunk === undefined) break
        yield* this.#take(this.#decoder.push(chunk))
        yield* this.#wire.bounded
      }
      yield* this.#take(this.#decoder.flush())
      yield* this.#delivered
      this.#end({ _tag: "EndOfInput" })
    })
  }

  /** Acts on the frames of a chunk. */
  readonly #take = Effect.fnUntraced({ self: this }, function*(this: Connection, frames: ReadonlyArray<Frame>) {
    for (const message of frames.filter((frame) => this.#enter(frame))) {
      switch (message._tag) {
        case "Request":
          this.#router.route(message.message)
          break
        case "Notification":
          this.#routed = true
          this.#router.route(message.message)
          break
        case "Response":
          // What came before an answer is to be heard before it.
          yield* this.#delivered
          if (!this.#outgoing.settle(message.message)) yield* dropped(message.message.id)
      }
    }
  })

  /** Waits until the router has delivered the notifications it was given: it takes turns of promises, and no longer. */
  get #delivered(): Effect.Effect<void> {
    return Effect.suspend(() => {
      if (!this.#routed) return Effect.void
      this.#routed = false
      return Effect.yieldNow
    })
  }

  /** Takes note of a frame; whether something is to be done with it. */
  #enter(frame: Frame): frame is Exclude<Frame, { readonly _tag: "Unreadable" | "Invalid" | "InvalidResponse" }> {
    switch (frame._tag) {
      case "Unreadable":
        return this.#refuse(null, code.parseError, `Parse error: ${frame.problem}`)
      case "Invalid":
        // Under the id of a live request this would be taken for that one's answer.
        return this.#refuse(
          frame.id === undefined || this.#incoming.get(frame.id) !== undefined ? null : frame.id,
          code.invalidRequest,
          `Invalid request: ${frame.problem}`
        )
      case "InvalidResponse":
        this.#outgoing.settleInvalid(frame.id, frame.problem)
        return false
      case "Request":
        return this.#open(frame.message)
      case "Notification":
        return this.#note(frame.message)
      case "Response":
        return true
    }
  }

  #refuse(id: JsonRpcId, code: number, message: string): false {
    this.#wire.send({ jsonrpc: "2.0", id, ...failure(code, message) })
    return false
  }

  #open(message: AnyRequest): boolean {
    const { maxRequests } = this.#limits
    const entry = this.#incoming.open(message, this.#clock.currentTimeMillisUnsafe())
    if (entry === undefined) {
      return this.#refuse(
        message.id,
        code.invalidRequest,
        "Invalid request: a request with this id is not answered yet"
      )
    }
    if (this.#ending !== undefined) entry.controller.abort(new RequestCancelled(byEnding(this.#ending)))
    else if (this.#incoming.size > maxRequests) entry.controller.abort(new RequestCancelled("limit"))
    return true
  }

  #note({ method, params }: AnyNotification): boolean {
    const sessionId = sessionOf(params)
    if (method === cancelRequest) {
      const id = isRecord(params) ? params["requestId"] : undefined
      this.#incoming.cancel((entry) => entry.id === id, new RequestCancelled("$/cancel_request"))
      return false
    }
    if (method === "session/cancel" && sessionId !== undefined) {
      const isPrompt = (entry: Entry) => entry.method === "session/prompt" && entry.sessionId === sessionId
      this.#incoming.cancel(isPrompt, new RequestCancelled("session/cancel"))
      this.#outgoing.cancelSession(sessionId)
    }
    return this.#ending === undefined
  }

  readonly #serve: Host["serve"] = (id, handler, done) => {
    const entry = this.#incoming.get(id)
    if (entry === undefined) return done(failure(code.internalError, "Internal error"))
    const { controller: { signal }, method } = entry
    if (signal.aborted) return done(cancelled(method))
    const request = { id, method, peer: this.#peerOf(entry), signal }
    // Its scope is closed before it is answered.
    const work = Effect.scoped(Effect.suspend(() => handler(request)))
    const fiber = Effect.runForkWith(this.#context)(Abortable.interruptOn(work, signal))
    fiber.addObserver((exit) => {
      if (signal.aborted && Exit.isFailure(exit)) this.#report(`${method} failed while it was cancelled`, exit)
      done(answerOf(method, exit, signal.aborted))
    })
  }

  readonly #hear: Host["hear"] = (params, handler) => {
    const work = Effect.scoped(Effect.suspend(() => handler(this.peer)))
    const logged = Effect.catchCause(work, (cause) => Effect.logWarning("A notification could not be handled", cause))
    this.#lanes.push(sessionOf(params), logged)
  }

  readonly #answer: Host["answer"] = (response) => {
    this.#incoming.answer(response.id, () => this.#wire.send(response))
  }

  /** What only we know: the peer is told that its request was cancelled, and no more. */
  #report(text: string, exit: Exit.Failure<unknown, unknown>): void {
    if (Exit.hasFails(exit) || Exit.hasDies(exit)) {
      Effect.runForkWith(this.#context)(Effect.logDebug(text, exit.cause))
    }
  }

  #peerOf(entry: Entry | undefined): RawPeer {
    const isOver = () => entry?.answered === true
    const refused = (method: string) => Effect.fail(new PeerGone({ method, reason: "answered" }))
    return {
      request: (method, params, whenCancelled) =>
        Effect.suspend(() => isOver() ? refused(method) : this.#outgoing.request(method, params, whenCancelled)),
      start: (method, params) =>
        Effect.suspend(() => {
          if (isOver()) return refused(method)
          const pending = this.#outgoing.start(method, params, "wait")
          return pending instanceof PeerGone ? Effect.fail(pending) : Effect.succeed(this.#outgoing.asked(pending))
        }),
      notify: (method, params) =>
        Effect.suspend(() => {
          if (isOver()) return Effect.logDebug(`${method} was dropped: the request it belongs to is answered`)
          this.#wire.send({ jsonrpc: "2.0", method, params })
          return this.#wire.room
        })
    }
  }

  readonly #fail = (error: Transport.TransportFailed): Effect.Effect<void> =>
    Effect.sync(() => this.#end({ _tag: "Failed", error }))

  /** Asks everything to stop, and sees to it that `closed` is told when it has. */
  #end(ending: Ending): void {
    if (this.#ending !== undefined) {
      if (ending._tag !== "Closed") this.#outgoing.close()
      return
    }
    this.#ending = ending
    this.#wire.hurry()
    this.#incoming.cancel(() => true, new RequestCancelled(byEnding(ending)))
    // A peer that has hung up answers nothing any more. Otherwise it may still say what became of what we cancel.
    if (ending._tag !== "Closed") this.#outgoing.close()
    Effect.runForkWith(this.#context)(this.#finish(ending), { uninterruptible: true })
  }

  #finish(ending: Ending): Effect.Effect<void> {
    return Effect.gen({ self: this }, function*() {
      yield* this.#patiently(this.#incoming.whenIdle)
      this.#outgoing.close()
      yield* this.#lanes.end
      // Asked to stop, the peer need not read: what it does not take in time it does not get.
      yield* Effect.timeoutOption(this.#wire.flushed, this.#limits.grace)
      yield* Fiber.interrupt(this.#writer)
      yield* Fiber.interrupt(this.#reader)
      this.#router.close()
      yield* this.#transport.close
      yield* Deferred.succeed(this.#closed, ending)
    })
  }

  /** Waits, and says whom for: after the grace, and then each time that as long again has passed. */
  #patiently(quiet: Effect.Effect<void>): Effect.Effect<void> {
    const wait = (patience: Duration.Duration): Effect.Effect<void> =>
      Effect.flatMap(
        Effect.timeoutOption(quiet, patience),
        Option.match({
          onSome: () => Effect.void,
          onNone: () =>
            Effect.andThen(
              Effect.logWarning("A connection ends, and waits for requests that were cancelled", this.#unquiet),
              wait(Duration.times(patience, 2))
            )
        })
      )
    return wait(Duration.fromInputUnsafe(this.#limits.grace))
  }

  get #unquiet() {
    const now = this.#clock.currentTimeMillisUnsafe()
    return this.live.map(({ id, method, sinceMillis }) => ({ id, method, forMillis: now - sinceMillis }))
  }
}

const byEnding = ({ _tag }: Ending): RequestCancelled["by"] => _tag === "Closed" ? "close" : "end of input"

const dropped = (id: JsonRpcId): Effect.Effect<void> =>
  Effect.logDebug("An answer was dropped: it is late, or to nothing that was asked", id)

const unanswered = ({ method, sessionId }: { readonly method: string; readonly sessionId: string | undefined }) =>
  Effect.logWarning("A request was cancelled, and its answer did not come in time", { method, sessionId })
