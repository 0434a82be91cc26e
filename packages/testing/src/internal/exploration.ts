/** One exploration, from its options to its report. */
import * as Effect from "effect/Effect"
import type { Options } from "../Explore.ts"
import type * as Report from "../Report.ts"
import * as Strategy from "../Strategy.ts"
import { type Plans, plansOf } from "./searches.ts"
import { drive, type Subject } from "./session.ts"
import { runsOf, settingsOf } from "./settings.ts"
import { Tally } from "./tally.ts"
import { tell } from "./telling.ts"

const progressMillis = 1_000

export const explore = Effect.fnUntraced(function*(subject: Subject, options: Options) {
  const strategy = options.strategy ?? Strategy.exhaustive()
  const settings = settingsOf(options)
  const runs = runsOf(options, strategy)
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

  const { failures, omitted, outcomes, unsteady } = yield* tell(subject, tally, settings)
  const divergence = tally.divergence === undefined
    ? unsteady
    : `decision ${tally.divergence.decision}: ${tally.divergence.expected} the first time, ${tally.divergence.found} the next`
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
    omitted,
    escapes,
    divergence,
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
