/**
 * Deadlines that notify and wait.
 *
 * When a deadline fires, the work is interrupted, and the deadline fails once the work is quiet. It never abandons what
 * it gave up on, so it is no hard bound: work that takes a second to stop makes a deadline of 100 ms take 1.1 s.
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { dual } from "effect/Function"
import { DeadlineExceeded, expiry } from "./internal/deadline.ts"
import { FiberWork, tie } from "./internal/work.ts"

export { DeadlineExceeded }

export interface Options {
  readonly timeout: Duration.Input
  /** Says to a reader which deadline it was; deadlines are told apart by identity, not by this text. */
  readonly code: string
}

/**
 * Fails with `DeadlineExceeded` when `self` is not over within `timeout`.
 *
 * **Errors**: `DeadlineExceeded` only if this deadline's own timer fired before anything else cancelled `self`, and
 * then however `self` ended.
 *
 * **Interruption**: interrupts `self` and waits until it is quiet. `self` runs in a fiber of its own, which can be
 * interrupted by the deadline also when this is run in an uninterruptible region.
 */
export const within: {
  (options: Options): <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.Effect<A, E | DeadlineExceeded, R>
  <A, E, R>(self: Effect.Effect<A, E, R>, options: Options): Effect.Effect<A, E | DeadlineExceeded, R>
} = dual(
  2,
  <A, E, R>(self: Effect.Effect<A, E, R>, options: Options): Effect.Effect<A, E | DeadlineExceeded, R> =>
    Effect.suspend(() => {
      const timeout = Duration.fromInputUnsafe(options.timeout)
      return tie(
        // `tie` starts the work with this fiber's context, which holds R.
        new FiberWork<A, E | DeadlineExceeded>(self as Effect.Effect<A, E>, {
          expiry: expiry<E | DeadlineExceeded>(timeout, options.code, (exceeded) => exceeded)
        })
      )
    })
)
