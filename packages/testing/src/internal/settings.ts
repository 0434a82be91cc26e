/** The bounds of an exploration, as they were asked for. */
import type { Options } from "../Explore.ts"
import type { Strategy } from "../Strategy.ts"
import type { Settings } from "./machine.ts"

/** The bounds of one run. */
export const settingsOf = (
  { preemptions, steps, timers }: Pick<Options, "preemptions" | "timers" | "steps">
): Settings => ({
  preemptions: whole("preemptions", preemptions ?? 1, 0),
  timers: whole("timers", timers ?? 3, 0),
  steps: whole("steps", steps ?? 2_000, 1),
  declared: false
})

/** How many runs there are at most. */
export const runsOf = ({ runs }: Pick<Options, "runs">, strategy: Strategy): number => {
  if (strategy._tag !== "Exhaustive") whole("runs", strategy.runs, 1)
  return whole("runs", runs ?? 1_000_000, 1)
}

/** A bound that is none would end the search before it began, and that would pass. */
const whole = (name: string, value: number, least: number): number => {
  if (Number.isSafeInteger(value) && value >= least) return value
  throw new RangeError(`${name}: ${value} is no whole number from ${least} on`)
}
