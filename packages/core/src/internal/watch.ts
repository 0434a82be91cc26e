/**
 * Reports calls that were cancelled and are not quiet after a grace, and again with back-off for as long as they are not.
 *
 * One timer for all of them, armed only while there is a call to report: a registry at rest holds no process open.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import type { Call } from "./call.ts"
import { now } from "./deadline.ts"

/** After the grace, twice it, four times it, and so on: few reports, and never none. */
const backOff = 2

interface Due {
  atMillis: number
  waitMillis: number
}

export class Watch {
  readonly #context: Context.Context<never>
  readonly #graceMillis: number
  readonly #report: (call: Call) => Effect.Effect<void>
  readonly #due = new Map<Call, Due>()
  #timer: { readonly atMillis: number; readonly fiber: Fiber.Fiber<void> } | undefined = undefined

  constructor(context: Context.Context<never>, grace: Duration.Duration, report: (call: Call) => Effect.Effect<void>) {
    this.#context = context
    // A timer's resolution: from nothing no back-off would grow.
    this.#graceMillis = Math.max(1, Duration.toMillis(grace))
    this.#report = report
  }

  add(call: Call): void {
    const waitMillis = this.#graceMillis
    if (!Number.isFinite(waitMillis)) return
    const atMillis = this.#now() + waitMillis
    this.#due.set(call, { atMillis, waitMillis })
    if (this.#timer === undefined || atMillis < this.#timer.atMillis) this.#arm(atMillis)
  }

  remove(call: Call): void {
    if (this.#due.delete(call) && this.#due.size === 0) this.#disarm()
  }

  #now(): number {
    return now(Context.get(this.#context, Clock.Clock))
  }

  #arm(atMillis: number): void {
    this.#disarm()
    const fiber = Effect.runForkWith(this.#context)(
      Effect.andThen(Effect.sleep(atMillis - this.#now()), Effect.suspend(() => this.#fire()))
    )
    this.#timer = { atMillis, fiber }
  }

  #disarm(): void {
    this.#timer?.fiber.interruptUnsafe()
    this.#timer = undefined
  }

  /** Reports what is due and arms the timer for what is next. */
  #fire(): Effect.Effect<void> {
    this.#timer = undefined
    const now = this.#now()
    const late: Array<Call> = []
    let next = Number.POSITIVE_INFINITY
    for (const [call, due] of this.#due) {
      if (due.atMillis <= now) {
        late.push(call)
        due.waitMillis *= backOff
        due.atMillis = now + due.waitMillis
      }
      next = Math.min(next, due.atMillis)
    }
    if (Number.isFinite(next)) this.#arm(next)
    return Effect.forEach(late, this.#report, { discard: true })
  }
}
