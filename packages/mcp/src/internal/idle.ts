/** A deadline for silence around one wait: it counts anew with each pulse. */
import * as Clock from "effect/Clock"
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"

class Silent extends Data.TaggedError("Silent")<{ readonly timeout: Duration.Duration }> {
  override get message(): string {
    return `no progress was reported for ${Duration.format(this.timeout)}`
  }
}

export interface Idle {
  readonly pulse: () => void
  /** Fails once there was no pulse for as long as that. */
  readonly exceeded: Effect.Effect<never, Silent>
}

export const idle = (input: Duration.Input): Idle => {
  const timeout = Duration.fromInputUnsafe(input)
  let pulsed = false
  const exceeded: Effect.Effect<never, Silent> = Effect.gen(function*() {
    const clock = yield* Clock.Clock
    let heard = clock.currentTimeMillisUnsafe()
    pulse = () => {
      heard = clock.currentTimeMillisUnsafe()
    }
    if (pulsed) pulse()
    while (true) {
      const left = heard + Duration.toMillis(timeout) - clock.currentTimeMillisUnsafe()
      if (left <= 0) return yield* new Silent({ timeout })
      yield* Effect.sleep(left)
    }
  })
  let pulse = (): void => {
    pulsed = true
  }
  return { pulse: () => pulse(), exceeded }
}
