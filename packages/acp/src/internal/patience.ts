/**
 * The wait for quiescence, which is as long as it takes, and says whom it is for.
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Incoming } from "./incoming.ts"
import type { Outgoing } from "./outgoing.ts"

/**
 * Waits until every request of the peer is answered. Who is waited for is logged after the grace, and then each time that as
 * long again has passed. What those wait for whom nothing else ends, an answer of the peer, comes until then or not at all.
 */
export const whenQuiet = (incoming: Incoming, outgoing: Outgoing, grace: Duration.Input): Effect.Effect<void> => {
  const wait = (patience: Duration.Duration, asked: number): Effect.Effect<void> =>
    Effect.flatMap(
      Effect.timeoutOption(incoming.whenIdle, patience),
      Option.match({
        onSome: () => Effect.void,
        onNone: () =>
          Effect.andThen(
            report(incoming),
            Effect.suspend(() => {
              const { next } = outgoing
              outgoing.giveUp(asked)
              return wait(Duration.times(patience, 2), next)
            })
          )
      })
    )
  return Effect.suspend(() => wait(Duration.fromInputUnsafe(grace), outgoing.next))
}

const report = ({ live }: Incoming): Effect.Effect<void> =>
  Effect.flatMap(Clock.currentTimeMillis, (now) =>
    Effect.logWarning(
      "A connection ends, and waits for requests that were cancelled",
      live.map(({ id, method, sinceMillis }) => ({ id, method, forMillis: now - sinceMillis }))
    ))
