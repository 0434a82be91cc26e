/**
 * What may come next in a log: the one place that knows when it is balanced.
 *
 * The writer asks before it writes, the reader after it has read, and a validator goes on asking behind a violation. Only
 * the open turn needs to be remembered, since whatever cites an older one is wrong.
 */
import type { Problem } from "../LogError.ts"
import type { LogEvent, Seq } from "../LogEvent.ts"

export interface Call {
  readonly seq: Seq
  readonly callId: string
  readonly name: string
  readonly state: "open" | "marked" | "answered"
}

/** What is wrong with the mark of a call, by its state. */
const marking = {
  unknown: "NoCall",
  open: undefined,
  marked: "Marked",
  answered: "Answered"
} satisfies { readonly [S in Call["state"] | "unknown"]: Problem | undefined }

export class Ledger {
  /** The last event. */
  seq: Seq = 0
  turn: Seq | undefined = undefined
  /** The calls of the open turn. */
  readonly #calls: Map<Seq, Call>
  #unanswered = 0
  /** The last event was what the model said, or a call of it. */
  #speaking = false

  constructor(calls?: ReadonlyMap<Seq, Call>) {
    this.#calls = new Map(calls)
  }

  /** The same ledger, to try what comes next. */
  copy(): Ledger {
    const copy = new Ledger(this.#calls)
    copy.seq = this.seq
    copy.turn = this.turn
    copy.#unanswered = this.#unanswered
    copy.#speaking = this.#speaking
    return copy
  }

  /** The calls of the open turn that have no result. */
  get unanswered(): ReadonlyArray<Call> {
    return [...this.#calls.values()].filter(({ state }) => state !== "answered")
  }

  isMarked(call: Seq): boolean {
    const state = this.#calls.get(call)?.state
    return state === "marked" || state === "answered"
  }

  /** Says what is wrong with `event` as the next one. */
  check(event: LogEvent): Problem | undefined {
    switch (event._tag) {
      case "turn/start":
        return this.turn === undefined ? undefined : "TurnOpen"
      case "turn/end":
      case "input":
      case "assistant":
        if (event.turn !== this.turn) return "NoTurn"
        return this.#unanswered === 0 ? undefined : "Unanswered"
      case "tool/call":
        if (event.turn !== this.turn) return "NoTurn"
        return this.#speaking ? undefined : "OutOfOrder"
      case "tool/dispatched":
        return marking[this.#calls.get(event.call)?.state ?? "unknown"]
      case "tool/result": {
        const call = this.#calls.get(event.call)
        if (call === undefined) return "NoCall"
        if (call.state === "answered") return "Answered"
        if (event.result.callId !== call.callId || event.result.name !== call.name) return "OtherCall"
        // The converse is no fault: a mark means that the body may have run.
        return event.result.dispatched && call.state === "open" ? "Unmarked" : undefined
      }
    }
  }

  /** Takes `event` as the next one, whatever `check` says of it: a validator wants to go on. */
  add(event: LogEvent): void {
    const seq = ++this.seq
    switch (event._tag) {
      case "turn/start":
      case "turn/end":
        this.turn = event._tag === "turn/start" ? seq : undefined
        this.#calls.clear()
        this.#unanswered = 0
        break
      case "tool/call":
        this.#calls.set(seq, { seq, callId: event.callId, name: event.name, state: "open" })
        this.#unanswered++
        break
      case "tool/dispatched":
        this.#move(event.call, "marked")
        break
      case "tool/result":
        this.#move(event.call, "answered")
        break
      default:
    }
    this.#speaking = event._tag === "assistant" || (this.#speaking && event._tag === "tool/call")
  }

  #move(seq: Seq, state: "marked" | "answered"): void {
    const call = this.#calls.get(seq)
    if (call === undefined || call.state === "answered") return
    if (state === "answered") this.#unanswered--
    this.#calls.set(seq, { ...call, state })
  }
}
