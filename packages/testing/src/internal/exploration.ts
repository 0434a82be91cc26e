/** One exploration, from its options to its report. */
import * as Effect from "effect/Effect"
import type { Options } from "../Explore.ts"
import * as Interleaving from "../Interleaving.ts"
import type * as Report from "../Report.ts"
import * as Strategy from "../Strategy.ts"
import { narrate, runOne } from "./again.ts"
import { describeVerdict } from "./describe.ts"
import type { Settings } from "./machine.ts"
import { whereOf } from "./origin.ts"
import { type Plans, plansOf } from "./searches.ts"
import { drive, type Subject } from "./session.ts"
import { type Candidate, shrink, tighten } from "./shrink.ts"
import { Tally } from "./tally.ts"
import { errorOf } from "./verdict.ts"

/** How many different outcomes and failures a report shows in words: each costs a run, and nobody reads more. */
const shown = 12

const progressMillis = 1_000

export const settingsOf = (
  { preemptions, steps, timers }: Pick<Options, "preemptions" | "timers" | "steps">
): Settings => ({
  preemptions: whole("preemptions", preemptions ?? 1, 0),
  timers: whole("timers", timers ?? 3, 0),
  steps: whole("steps", steps ?? 2_000, 1),
  declared: false
})

/** A bound that is none would end the search before it began, and that would pass. */
const whole = (name: string, value: number, least: number): number => {
  if (Number.isSafeInteger(value) && value >= least) return value
  throw new RangeError(`${name}: ${value} is no whole number from ${least} on`)
}

export const explore = Effect.fnUntraced(function*(subject: Subject, options: Options) {
  const strategy = options.strategy ?? Strategy.exhaustive()
  const settings = settingsOf(options)
  const runs = whole("runs", options.runs ?? 1_000_000, 1)
  if (strategy._tag !== "Exhaustive") whole("runs", strategy.runs, 1)
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
  /** The first interleaving that ended otherwise when it was run once more. */
  let unsteady: string | undefined
  const again = Effect.fnUntraced(function*(candidate: Candidate, before: string) {
    const { interleaving, verdict } = yield* narrate(run, candidate, settings)
    const now = describeVerdict(verdict)
    if (now !== before) {
      unsteady ??= `${Interleaving.format(interleaving)}: ${before} the first time, ${now} the next`
    }
    return { interleaving, verdict }
  })
  const failures: Array<Report.Failure> = []
  for (const end of [...tally.failures.values()].slice(0, shown)) {
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
  for (const end of [...tally.outcomes.values()].slice(0, shown)) {
    outcomes.push({
      outcome: end.message,
      count: end.count,
      witness: (yield* again(tighten(end), end.message)).interleaving
    })
  }

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
    omitted: tally.outcomes.size - outcomes.length + tally.failures.size - failures.length,
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
