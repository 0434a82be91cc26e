/**
 * Deadlines that notify and wait.
 *
 * When a deadline fires, the work is interrupted, and the deadline fails once the work is quiet. It never abandons what
 * it gave up on, so it is no hard bound: work that takes a second to stop makes a deadline of 100 ms take 1.1 s.
 */
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { dual } from "effect/Function"
import type * as Stream from "effect/Stream"
import { Deadline, DeadlineExceeded } from "./internal/deadline.ts"
import * as Guarded from "./internal/idle.ts"
import { IdleIterator } from "./internal/idleIterator.ts"
import { tie } from "./internal/tie.ts"
import { FiberWork } from "./internal/work.ts"

export { DeadlineExceeded }

/** What code that makes a guarded stream is given: a signal for the whole stream, and the way to say "still alive". */
export type Idle = Guarded.Idle

export { ConcurrentPull } from "./internal/idle.ts"

/** A timeout that is not a positive, finite duration. */
export class InvalidTimeout extends Data.TaggedError("InvalidTimeout")<{
  readonly which: "requested" | "default" | "max"
  readonly given: unknown
}> {
  override get message(): string {
    return `the ${this.which} timeout is not a positive, finite duration`
  }
}

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
    // `tie` starts the work with this fiber's context, which holds R.
    tie(() => {
      const timeout = Duration.fromInputUnsafe(options.timeout)
      return new FiberWork<A, E | DeadlineExceeded>(self as Effect.Effect<A, E>, {
        expiry: new Deadline<E | DeadlineExceeded>(timeout, options.code, (exceeded) => exceeded)
      })
    })
)

/**
 * A deadline for silence: fails with `DeadlineExceeded` when one pull of the stream takes longer than `timeout`.
 *
 * It counts only while a pull is outstanding, anew for each; what the consumer does in between is free. Instead of a
 * stream it takes a function that makes one, for code that knows more: `pulse` says that there is life (a heartbeat, a
 * byte that is no item yet), and `signal` aborts when the stream is given up or over.
 *
 * **Errors**: `DeadlineExceeded` once the pull is quiet. Two pulls at a time are a mistake of the program, a
 * `ConcurrentPull` defect, and the first goes on.
 *
 * **Interruption**: aborts the signal, interrupts the pull and waits until it is quiet.
 */
export const idle: {
  (options: Options): <A, E, R>(self: Stream.Stream<A, E, R>) => Stream.Stream<A, E | DeadlineExceeded, R>
  <A, E, R>(
    self: Stream.Stream<A, E, R> | ((idle: Idle) => Stream.Stream<A, E, R>),
    options: Options
  ): Stream.Stream<A, E | DeadlineExceeded, R>
} = dual(
  2,
  <A, E, R>(
    self: Stream.Stream<A, E, R> | ((idle: Idle) => Stream.Stream<A, E, R>),
    options: Options
  ): Stream.Stream<A, E | DeadlineExceeded, R> =>
    Guarded.stream(typeof self === "function" ? self : () => self, options)
)

/**
 * `idle` for promise code: `for await` over it gives what `make` gives.
 *
 * **Errors**: `DeadlineExceeded`, `signal.reason` once `signal` has aborted, or what the iterable failed with; each once
 * the pull has settled and the iterable has cleaned up.
 */
export const idleIterable = <A>(
  make: (idle: Idle) => AsyncIterable<A>,
  options: Options & { readonly signal: AbortSignal }
): AsyncIterable<A> => ({ [Symbol.asyncIterator]: () => new IdleIterator(make, options) })

/**
 * The timeout that a caller may have: `requested`, or `default` where nothing was requested, and at most `max`.
 *
 * **Errors**: `InvalidTimeout` for one that is no duration, not positive or not finite.
 */
export const clamp = (timeouts: Timeouts): Effect.Effect<Duration.Duration, InvalidTimeout> =>
  Effect.try({ try: () => clampUnsafe(timeouts), catch: (invalid) => invalid as InvalidTimeout })

/** `clamp` for code without Effect: throws the `InvalidTimeout`. */
export const clampUnsafe = ({ default: fallback, max, requested }: Timeouts): Duration.Duration => {
  const [ceiling, filling] = [valid("max", max), valid("default", fallback)]
  return Duration.min(requested === undefined ? filling : valid("requested", requested), ceiling)
}

export interface Timeouts {
  /** What the caller, or a model, asked for. */
  readonly requested: Duration.Input | undefined
  readonly default: Duration.Input
  readonly max: Duration.Input
}

const valid = (which: InvalidTimeout["which"], given: Duration.Input): Duration.Duration => {
  try {
    const duration = Duration.fromInputUnsafe(given)
    if (Duration.isFinite(duration) && Duration.isPositive(duration)) return duration
  } catch {
    // no duration, whatever its type says
  }
  throw new InvalidTimeout({ which, given })
}
