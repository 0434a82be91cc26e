/** How a run ended, and what went wrong in it. */
import type * as Exit from "effect/Exit"
import type { Divergence } from "./choices.ts"

/** What went wrong in a run. */
export type Fault =
  | { readonly _tag: "Failed"; readonly exit: Exit.Failure<unknown, unknown> }
  | { readonly _tag: "Violated"; readonly statement: string; readonly detail: unknown }
  | { readonly _tag: "Hung" }
  | { readonly _tag: "Unhandled"; readonly error: unknown }
  | { readonly _tag: "ActionThrew"; readonly label: string; readonly error: unknown }

/** What was thrown or failed with, where something was. */
export const errorOf = (fault: Fault): unknown => {
  switch (fault._tag) {
    case "Failed": {
      const [reason] = fault.exit.cause.reasons.filter((reason) => reason._tag !== "Interrupt")
      return reason?._tag === "Fail" ? reason.error : reason?.defect
    }
    case "Violated":
      return fault.detail
    case "Unhandled":
    case "ActionThrew":
      return fault.error
    case "Hung":
      return undefined
  }
}

/** How a run ended. */
export type Verdict =
  | { readonly _tag: "Passed"; readonly outcome: unknown }
  | { readonly _tag: "Failed"; readonly fault: Fault }
  /** Given up: the runs it would have led to are explored elsewhere. */
  | { readonly _tag: "Redundant" }
  /** Given up: it took more steps than the bound allows. */
  | { readonly _tag: "Cut" }
  | { readonly _tag: "Diverged"; readonly divergence: Divergence }
