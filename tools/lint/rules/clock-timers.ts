/**
 * Time comes from Effect's Clock, so that a test can turn it and an exploration can order it.
 */
import { ofUses } from "../rule.ts"

const timers = new Set(["setTimeout", "setInterval", "setImmediate", "queueMicrotask"])

export const clockTimers = ofUses(
  "No timer or task queue besides Effect's Clock and Scheduler",
  ({ module, path, isType }) => {
    const name = path[0] ?? ""
    return module === null && !isType && timers.has(name)
      ? `${name} is outside Effect's Clock and Scheduler, so virtual time cannot drive it: use Effect.sleep, or leave the ` +
        `order of tasks to the Scheduler.`
      : undefined
  }
)
