/** A connection at random, of one of two kinds: with requests of any method, or with sessions and their prompts. */
import { Effect, Random } from "effect"
import { requests } from "./requests.ts"
import { sessions } from "./sessions.ts"

/** What came of one connection: `faults` is empty, or it is not as it must be. */
export interface Outcome {
  readonly requests: number
  readonly frames: number
  readonly faults: ReadonlyArray<string>
}

/** Runs the connection of a seed. Its time is that of the test's clock. */
export const run = (seed: string): Effect.Effect<Outcome & { readonly seed: string }> =>
  Effect.gen(function*() {
    const outcome = yield* (yield* Random.nextBoolean) ? requests : sessions
    return { seed, ...outcome }
  }).pipe(Effect.scoped, Random.withSeed(seed))
