/**
 * One connection, from its first byte to quiescence.
 *
 * It reads: what the peer asks is entered in `Incoming` before anybody acts on it, and given to `Serving`; what it answers
 * is `Outgoing`'s. And it ends, in the one order in which all can become quiet.
 *
 * 1. All frames of a chunk are seen before the first is acted on: a cancel that came with its request came before it.
 * 2. `session/cancel` meets the prompts that were read before it and none that comes later.
 * 3. Once `ending` is set every request is cancelled when it is read, so that all are answered and none begins.
 * 4. `closed` is the last thing that happens: every handler is quiet, and what could be written is.
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import { NotHeard, RequestCancelled, type RouterFailed } from "../AcpError.ts"
import * as Limits from "../Limits.ts"
import * as Transport from "../Transport.ts"
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
import { whenQuiet } from "./patience.ts"
import { makePeer } from "./peer.ts"
import { Serving } from "./serving.ts"
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
  readonly #serving: Serving
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
    const peerOf = (entry: Entry | undefined) => makePeer(this.#outgoing, this.#wire, () => entry?.answered === true)
    this.peer = peerOf(undefined)
    const failed = (error: RouterFailed) => this.#end({ _tag: "Failed", error })
    this.#serving = new Serving(
      { context, incoming: this.#incoming, lanes: this.#lanes, wire: this.#wire, peerOf, failed },
      makeRouter
    )
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
          this.#serving.route(message.message)
          break
        case "Notification":
          this.#routed = true
          this.#serving.route(message.message)
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
      yield* whenQuiet(this.#incoming, this.#outgoing, this.#limits.grace)
      this.#outgoing.close()
      yield* this.#lanes.end
      // Asked to stop, the peer need not read: what it does not take in time it does not get.
      yield* Effect.timeoutOption(this.#wire.flushed, this.#limits.grace)
      yield* Fiber.interrupt(this.#writer)
      yield* Fiber.interrupt(this.#reader)
      this.#serving.close()
      yield* this.#transport.close
      yield* Deferred.succeed(this.#closed, ending)
    })
  }
}

const byEnding = ({ _tag }: Ending): RequestCancelled["by"] => _tag === "Closed" ? "close" : "end of input"

const dropped = (id: JsonRpcId): Effect.Effect<void> =>
  Effect.logDebug("An answer was dropped: it is late, or to nothing that was asked", id)

const unanswered = ({ method, sessionId }: { readonly method: string; readonly sessionId: string | undefined }) =>
  Effect.logWarning("A request was cancelled, and its answer did not come in time", { method, sessionId })
