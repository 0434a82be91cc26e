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
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import { NotHeard, PeerGone, RequestCancelled, RouterFailed } from "../AcpError.ts"
import * as Limits from "../Limits.ts"
import * as Transport from "../Transport.ts"
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
  /** The router has ended before the connection did. */
  #isLost = false
  /** It is quiet: what ends now was told to. */
  #isOver = false
  /** The requests whose handlers run. */
  readonly #served = new Set<Entry>()
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
    this.#router = makeRouter({ serve: this.#serve, hear: this.#hear, answer: this.#answer, lost: this.#lose })
    this.peer = this.#peerOf(undefined)
    const run = Effect.runForkWith(context)
    this.#writer = run(Effect.catchCause(this.#wire.pump, this.#fail("write")))
    // Not at once: what fails when it begins ends a connection that is there.
    this.#reader = run(Effect.andThen(Effect.yieldNow, Effect.catchCause(this.#read, this.#fail("read"))))
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
        yield* this.#delivered
        yield* this.#heard
      }
      yield* this.#take(this.#decoder.flush())
      yield* this.#delivered
      this.#end({ _tag: "EndOfInput" })
    })
  }

  /** Waits until listeners have taken so much of what was read that more may be. */
  get #heard(): Effect.Effect<void> {
    return Effect.suspend(() => {
      if (this.#ending !== undefined || this.#lanes.load.bytes <= this.#limits.maxUnheardBytes) return Effect.void
      return Effect.flatMap(
        Effect.timeoutOption(this.#lanes.progress, this.#limits.grace),
        (progress) => {
          // What they wait for may be what is not read: an answer, a cancel, the end of the input.
          if (Option.isNone(progress)) this.#end({ _tag: "Failed", error: new NotHeard(this.#lanes.load) })
          return this.#heard
        }
      )
    })
  }

  /** Acts on the frames of a chunk. */
  readonly #take = Effect.fnUntraced({ self: this }, function*(this: Connection, frames: ReadonlyArray<Frame>) {
    for (const message of frames.filter((frame) => this.#enter(frame))) {
      switch (message._tag) {
        case "Request":
          if (this.#isLost) this.#abandon(message.message)
          else this.#router.route(message.message)
          break
        case "Notification":
          this.#routed = true
          if (!this.#isLost) this.#router.route(message.message)
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
    this.#served.add(entry)
    fiber.addObserver((exit) => {
      this.#served.delete(entry)
      if (signal.aborted && Exit.isFailure(exit)) this.#report(`${method} failed while it was cancelled`, exit)
      const result = answerOf(method, exit, signal.aborted)
      if (this.#isLost) this.#answer({ jsonrpc: "2.0", id, ...result })
      else done(result)
    })
  }

  /** Without a router requests are answered from here: those whose handlers run when these have ended, others now. */
  readonly #lose: Host["lost"] = (cause) => {
    // It was told to end.
    if (this.#isOver) return
    this.#isLost = true
    this.#end({ _tag: "Failed", error: new RouterFailed({ cause }) })
    for (const entry of this.live) if (!this.#served.has(entry)) this.#abandon(entry)
  }

  #abandon({ id, method }: Pick<Entry, "id" | "method">): void {
    this.#answer({ jsonrpc: "2.0", id, ...cancelled(method) })
  }

  readonly #hear: Host["hear"] = (params, handler) => {
    const work = Effect.scoped(Effect.suspend(() => handler(this.peer)))
    const logged = work.pipe(
      Effect.catchCause((cause) => Effect.logWarning("A notification could not be handled", cause)),
      // Nor may it be told: the next one is handled.
      Effect.catchCause(() => Effect.void)
    )
    this.#lanes.push(sessionOf(params), logged, JSON.stringify(params)?.length ?? 0)
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
      start: (method, params, whenCancelled) =>
        Effect.suspend(() => {
          if (isOver()) return refused(method)
          const pending = this.#outgoing.start(method, params, whenCancelled)
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

  /** A transport that dies has failed like any other. */
  readonly #fail =
    (operation: "read" | "write") => (cause: Cause.Cause<Transport.TransportFailed>): Effect.Effect<void> => {
      if (Cause.hasInterruptsOnly(cause)) return Effect.void
      const error = Cause.squash(cause)
      return Effect.sync(() =>
        this.#end({
          _tag: "Failed",
          error: error instanceof Transport.TransportFailed
            ? error
            : new Transport.TransportFailed({ operation, cause: error })
        })
      )
    }

  /** Asks everything to stop, and sees to it that `closed` is told when it has. */
  #end(ending: Ending): void {
    if (this.#ending !== undefined) {
      if (ending._tag !== "Closed") this.#outgoing.close()
      return
    }
    this.#ending = ending
    this.#wire.hurry()
    this.#lanes.wake()
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
      this.#isOver = true
      this.#router.close()
      yield* this.#transport.close
      yield* Deferred.succeed(this.#closed, ending)
    })
  }

  /**
   * Waits, and says whom for: after the grace, and then each time that as long again has passed. What those wait for whom
   * nothing else ends, an answer of the peer, comes until then or not at all.
   */
  #patiently(quiet: Effect.Effect<void>): Effect.Effect<void> {
    const wait = (patience: Duration.Duration, asked: number): Effect.Effect<void> =>
      Effect.flatMap(
        Effect.timeoutOption(quiet, patience),
        Option.match({
          onSome: () => Effect.void,
          onNone: () =>
            Effect.andThen(
              Effect.logWarning("A connection ends, and waits for requests that were cancelled", this.#unquiet),
              Effect.suspend(() => {
                const { next } = this.#outgoing
                this.#outgoing.giveUp(asked)
                return wait(Duration.times(patience, 2), next)
              })
            )
        })
      )
    return Effect.suspend(() => wait(Duration.fromInputUnsafe(this.#limits.grace), this.#outgoing.next))
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
