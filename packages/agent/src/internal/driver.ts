/**
 * The state of one turn.
 *
 * 1. Steps come one after the other: each holds the one permit, and so does an input.
 * 2. The first cause of a cancellation counts, until the turn is disposed.
 * 3. `end` is the last thing that happens: after it nothing is published, and the log has the turn's end.
 */
import * as CancelReason from "@quiesce/core/CancelReason"
import type * as ToolRegistry from "@quiesce/core/ToolRegistry"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Queue from "effect/Queue"
import * as Semaphore from "effect/Semaphore"
import * as Stream from "effect/Stream"
import type { AppendError } from "../LogError.ts"
import type { Seq } from "../LogEvent.ts"
import * as SessionLog from "../SessionLog.ts"
import type * as Turn from "../Turn.ts"
import { argumentsOf } from "./arguments.ts"
import { Broadcast } from "./broadcast.ts"
import { type Host, of, Step } from "./step.ts"

export interface Settings extends Pick<Host, "log" | "registry" | "maxParallel" | "onFailure"> {
  readonly seq: Seq
}

export class Driver implements Turn.Turn {
  readonly seq: Seq
  readonly #settings: Settings
  readonly #host: Host
  readonly #news = new Broadcast<Turn.Event>()
  readonly #oneAtATime = Semaphore.makeUnsafe(1)
  #cause: Turn.Cause | undefined
  /** What the calls hear: the first cause, as an object they can recognize. */
  #reason: CancelReason.CancelReason | undefined
  /** The steps that run or wait for their turn, and the one that runs. */
  #steps = 0
  #step: Step | undefined
  #ended = false
  #failed = false

  constructor(settings: Settings) {
    this.#settings = settings
    this.seq = settings.seq
    this.#host = { ...settings, reason: () => this.#reason, publish: (event) => this.#news.publish(event) }
  }

