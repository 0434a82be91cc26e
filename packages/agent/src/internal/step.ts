/**
 * The calls of one step, from the model's request to their results.
 *
 * One loop starts them, and a fiber for each waits for its result. Nothing races: a cancellation cancels the calls, so
 * that whatever the loop waits for comes to pass, and the loop answers what it did not start.
 *
 * 1. A slot leaves `waiting` in the operation that decides what becomes of it: nobody else decides that again.
 * 2. A result counts once it is in the log. Until then its call takes up its place in the pool.
 * 3. After a fault nothing starts and nothing is answered; what has started is waited for.
 */
import type { CancelReason } from "@quiesce/core/CancelReason"
import * as Journal from "@quiesce/core/Journal"
import type * as ToolRegistry from "@quiesce/core/ToolRegistry"
import type * as ToolResult from "@quiesce/core/ToolResult"
import type * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import type { AppendError } from "../LogError.ts"
import type { Arguments, Seq } from "../LogEvent.ts"
import * as SessionLog from "../SessionLog.ts"
import type * as Turn from "../Turn.ts"
import { aborted, unreadable } from "./closing.ts"

/** What a turn tells the calls of its step, and hears of them. */
export interface Host {
  readonly log: SessionLog.Shape
  readonly registry: ToolRegistry.Shape
  readonly maxParallel: number
  readonly onFailure: NonNullable<Turn.Options["onFailure"]>
  /** Why the turn was cancelled, as its calls hear it; `undefined` while it was not. */
  readonly reason: () => CancelReason | undefined
  readonly publish: (event: Turn.Event) => void
}

export interface Slot {
  readonly seq: Seq
  readonly request: Turn.Request
  /** As the log has them. */
  readonly arguments: Arguments
  state: "waiting" | "running" | "answering" | "settled"
  call: ToolRegistry.Call | undefined
  /** It was cancelled alone while it was being started. */
  cancelled: CancelReason | undefined
  result: ToolResult.ToolResult | undefined
}

export class Step {
  readonly slots: ReadonlyArray<Slot>
  readonly #host: Host
  /** The slots before this one are committed. */
  #committed = 0
  /** What kept a result from the log. */
  #fault: Cause.Cause<AppendError> | undefined
  /** The call whose failure the others do not survive. */
  #failed: Slot | undefined
  #changes = 0
  readonly #waiters = new Set<() => void>()

  constructor(host: Host, calls: ReadonlyArray<Pick<Slot, "seq" | "request" | "arguments">>) {
    this.#host = host
    this.slots = calls.map((call): Slot => ({
      ...call,
      state: "waiting",
      call: undefined,
      cancelled: undefined,
      result: undefined
    }))
  }

  /** Runs the calls. Uninterruptible: to end it early, cancel it. */
  get run(): Effect.Effect<ReadonlyArray<ToolResult.ToolResult>, AppendError> {
    return Effect.gen({ self: this }, function*() {
      for (const slot of this.slots) yield* this.#next(slot)
      yield* this.#until(() => this.slots.every(({ state }) => state === "settled" || state === "waiting"))
      if (this.#fault !== undefined) return yield* Effect.failCause(this.#fault)
      return this.slots.map(({ result }) => result!)
    })
  }

  /** Cancels what runs. What waits the loop will answer. */
  cancel(reason: CancelReason): Effect.Effect<void> {
    return Effect.forEach(this.slots, ({ call }) => call === undefined ? Effect.void : call.cancel(reason), {
      discard: true
    })
  }

  /** Cancels one call; `false` when it is over. */
  cancelOne(slot: Slot, reason: CancelReason): Effect.Effect<boolean> {
    return Effect.suspend(() => {
      switch (slot.state) {
        case "waiting":
          return Effect.as(this.#answer(slot, aborted(slot.request, false, { detail: { cancelled: "call" } })), true)
        case "running":
          slot.cancelled = reason
          return slot.call === undefined ? Effect.succeed(true) : Effect.as(slot.call.cancel(reason), true)
        case "answering":
        case "settled":
          return Effect.succeed(false)
      }
    })
  }

  /** Starts `slot` when it is its turn, or answers it. */
  readonly #next = Effect.fnUntraced({ self: this }, function*(this: Step, slot: Slot) {
    const mode = yield* this.#room(slot)
    // Cancelled alone while it waited, or never to be answered.
    if (slot.state !== "waiting" || this.#fault !== undefined) return
    const refusal = this.#refuse(slot)
    if (refusal !== undefined) return yield* this.#answer(slot, refusal)
    // Here, in the operation that looked (1): what `#start` does begins in another one.
    slot.state = "running"
    yield* this.#start(slot)
    if (mode === "exclusive") yield* this.#until(() => slot.state === "settled")
  })

  /** Waits until there is room for `slot` in the pool, or no need of any. Yields its mode as of then. */
  readonly #room = Effect.fnUntraced({ self: this }, function*(this: Step, slot: Slot) {
    while (true) {
      const seen = this.#changes
      // Each time: the tool may have been replaced by another one while its call waited.
      const mode = yield* this.#mode(slot)
      if (slot.state !== "waiting" || this.#fault !== undefined || this.#refuse(slot) !== undefined) return mode
      const running = this.#running
      if (mode === "exclusive" ? running === 0 : running < this.#host.maxParallel) return mode
      yield* this.#until(() => this.#changes > seen)
    }
  })

  #mode({ request }: Slot) {
    return Effect.map(
      this.#host.registry.tools,
      (tools) => tools.find(({ name }) => name === request.name)?.mode ?? "parallel"
    )
  }

