/**
 * A place where code waits until the test lets it go on, so that a test can hold a call at any point without a clock.
 */
import { Deferred, Effect } from "effect"

export interface Gate<A> {
  /** Waits here. An interruption leaves at once. */
  readonly wait: Effect.Effect<A>
  /** Waits here whatever happens: this is how code that ignores its cancellation is written. */
  readonly hold: Effect.Effect<A>
  /** The same for promise code. */
  readonly promise: () => Promise<A>
  /** How often somebody came here, and how often somebody was interrupted out of `wait`. */
  readonly counts: { readonly visits: number; readonly interruptions: number }
  /** Waits for the first visit. */
  readonly reached: Effect.Effect<void>
  readonly open: (value: A) => Effect.Effect<void>
  /** Whoever waits fails with `error`: typed as never, since what fails here is the code that is held. */
  readonly fail: (error: unknown) => Effect.Effect<void>
}

export const make = <A = void>(): Gate<A> => {
  const opened = Deferred.makeUnsafe<A, never>()
  const reached = Deferred.makeUnsafe<void>()
  const counts = { visits: 0, interruptions: 0 }
  const visit = () => {
    counts.visits++
    Deferred.doneUnsafe(reached, Effect.void)
  }
  const wait = Effect.suspend(() => {
    visit()
    return Effect.onInterrupt(Deferred.await(opened), () => Effect.sync(() => void counts.interruptions++))
  })
  return {
    wait,
    hold: Effect.uninterruptible(wait),
    promise: () => {
      visit()
      return Effect.runPromise(Deferred.await(opened))
    },
    counts,
    // In a turn of its own, not inside the step that came here.
    reached: Effect.andThen(Deferred.await(reached), Effect.yieldNow),
    open: (value) => Effect.sync(() => void Deferred.doneUnsafe(opened, Effect.succeed(value))),
    fail: (error) => Effect.sync(() => void Deferred.doneUnsafe(opened, Effect.fail(error) as Effect.Effect<never>))
  }
}
