/** Which runs a strategy does, and which of them count. */
import type { Reduction, Strategy } from "../Strategy.ts"
import type { Chooser } from "./choices.ts"
import { DepthFirst } from "./depthFirst.ts"
import type { Machine, Settings } from "./machine.ts"
import { probabilistic, randomWalk } from "./sampling.ts"
import type { Plan } from "./session.ts"
import type { Verdict } from "./verdict.ts"

/** A strategy at work. */
export interface Plans {
  /** The next run; `undefined` when there is none left. */
  readonly next: () => Plan | undefined
  /** Takes note of how a run ended, and says whether it is a new one. */
  readonly isNew: (machine: Machine, verdict: Verdict) => boolean
  /** Which bounds took a choice away. */
  readonly reached: () => ReadonlyArray<"preemptions" | "timers">
  /** Up to how many preemptions every run was done, when there are still some left to do. */
  readonly complete: () => number | undefined
}

export const plansOf = (strategy: Strategy, settings: Omit<Settings, "declared">): Plans => {
  switch (strategy._tag) {
    case "Exhaustive":
      return deepening(strategy.reduction, { ...settings, declared: strategy.reduction === "declared" })
    case "Random":
      return sampled(strategy.runs, { ...settings, declared: false }, (run) => randomWalk(mix(strategy.seed, run)))
    case "Probabilistic": {
      // How long a run is, is learned from the runs before; the first one changes nothing.
      let previous: ReturnType<typeof probabilistic> | undefined
      let length = 0
      const unbounded = { ...settings, preemptions: Number.MAX_SAFE_INTEGER, declared: false }
      return sampled(strategy.runs, unbounded, (run) => {
        length = Math.max(length, previous?.moments() ?? 0)
        return previous = probabilistic(mix(strategy.seed, run), strategy.depth, length)
      })
    }
  }
}

/**
 * Everything without preemptions first, then everything with one, and so on up to the bound: the first failure that is
 * met needs as few preemptions as any. What a deeper level repeats is a fraction of what it adds.
 */
const deepening = (reduction: Reduction, settings: Settings): Plans => {
  let preemptions = 0
  let bounded = false
  let timersBounded = false
  let chooser = new DepthFirst(reduction)
  const next = (): Plan | undefined => {
    if (chooser.advance()) return { chooser, settings: { ...settings, preemptions } }
    if (!bounded || preemptions === settings.preemptions) return undefined
    preemptions++
    bounded = false
    chooser = new DepthFirst(reduction)
    return next()
  }
  return {
    next,
    isNew: (machine, verdict) => {
      bounded ||= machine.bounded
      timersBounded ||= machine.enabled.timersBounded
      return machine.preemptions === preemptions || verdict._tag === "Diverged"
    },
    reached: () => [...bounded ? ["preemptions" as const] : [], ...timersBounded ? ["timers" as const] : []],
    complete: () => preemptions === 0 ? undefined : preemptions - 1
  }
}

const sampled = (runs: number, settings: Settings, make: (run: number) => Chooser): Plans => {
  let run = 0
  return {
    next: () => run < runs ? { chooser: make(run++), settings } : undefined,
    isNew: () => true,
    reached: () => [],
    complete: () => undefined
  }
}

/** Seeds of neighbouring runs must not be neighbours. */
const mix = (seed: number, run: number): number => Math.imul(seed ^ Math.imul(run + 1, 0x9e3779b1), 0x85ebca6b)
