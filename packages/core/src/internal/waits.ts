/**
 * Who waits for calls to be over, and when such a wait ends.
 *
 * Who waits from inside a call does not wait for that call, nor for those around it, nor for a call that waits for them in
 * the same way, itself or by way of others, which may be calls of another registry.
 */
import * as Effect from "effect/Effect"
import type { Call } from "./call.ts"

interface Waiter {
  /** The call it waits inside of and those around that, the innermost first. */
  readonly inside: ReadonlySet<Call>
  /** What it waits for, where that is not every call. */
  readonly among: ReadonlySet<Call> | undefined
  readonly done: () => void
}

const concerns = ({ among, inside }: Waiter, call: Call): boolean =>
  !inside.has(call) && (among === undefined || among.has(call))

/** The waits for calls of one registry. */
export class Waits {
  readonly #inFlight: ReadonlySet<Call>
  readonly #waiters = new Set<Waiter>()

  constructor(inFlight: ReadonlySet<Call>) {
    this.#inFlight = inFlight
  }

  /** Waits until no call (of `among`) is in flight but those in `inside`, the call that waits and those around it. */
  idle(inside: ReadonlySet<Call>, among?: ReadonlySet<Call>): Effect.Effect<void> {
    return Effect.callback((resume) => {
      const waiter: Waiter = { inside, among, done: () => resume(Effect.void) }
      this.#waiters.add(waiter)
      // Whoever waits inside a call may be what others have waited for.
      this.release()
      return Effect.sync(() => this.#waiters.delete(waiter))
    })
  }

  /** Tells those whose wait is over: first the latest, which is the one that closed a circle of calls that wait. */
  release(): void {
    if (this.#waiters.size === 0) return
    for (const waiter of Array.from(this.#waiters).reverse()) {
      // What an earlier one did when it was told may have ended this wait, too.
      if (!this.#isIdle(waiter) || !this.#waiters.delete(waiter)) continue
      waiter.done()
    }
  }

  #isIdle(waiter: Waiter): boolean {
    if (this.#inFlight.size === 0) return true
    if (waiter.among === undefined && waiter.inside.size === 0) return false
    const held = Waits.#heldUp(waiter.inside)
    for (const call of this.#inFlight) if (concerns(waiter, call) && !held.has(call)) return false
    return true
  }

  /** `calls`, and those that wait for one of them: who waited for these from inside `calls` would wait for ever. */
  static #heldUp(calls: ReadonlySet<Call>): ReadonlySet<Call> {
    const held = new Set(calls)
    // It grows while it is walked.
    for (const call of held) {
      for (const waiter of call.registry.waits.#waiters) {
        if (concerns(waiter, call)) { for (const around of waiter.inside) held.add(around) }
      }
    }
    return held
  }
}
