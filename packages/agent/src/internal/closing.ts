/**
 * Results of calls that the registry gave none: they were never started, or their process ended first.
 *
 * For the latter the mark decides: with it the body may have run, without it the body has not.
 */
import type * as ToolResult from "@quiesce/core/ToolResult"
import type { LogEvent } from "../LogEvent.ts"
import type { Call, Ledger } from "./ledger.ts"

export const aborted = (
  { callId, name }: Pick<Call, "callId" | "name">,
  dispatched: boolean,
  why: { readonly text?: string; readonly detail: { readonly [key: string]: string } }
): ToolResult.Failure => {
  const text = dispatched ? "tool call aborted" : "tool call aborted before dispatch"
  return {
    _tag: "Failure",
    callId,
    name,
    dispatched,
    error: {
      code: dispatched ? "ABORTED" : "ABORTED_BEFORE_DISPATCH",
      name: "AbortError",
      message: text,
      detail: why.detail
    },
    content: [{ type: "text", text: why.text === undefined ? `Error: ${text}` : `Error: ${text}: ${why.text}` }],
    contexts: [],
    residue: []
  }
}

/** A call whose arguments are no JSON. */
export const unreadable = (
  { callId, name }: Pick<Call, "callId" | "name">,
  problem: string
): ToolResult.Failure => ({
  _tag: "Failure",
  callId,
  name,
  dispatched: false,
  error: { code: "INVALID_ARGUMENTS", name: "InvalidArguments", message: "its arguments are no JSON", detail: problem },
  content: [{ type: "text", text: `Error: the arguments of ${name} are no JSON` }],
  contexts: [],
  residue: []
})

/** What became of a call that a crash left open. */
export const crashed = (call: Call): ToolResult.Failure => {
  const isMarked = call.state === "marked"
  const result = aborted(call, isMarked, { detail: { cause: "crash" } })
  return isMarked
    ? { ...result, residue: [{ kind: "other", detail: "its process ended, and what it had started may go on" }] }
    : result
}

/** The events that close what a crash left open. */
export const closing = (ledger: Ledger): ReadonlyArray<LogEvent> =>
  ledger.turn === undefined ? [] : [
    ...ledger.unanswered.map((call): LogEvent => ({ _tag: "tool/result", call: call.seq, result: crashed(call) })),
    { _tag: "turn/end", turn: ledger.turn, ending: "crashed" }
  ]
