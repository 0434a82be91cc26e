/**
 * Work that is done one after the other, per key: the notifications of a session, in the order in which they came.
 */
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"

export class Lanes<R> {
  readonly #context: Context.Context<R>
  readonly #lanes = new Map<string | undefined, Array<Effect.Effect<void, never, R>>>()
  readonly #fibers = new Set<Fiber.Fiber<void>>()
  #ended = false

  constructor(context: Context.Context<R>) {
    this.#context = context
  }

  /** Does `work` when all that was given before it for this key is done: at once, where that is nothing. */
  push(key: string | undefined, work: Effect.Effect<void, never, R>): void {
    if (this.#ended) return
    const lane = this.#lanes.get(key)
    if (lane !== undefined) return void lane.push(work)
    const waiting = [work]
    this.#lanes.set(key, waiting)
    const fiber = Effect.runForkWith(this.#context)(this.#drain(key, waiting))
    this.#fibers.add(fiber)
    fiber.addObserver(() => this.#fibers.delete(fiber))
  }

  #drain(key: string | undefined, waiting: Array<Effect.Effect<void, never, R>>): Effect.Effect<void, never, R> {
    return Effect.suspend(() => {
      const next = waiting[0]
      if (next === undefined) {
        this.#lanes.delete(key)
        return Effect.void
      }
      return Effect.andThen(
        next,
        Effect.suspend(() => {
          waiting.shift()
          return this.#drain(key, waiting)
        })
      )
    })
  }

  /** Interrupts what is being done, drops what is to be done, and waits. */
  get end(): Effect.Effect<void> {
    return Effect.suspend(() => {
      this.#ended = true
      this.#lanes.clear()
      return Fiber.interruptAll(this.#fibers)
    })
  }
}
