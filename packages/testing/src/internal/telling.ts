/**
 * Tells the ends that an exploration met. Each is run once more, with a narrator; one that then ends otherwise was not
 * decided by the explorer alone.
 */
import * as Effect from "effect/Effect"
import * as Interleaving from "../Interleaving.ts"
import type * as Report from "../Report.ts"
import { narrate, runOne } from "./again.ts"
import { describeVerdict } from "./describe.ts"
import type { Settings } from "./machine.ts"
import { whereOf } from "./origin.ts"
import type { Subject } from "./session.ts"
import { type Candidate, shrink, tighten } from "./shrink.ts"
import type { End, Tally } from "./tally.ts"
import { errorOf } from "./verdict.ts"

/** How many different outcomes and failures a report shows in words: each costs a run, and nobody reads more. */
const shown = 12

export const tell = Effect.fnUntraced(function*(subject: Subject, tally: Tally, settings: Settings) {
  const run = runOne(subject)
  let unsteady: string | undefined
  const again = Effect.fnUntraced(function*(candidate: Candidate, before: string) {
    const { interleaving, verdict } = yield* narrate(run, candidate, settings)
    const now = describeVerdict(verdict)
    if (now !== before) unsteady ??= `${Interleaving.format(interleaving)}: ${before} the first time, ${now} the next`
    return { interleaving, verdict }
  })

  const failures: Array<Report.Failure> = []
  for (const end of first(tally.failures)) {
    const minimal = yield* shrink(run, end.message, end, settings)
    const found = yield* again(tighten(end), end.message)
    failures.push({
      message: end.message,
      where: found.verdict._tag === "Failed" ? whereOf(errorOf(found.verdict.fault)) : undefined,
      count: end.count,
      found: found.interleaving,
      minimal: (yield* again(minimal, end.message)).interleaving
    })
  }
  const outcomes: Array<Report.Outcome> = []
  for (const end of first(tally.outcomes)) {
    const { interleaving } = yield* again(tighten(end), end.message)
    outcomes.push({ outcome: end.message, count: end.count, witness: interleaving })
  }
  const omitted = tally.outcomes.size - outcomes.length + tally.failures.size - failures.length
  return { failures, outcomes, omitted, unsteady }
})

const first = (ends: ReadonlyMap<string, End>): ReadonlyArray<End> => [...ends.values()].slice(0, shown)
