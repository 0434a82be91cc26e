/**
 * A clock that code can move while it runs, as code that is busy moves the real one: a TestClock can only be moved by
 * another fiber.
 */
import { type Clock, Duration, Effect } from "effect"

interface Sleeper {
  readonly at: number
  readonly wake: () => void
}

export class StepClock implements Clock.Clock {
  #now = 0
  readonly #sleepers = new Set<Sleeper>()

  /** Time passes and nobody looks at a timer. */
  readonly busy = (millis: number): void => {
    this.#now += millis
  }

  /** Whoever's time has come wakes up. */
  readonly look: Effect.Effect<void> = Effect.sync(() => {
    for (const sleeper of [...this.#sleepers].sort((a, b) => a.at - b.at)) {
      if (sleeper.at <= this.#now && this.#sleepers.delete(sleeper)) sleeper.wake()
    }
  })

  readonly pass = (millis: number): Effect.Effect<void> =>
    Effect.andThen(Effect.sync(() => this.busy(millis)), this.look)

  get sleepers(): number {
    return this.#sleepers.size
  }

  currentTimeMillisUnsafe(): number {
    return this.#now
  }
  currentTimeNanosUnsafe(): bigint {
    return BigInt(this.#now) * 1_000_000n
  }
  monotonicTimeNanosUnsafe(): bigint {
    return this.currentTimeNanosUnsafe()
  }
  readonly currentTimeMillis = Effect.sync(() => this.currentTimeMillisUnsafe())
  readonly currentTimeNanos = Effect.sync(() => this.currentTimeNanosUnsafe())
  readonly monotonicTimeNanos = Effect.sync(() => this.monotonicTimeNanosUnsafe())

  sleep(duration: Duration.Duration): Effect.Effect<void> {
    const millis = Duration.toMillis(duration)
    if (millis <= 0) return Effect.yieldNow
    return Effect.callback((resume) => {
      const sleeper = { at: this.#now + millis, wake: () => resume(Effect.void) }
      this.#sleepers.add(sleeper)
      return Effect.sync(() => this.#sleepers.delete(sleeper))
    })
  }
}
