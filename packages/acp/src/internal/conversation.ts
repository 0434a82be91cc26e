/**
 * One turn, as its client hears of it.
 *
 * 1. The client is told in the order in which things happened: what a step said before its calls, of a call before what it
 *    asks of the client, and of all its calls before what the next step says.
 * 2. It is told of all of the turn before the prompt is answered: whoever tells it ends after the turn has.
 */
import type * as Sdk from "@agentclientprotocol/sdk"
import { TooManySteps } from "@quiesce/agent/SessionError"
import * as SessionLog from "@quiesce/agent/SessionLog"
import * as Turn from "@quiesce/agent/Turn"
import type * as ToolCall from "@quiesce/core/ToolCall"
import type * as ToolRegistry from "@quiesce/core/ToolRegistry"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import type * as AcpAgent from "../AcpAgent.ts"
import type * as Peer from "../Peer.ts"
import * as Updates from "../Updates.ts"

export class Conversation {
  readonly #sessionId: string
  readonly #client: Peer.Client
  readonly #describe: Updates.Describe | undefined
  /** The calls that the model asked for and the client has not been told of. */
  readonly #called: Array<Turn.Request> = []
  readonly #announced = new Set<number>()
  /** The calls that the client was told of and not of their ends. */
  readonly #open = new Set<number>()
  /** What was shown of the text of the step that is to come. */
  #said = ""
  #changed: Deferred.Deferred<void> | undefined
  #over = false

  constructor(sessionId: string, client: Peer.Client, describe: Updates.Describe | undefined) {
    this.#sessionId = sessionId
    this.#client = client
    this.#describe = describe
  }

  /** Waits until the client was told of a call, or nobody will tell it. */
  announced(call: number): Effect.Effect<void> {
    return this.#until(() => this.#announced.has(call))
  }

  run<E, R>(
    body: (prompt: AcpAgent.Prompt) => Effect.Effect<Sdk.StopReason | void, E, R>,
    options: Turn.Options | undefined,
    prompt: ReadonlyArray<Sdk.ContentBlock>,
    log: SessionLog.Shape
  ): Effect.Effect<Sdk.PromptResponse, unknown, R | ToolRegistry.ToolRegistry | SessionLog.SessionLog> {
    const begun = new Set<number>()
    // Before a body, and never long: the turn's events are told as fast as the client reads.
    const dispatching = (call: ToolCall.Pending) =>
      Effect.andThen(
        log.journal.dispatching(call),
        Effect.suspend(() => {
          const seq = SessionLog.callOf(call)
          // A wrapper may run a body again, and a body may make calls that carry its own metadata.
          if (seq === undefined || begun.has(seq)) return Effect.void
          begun.add(seq)
          return Effect.andThen(this.announced(seq), this.#tell(Updates.began(seq)))
        })
      )
    let hearing: Fiber.Fiber<void> | undefined
    const turn = Effect.gen({ self: this }, function*() {
      const turn = yield* Effect.provideService(Turn.make(options), SessionLog.SessionLog, {
        ...log,
        journal: { dispatching }
      })
      // Ends with the turn's events, which is after this scope has closed.
      hearing = yield* Effect.forkDetach(this.#hear(turn), { startImmediately: true, uninterruptible: true })
      const text = Updates.textOf(prompt)
      yield* turn.input(text)
      const stopReason = yield* body({
        ...parts(turn),
        prompt,
        text,
        step: (assistant) => this.#step(turn, assistant),
        listen: Effect.succeed(0),
        history: Effect.map(Stream.runCollect(log.read()), (entries) => Array.from(entries)),
        say: (text) => this.#say(text),
        think: (text) => this.#tell(Updates.thought(text)),
        update: (update) => this.#tell(update)
      })
      const cancelled = yield* turn.cancelled
      return { stopReason: cancelled === undefined ? stopReason ?? "end_turn" : "cancelled" }
    })
    return Effect.scoped(turn).pipe(
      Effect.catchIf(
        (error) => error instanceof TooManySteps,
        (): Effect.Effect<Sdk.PromptResponse> => Effect.succeed({ stopReason: "max_turn_requests" })
      ),
      Effect.ensuring(Effect.suspend(() => hearing === undefined ? Effect.void : Fiber.await(hearing)))
    )
  }

  #tell(update: Sdk.SessionUpdate): Effect.Effect<void> {
    return this.#client.notify("session/update", { sessionId: this.#sessionId, update })
  }

  #say(text: string): Effect.Effect<void> {
    return Effect.suspend(() => {
      if (text === "") return Effect.void
      this.#said += text
      return this.#tell(Updates.message(text))
    })
  }

  #step(turn: Turn.Turn, assistant: Turn.Assistant) {
    return Effect.gen({ self: this }, function*() {
      const { calls, text = "" } = assistant
      // A model that streams has shown it, or all but its end.
      yield* this.#say(text.startsWith(this.#said) ? text.slice(this.#said.length) : text)
      this.#said = ""
      this.#called.push(...calls)
      const outcome = yield* turn.step(assistant)
      yield* this.#until(() => this.#called.length === 0 && this.#open.size === 0)
      return outcome
    })
  }

  #hear(turn: Turn.Turn): Effect.Effect<void> {
    const told = Stream.runForEach(turn.events, (event) => {
      const request = event._tag === "Called" ? this.#called.shift() : undefined
      const update = Updates.ofEvent(event, request, this.#describe)
      return Effect.andThen(
        update === undefined ? Effect.void : this.#tell(update),
        Effect.sync(() => this.#note(event))
      )
    })
    return Effect.ensuring(
      Effect.catchCause(told, (cause) => Effect.logWarning("A client could not be told of its turn", cause)),
      Effect.sync(() => {
        this.#over = true
        this.#wake()
      })
    )
  }

  #note(event: Turn.Event): void {
    if (event._tag === "Called") {
      this.#open.add(event.call)
      this.#announced.add(event.call)
    } else if (event._tag === "Settled") {
      this.#open.delete(event.call)
    } else return
    this.#wake()
  }

  #until(holds: () => boolean): Effect.Effect<void> {
    return Effect.suspend(() =>
      this.#over || holds()
        ? Effect.void
        : Effect.andThen(Deferred.await(this.#changed ??= Deferred.makeUnsafe()), this.#until(holds))
    )
  }

  #wake(): void {
    const changed = this.#changed
    this.#changed = undefined
    if (changed !== undefined) Deferred.doneUnsafe(changed, Effect.void)
  }
}

/** A turn's own, taken from an object whose methods are on its class. */
const parts = ({ cancel, cancelCall, cancelled, events, input, seq }: Turn.Turn) => ({
  seq,
  input,
  cancel,
  cancelCall,
  cancelled,
  events
})
