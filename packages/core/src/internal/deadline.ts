/**
 * The error of a deadline, and the expiry of one piece of work under it.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Equal from "effect/Equal"
import * as Cancellation from "./cancellation.ts"
import type { Expiry } from "./work.ts"

/**
 * The deadline fired first, and the work is quiet. `cause` is what the work failed with after that, if it did. Whether
 * the work changed the world before it stopped is not known.
 */
export class DeadlineExceeded extends Data.TaggedError("DeadlineExceeded")<{
  readonly code: string
  readonly timeout: Duration.Duration
  readonly cause?: unknown
}> {
  override get message(): string {
    return `the deadline of ${Duration.format(this.timeout)} was exceeded (${this.code})`
  }
}

/** The deadline of one piece of work, from its start. Most never fire: what says that one did is made when it has. */
export class Deadline<E> implements Expiry<E> {
  readonly #timeout: Duration.Duration
  readonly #code: string
  readonly #fail: (exceeded: DeadlineExceeded) => E
  #exceeded: DeadlineExceeded | undefined = undefined
  #cancellation: Cancellation.Cancellation | undefined = undefined

  constructor(timeout: Duration.Duration, code: string, fail: (exceeded: DeadlineExceeded) => E) {
    this.#timeout = timeout
    this.#code = code
    this.#fail = fail
  }

  begin(context: Context.Context<never>): Effect.Effect<void> {
    const clock = Context.get(context, Clock.Clock)
    const began = now(clock)
    return Effect.suspend(() => sleepSince(clock, began, this.#timeout))
  }

  /** Its identity is new each time: deadlines are told apart by it, not by their code. */
  get cancellation(): Cancellation.Cancellation {
    return this.#cancellation ??= new Cancellation.Cancellation(
      { _tag: "Deadline", deadline: Symbol(this.#code) },
      () => this.#alone
    )
  }

  error(late: ReadonlyArray<unknown>): E {
    return this.#fail(late.length === 0 ? this.#alone : this.#make(late[0]))
  }

  get #alone(): DeadlineExceeded {
    return this.#exceeded ??= this.#make()
  }

  #make(cause?: unknown): DeadlineExceeded {
    const fields = { code: this.#code, timeout: this.#timeout }
    // By reference: effect compares the failures of a cause by their fields, and the cause can be anything.
    return Equal.byReferenceUnsafe(new DeadlineExceeded(cause === undefined ? fields : { ...fields, cause }))
  }
}

/** In milliseconds. Monotonic: no deadline moves because somebody sets the time of day. */
export const now = (clock: Clock.Clock): number => Number(clock.monotonicTimeNanosUnsafe()) / 1_000_000

/** Sleeps what is left of `timeout`, which began at `began`. */
export const sleepSince = (clock: Clock.Clock, began: number, timeout: Duration.Duration): Effect.Effect<void> => {
  // In whole milliseconds, as timers count: rounded down, for a deadline may be late and never early.
  const elapsed = Math.trunc(now(clock) - began)
  return clock.sleep(elapsed === 0 ? timeout : Duration.millis(Duration.toMillis(timeout) - elapsed))
}
