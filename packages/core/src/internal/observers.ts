/**
 * Who is told of calls. Nobody waits for an observer: what it does is started, and how that ends is only logged.
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import type { Observer } from "../Observer.ts"
import type * as ToolCall from "../ToolCall.ts"
import type * as ToolResult from "../ToolResult.ts"
import type { Call } from "./call.ts"
import { effectOf } from "./foreign.ts"

/** An observer, read once: its methods stay methods of its object. */
interface Listener {
  readonly settled: ((call: ToolCall.Pending, result: ToolResult.ToolResult) => Effect.Effect<void>) | undefined
  readonly notQuiescent: ((call: ToolCall.Pending, sinceMillis: number) => Effect.Effect<void>) | undefined
  readonly progress: ((call: ToolCall.Pending, progress: ToolCall.Progress) => Effect.Effect<void>) | undefined
}

export class Observers {
  /** Replaced and never changed: who is added while others are told is told from the next time on. */
  #listeners: ReadonlyArray<Listener>
  readonly #running = new Set<Fiber.Fiber<unknown, unknown>>()

  constructor(observers: ReadonlyArray<Observer>) {
    this.#listeners = observers.map(listenerOf)
  }

  add(observer: Observer): () => void {
    const added = listenerOf(observer)
    this.#listeners = [...this.#listeners, added]
    return () => {
      this.#listeners = this.#listeners.filter((listener) => listener !== added)
    }
  }

  settled(call: Call, result: ToolResult.ToolResult): void {
    for (const { settled } of this.#listeners) {
      if (settled !== undefined) this.#start(call, () => settled(call.pending, result))
    }
  }

  notQuiescent(call: Call): void {
    for (const { notQuiescent } of this.#listeners) {
      if (notQuiescent !== undefined) this.#start(call, () => notQuiescent(call.pending, call.cancelledAtMillis))
    }
  }

  progress(call: Call, report: ToolCall.Progress): void {
    for (const { progress } of this.#listeners) {
      if (progress !== undefined) this.#start(call, () => progress(call.pending, report))
    }
  }

  /** Asks what observers still do to stop. One that does not holds up nobody. */
  get interrupt(): Effect.Effect<void> {
    return Effect.sync(() => {
      for (const fiber of this.#running) fiber.interruptUnsafe()
    })
  }

  #start(call: Call, tell: () => Effect.Effect<void>): void {
    const fiber = Effect.runForkWith(call.context)(
      Effect.catchCause(
        effectOf(tell),
        (cause) => Cause.hasInterruptsOnly(cause) ? Effect.void : Effect.logWarning("An observer failed", cause)
      )
    )
    if (fiber.pollUnsafe() !== undefined) return
    this.#running.add(fiber)
    fiber.addObserver(() => this.#running.delete(fiber))
  }
}

const listenerOf = (observer: Observer): Listener =>
  typeof observer === "function"
    ? { settled: observer, notQuiescent: undefined, progress: undefined }
    : {
      settled: observer.settled?.bind(observer),
      notQuiescent: observer.notQuiescent?.bind(observer),
      progress: observer.progress?.bind(observer)
    }