  get #running(): number {
    return this.slots.reduce((sum, { state }) => state === "running" ? sum + 1 : sum, 0)
  }

  /** The result of a call that is not to run. */
  #refuse({ arguments: args, request }: Slot): ToolResult.ToolResult | undefined {
    switch (args._tag) {
      case "Incomplete":
        return aborted(request, false, { text: "its arguments are incomplete", detail: { incomplete: args.text } })
      case "NotJson":
        return unreadable(request, args.problem)
      case "Complete":
    }
    if (this.#host.reason() !== undefined) return aborted(request, false, { detail: { cancelled: "turn" } })
    return this.#failed && aborted(request, false, {
      text: `skipped, since ${this.#failed.request.name} failed`,
      detail: { skipped: this.#failed.request.callId }
    })
  }

  readonly #start = Effect.fnUntraced({ self: this }, function*(this: Step, slot: Slot) {
    const { log, publish, reason, registry } = this.#host
    const { arguments: args, request: { callId, metadata, name }, seq } = slot
    publish({ _tag: "Started", call: seq, callId, name })
    const started = yield* Effect.exit(Effect.provideService(
      registry.start({
        callId,
        name,
        arguments: args._tag === "Complete" ? args.json : undefined,
        metadata: { ...metadata, ...SessionLog.metadata(seq) }
      }),
      Journal.Current,
      log.journal
    ))
    // A registry that is wired wrongly says so by dying.
    if (started._tag === "Failure") return this.#break(slot, started.cause)
    const call = slot.call = started.value
    yield* Effect.forkDetach(this.#await(slot, call))
    // A policy or a body may have cancelled it, or the turn, before we could name it.
    const cancelled = slot.cancelled ?? reason()
    if (cancelled !== undefined) yield* call.cancel(cancelled)
    yield* call.admitted
  })

  #await(slot: Slot, call: ToolRegistry.Call): Effect.Effect<void> {
    return Effect.matchCauseEffect(call.result, {
      onFailure: (cause) => Effect.sync(() => this.#break(slot, cause)),
      onSuccess: (result) => this.#record(slot, result)
    })
  }

  /** `slot` will have no result. */
  #break(slot: Slot, cause: Cause.Cause<AppendError>): void {
    slot.state = "settled"
    slot.call = undefined
    this.#fault ??= cause
    this.#changed()
  }

  /** Settles a call that does not run. */
  #answer(slot: Slot, result: ToolResult.ToolResult): Effect.Effect<void> {
    slot.state = "answering"
    return this.#record(slot, result)
  }

  /** Writes the result, and only then lets it be seen. */
  #record(slot: Slot, result: ToolResult.ToolResult): Effect.Effect<void> {
    return Effect.flatMap(
      Effect.exit(this.#host.log.append({ _tag: "tool/result", call: slot.seq, result })),
      (written) => {
        if (written._tag === "Failure") return Effect.sync(() => this.#break(slot, written.cause))
        slot.state = "settled"
        slot.call = undefined
        this.#show(slot, result)
        const failing = this.#hasFailed(result) && this.#failed === undefined
        if (failing) this.#failed = slot
        const cancelling = failing && this.#host.onFailure === "cancel" ? this.cancel(siblingFailed(slot)) : Effect.void
        return Effect.andThen(cancelling, Effect.sync(() => this.#changed()))
      }
    )
  }

  #hasFailed(result: ToolResult.ToolResult): boolean {
    return this.#host.onFailure !== "continue" && result._tag === "Failure" && !wanted.has(result.error.code)
  }

  #show(slot: Slot, result: ToolResult.ToolResult): void {
    const { publish } = this.#host
    slot.result = result
    publish({ _tag: "Settled", ...of(slot), result })
    for (let next = this.slots[this.#committed]; next?.result !== undefined; next = this.slots[this.#committed]) {
      this.#committed++
      publish({ _tag: "Committed", ...of(next), result: next.result })
    }
  }

  /** Waits until `holds`, which is asked whenever something changes. */
  #until(holds: () => boolean): Effect.Effect<void> {
    return Effect.callback((resume) => {
      if (holds()) return resume(Effect.void)
      const waiter = () => {
        if (!holds()) return
        this.#waiters.delete(waiter)
        resume(Effect.void)
      }
      this.#waiters.add(waiter)
    })
  }

  #changed(): void {
    this.#changes++
    for (const waiter of this.#waiters) waiter()
  }

  /** To be called when the turn was cancelled. */
  wake(): void {
    this.#changed()
  }
}

export const of = ({ request: { callId, name }, seq }: Slot) => ({ call: seq, callId, name })

/** Outcomes that somebody wanted: they fail no siblings. */
const wanted: ReadonlySet<ToolResult.Code> = new Set(["DENIED", "ABORTED", "ABORTED_BEFORE_DISPATCH"])

const siblingFailed = ({ request }: Slot): CancelReason => ({
  _tag: "Caller",
  cause: new DOMException(`the call ${request.callId} of ${request.name} failed`, "AbortError")
})
