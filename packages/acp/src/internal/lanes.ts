/**
 * Work that is done one after the other, per key: the notifications of a session, in the order in which they came.
 *
 * What was given and is not done has a weight. Whoever gives more than may wait is to go at the pace of those who do it.
 */
import type * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"

/** What a piece of work costs besides its weight: its effect, its place, its fiber. */
const overhead = 512

interface Piece<R> {
  readonly work: Effect.Effect<void, never, R>
  readonly bytes: number
}

export class Lanes<R> {
  readonly #context: Context.Context<R>
  readonly #lanes = new Map<string | undefined, Array<Piece<R>>>()
  readonly #fibers = new Set<Fiber.Fiber<void>>()
  #waiting = 0
  #bytes = 0
  #ended = false
  /** Somebody waits until a piece is done. */
  #progress: Deferred.Deferred<void> | undefined

  constructor(context: Context.Context<R>) {
    this.#context = context
  }

  /** How much was given and is not done. */
  get load(): { readonly waiting: number; readonly bytes: number } {
    return { waiting: this.#waiting, bytes: this.#bytes }
  }

  /** Waits until a piece is done, or somebody is to wait no longer. */
  get progress(): Effect.Effect<void> {
    return Effect.suspend(() => Deferred.await(this.#progress ??= Deferred.makeUnsafe()))
  }

  /** Does `work` when all that was given before it for this key is done: at once, where that is nothing. */
  push(key: string | undefined, work: Effect.Effect<void, never, R>, weight: number): void {
    if (this.#ended) return
    const piece = { work, bytes: weight + overhead }
    this.#waiting++
    this.#bytes += piece.bytes
    const lane = this.#lanes.get(key)
    if (lane !== undefined) return void lane.push(piece)
    const waiting = [piece]
    this.#lanes.set(key, waiting)
    const fiber = Effect.runForkWith(this.#context)(this.#drain(key, waiting))
    this.#fibers.add(fiber)
    fiber.addObserver(() => this.#fibers.delete(fiber))
  }

  #drain(key: string | undefined, waiting: Array<Piece<R>>): Effect.Effect<void, never, R> {
    return Effect.suspend(() => {
      const next = waiting[0]
      if (next === undefined) {
        this.#lanes.delete(key)
        return Effect.void
      }
      return Effect.andThen(
        next.work,
        Effect.suspend(() => {
          waiting.shift()
          this.#waiting--
          this.#bytes -= next.bytes
          this.wake()
          return this.#drain(key, waiting)
        })
      )
    })
  }

  /** Lets go whoever waits for progress. */
  wake(): void {
    const progress = this.#progress
    this.#progress = undefined
    if (progress !== undefined) Deferred.doneUnsafe(progress, Effect.void)
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