  readonly cancelled: Effect.Effect<Turn.Cause | undefined> = Effect.sync(() => this.#cause)

  readonly input = (text: string): Effect.Effect<void, AppendError> =>
    this.#exclusively(Effect.asVoid(this.#settings.log.append({ _tag: "input", turn: this.seq, text })))

  readonly step = (assistant: Turn.Assistant): Effect.Effect<Turn.Outcome, AppendError> =>
    Effect.uninterruptibleMask((restore) =>
      Effect.suspend(() => {
        this.#steps++
        const work = Effect.ensuring(this.#exclusively(this.#run(assistant)), Effect.sync(() => this.#steps--))
        // On a fiber of its own, so that whoever is interrupted here can cancel the turn and wait for it.
        const running = Effect.forkDetach(work, { startImmediately: true, uninterruptible: true })
        return Effect.flatMap(running, (fiber) =>
          Effect.onInterrupt(
            restore(Fiber.join(fiber)),
            () => Effect.andThen(this.cancel("parent"), Fiber.await(fiber))
          ))
      })
    )

  readonly cancel = (cause: Turn.Cause): Effect.Effect<void> =>
    // All of it, also for whoever is interrupted meanwhile.
    Effect.uninterruptible(Effect.suspend(() => {
      if (this.#ended || (this.#cause !== undefined && cause !== "disposed") || this.#cause === cause) {
        return Effect.void
      }
      this.#cause = cause
      this.#host.publish({ _tag: "Cancelled", cause })
      if (this.#reason !== undefined) return Effect.void
      const reason = this.#reason = CancelReason.caller(
        new DOMException(`the turn was cancelled (${cause})`, "AbortError")
      )
      const step = this.#step
      if (step === undefined) return Effect.void
      return Effect.andThen(step.cancel(reason), Effect.sync(() => step.wake()))
    }))

  readonly cancelCall = (
    call: Seq | string,
    reason: CancelReason.CancelReason = CancelReason.caller(new DOMException("the call was cancelled", "AbortError"))
  ): Effect.Effect<number> =>
    Effect.suspend(() => {
      const step = this.#step
      const slots = step?.slots.filter(({ request, seq }) =>
        typeof call === "number" ? seq === call : request.callId === call
      ) ?? []
      const reached = Effect.forEach(slots, (slot) => step!.cancelOne(slot, reason))
      return Effect.map(Effect.uninterruptible(reached), (reached) => reached.filter((it) => it).length)
    })

  /** Cancels what still runs, waits for it, and ends the turn in the log. */
  end(exit: Exit.Exit<unknown, unknown>): Effect.Effect<void> {
    const isCut = exit._tag === "Failure" && Cause.hasInterrupts(exit.cause)
    const last = Effect.suspend(() => {
      this.#ended = true
      const hasFailed = exit._tag === "Failure" || this.#failed
      const ending = this.#cause !== undefined ? "cancelled" : hasFailed ? "failed" : "completed"
      // A log that cannot take it, or that lacks a result, is closed by recovery.
      return Effect.ignore(this.#settings.log.append({ _tag: "turn/end", turn: this.seq, ending }))
    })
    return Effect.suspend(() => isCut || this.#steps > 0 ? this.cancel("parent") : Effect.void).pipe(
      Effect.andThen(this.#oneAtATime.withPermit(last)),
      Effect.andThen(Effect.sync(() => this.#news.end()))
    )
  }

  /** Behind the end of the turn the log refuses what `work` writes. */
  #exclusively<A>(work: Effect.Effect<A, AppendError>): Effect.Effect<A, AppendError> {
    return this.#oneAtATime.withPermit(work)
  }

  readonly #run = Effect.fnUntraced({ self: this }, function*(
    this: Driver,
    { calls, text }: Turn.Assistant
  ): Effect.fn.Return<Turn.Outcome, AppendError> {
    const { log } = this.#settings
    const requested = calls.map((request) => ({ request, arguments: argumentsOf(request.arguments) }))
    // Together, so that a crash leaves all of the step or nothing of it.
    const written = yield* log.append(
      { _tag: "assistant", turn: this.seq, text: text ?? "" },
      ...requested.map(({ arguments: args, request: { callId, name } }) =>
        ({ _tag: "tool/call", turn: this.seq, callId, name, arguments: args }) as const
      )
    )
    const step = new Step(this.#host, requested.map((call, index) => ({ ...call, seq: written[index + 1]!.seq })))
    for (const slot of step.slots) this.#host.publish({ _tag: "Called", ...of(slot) })
    this.#step = step
    const results = yield* Effect.ensuring(
      Effect.tapCause(step.run, () => Effect.sync(() => this.#failed = true)),
      Effect.sync(() => this.#step = undefined)
    )
    return {
      results,
      contexts: results.flatMap(({ contexts }) => contexts),
      concludes: results.some((result) => result._tag === "Success" && result.concludesTurn),
      cancelled: this.#cause
    }
  })

  /** Our own news, and what the registry knows of our calls. */
  get events(): Stream.Stream<Turn.Event> {
    const { registry } = this.#settings
    const stages = Stream.flatMap(registry.changes, (change) => Stream.fromIterable(this.#stageOf(change)))
    const progress = Stream.callback<Turn.Event>((queue) =>
      registry.observe({
        progress: (call, progress) =>
          Effect.sync(() => {
            const seq = SessionLog.callOf(call)
            const slot = this.#step?.slots.find((slot) => slot.seq === seq)
            if (slot !== undefined) Queue.offerUnsafe(queue, { _tag: "Progress", ...of(slot), progress })
          })
        // A consumer that lags needs the latest progress of some calls, and not all there was.
      }), { bufferSize: 1024, strategy: "sliding" })
    return Stream.merge(this.#news.stream, Stream.merge(stages, progress), { haltStrategy: "left" })
  }

  /** Of calls that others make with the same registry, and of ours that have settled, it tells nothing. */
  #stageOf({ cancelling, sinceMillis, stage, token }: ToolRegistry.InFlight): ReadonlyArray<Turn.Event> {
    const slot = this.#step?.slots.find(({ call }) => call?.token === token)
    return slot === undefined ? [] : [{ _tag: "Stage", ...of(slot), stage, sinceMillis, cancelling }]
  }
}
