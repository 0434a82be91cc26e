/** One exploration, from its options to its report. */
import * as Effect from "effect/Effect"
import type { Options } from "../Explore.ts"
import type * as Report from "../Report.ts"
import * as Strategy from "../Strategy.ts"
import { narrate, runOne } from "./again.ts"
import type { Settings } from "./machine.ts"
import { type Plans, plansOf } from "./searches.ts"
import { drive, type Subject } from "./session.ts"
import { shrink, tighten } from "./shrink.ts"
import { Tally } from "./tally.ts"

/** How many different outcomes and failures a report shows in words: each costs a run, and nobody reads more. */
const shown = 12

const progressMillis = 1_000

export const settingsOf = (options: Pick<Options, "preemptions" | "timers" | "steps">): Settings => ({
  preemptions: options.preemptions ?? 1,
  timers: options.timers ?? 3,
  steps: options.steps ?? 2_000,
  declared: false
})

export const explore = Effect.fnUntraced(function*(subject: Subject, options: Options) {
  const strategy = options.strategy ?? Strategy.exhaustive()
  const settings = settingsOf(options)
  const runs = options.runs ?? 1_000_000
  const plans = plansOf(strategy, settings)
  const tally = new Tally()
  const started = performance.now()
  let endedBy: "runs" | "failure" | undefined
  let reported = started

  const session = yield* drive(subject, {
    next: () => {
      if (endedBy !== undefined) return undefined
      const plan = plans.next()
      // Only now is it known that there would have been another one.
      if (plan !== undefined && tally.explored + tally.redundant >= runs) endedBy = "runs"
      return endedBy === undefined ? plan : undefined
    },
    ended: (machine, verdict) => {
      if (!plans.isNew(machine, verdict)) return
      tally.add(machine, verdict)
      if (tally.divergence !== undefined || (tally.failing > 0 && options.failures !== "all")) endedBy = "failure"
      if (options.onProgress === undefined || (tally.explored & 255) !== 0) return
      const now = performance.now()
      if (now - reported < progressMillis) return
      reported = now
      const { explored, failing, redundant } = tally
      options.onProgress({ explored, failing, redundant, millis: now - started })
    }
  })
  const millis = performance.now() - started

  const run = runOne(subject)
  const failures: Array<Report.Failure> = []
  for (const end of [...tally.failures.values()].slice(0, shown)) {
    const minimal = yield* shrink(run, end.message, end, settings)
    failures.push({
      message: end.message,
      count: end.count,
      found: yield* narrate(run, tighten(end), settings),
      minimal: yield* narrate(run, minimal, settings)
    })
  }
  const outcomes: Array<Report.Outcome> = []
  for (const end of [...tally.outcomes.values()].slice(0, shown)) {
    outcomes.push({
      outcome: end.message,
      count: end.count,
      witness: yield* narrate(run, tighten(end), settings)
    })
  }

  const { divergence } = tally
  const escapes = [...session.escapes.values()]
  const report: Report.Report = {
    name: options.name ?? "program",
    verdict: escapes.length > 0 || divergence !== undefined ? "unsound" : tally.failing > 0 ? "failed" : "passed",
    explored: tally.explored,
    failing: tally.failing,
    byPreemptions: tally.byPreemptions,
    redundant: tally.redundant,
    coverage: coverageOf(strategy, tally, plans, endedBy),
    preemptions: settings.preemptions,
    timers: settings.timers,
    outcomes,
    failures,
    omitted: tally.outcomes.size - outcomes.length + tally.failures.size - failures.length,
    escapes,
    divergence: divergence
      && `decision ${divergence.decision}: ${divergence.expected} the first time, ${divergence.found} the next`,
    millis
  }
  return report
})

const coverageOf = (
  strategy: Strategy.Strategy,
  tally: Tally,
  plans: Plans,
  endedBy: "runs" | "failure" | undefined
): Report.Coverage => {
  if (endedBy !== undefined) return { _tag: "Partial", endedBy, complete: plans.complete() }
  if (strategy._tag !== "Exhaustive") return { _tag: "Sampled", strategy: strategy._tag, seed: strategy.seed }
  const reached = plans.reached()
  return { _tag: "Exhaustive", reached: tally.cut > 0 ? [...reached, "steps"] : reached }
}
