/** Values and faults in words. */
import type * as Cause from "effect/Cause"
import { inspect } from "node:util"
import type { Fault, Verdict } from "./verdict.ts"

/** Enough to see a tool result whole, and not a whole registry. */
const depth = 6

/** One line for any value; equal text means equal outcome. */
export const describe = (value: unknown): string => {
  if (typeof value === "string") return value
  if (typeof value !== "object" || value === null) return typeof value === "function" ? inspect(value) : String(value)
  return inspect(value, { depth, sorted: true, breakLength: Infinity, compact: true })
}

/** What is said of a thrown or failed value: for errors, without the stack. */
const describeError = (error: unknown): string => {
  try {
    if (!(error instanceof Error)) return describe(error)
    // What was expected, and what it was instead, the message says.
    if (error.name === "AssertionError") return `${error.name}: ${error.message.trim()}`
    const fields = Object.entries(error).filter(([key]) => key !== "name" && key !== "message" && key !== "stack")
    const detail = fields.length === 0 ? "" : ` ${describe(Object.fromEntries(fields))}`
    return `${error.name}: ${error.message}${detail}`
  } catch {
    // A hostile value may throw from any of its traps.
    return "an error that cannot be inspected"
  }
}

/** The end of a run, as it is told apart from others. */
export const describeVerdict = (verdict: Verdict): string => {
  switch (verdict._tag) {
    case "Passed":
      return describe(verdict.outcome)
    case "Failed":
      return describeFault(verdict.fault)
    case "Diverged":
      return "other decisions"
    case "Redundant":
    case "Cut":
      return "too many steps"
  }
}

export const describeFault = (fault: Fault): string => {
  switch (fault._tag) {
    case "Failed":
      return describeCause(fault.exit.cause)
    case "Violated":
      return fault.detail === undefined
        ? `does not hold: ${fault.statement}`
        : `does not hold: ${fault.statement} (${describeError(fault.detail)})`
    case "Hung":
      return "hung: nothing can move any more, and the program has not ended"
    case "Unhandled":
      return `left unhandled: ${describeError(fault.error)}`
    case "ActionThrew":
      return `${fault.label || "a scheduled task"} threw ${describeError(fault.error)}`
  }
}

const describeCause = (cause: Cause.Cause<unknown>): string => {
  const said = cause.reasons.flatMap((reason) => {
    switch (reason._tag) {
      case "Fail":
        return [describeError(reason.error)]
      case "Die":
        return [describeError(reason.defect)]
      case "Interrupt":
        return []
    }
  })
  return said.length === 0 ? "the program was interrupted" : said.join("; ")
}
