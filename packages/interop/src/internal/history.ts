/**
 * Which outcome belongs to which call of a history.
 *
 * A `callId` is a label, and a model may use one twice. A claim that a call never ran must be true, so where calls and
 * outcomes cannot be told apart the answer is that nobody knows.
 */
import type { Json } from "@quiesce/core/Json"
import type * as ToolResult from "@quiesce/core/ToolResult"
import type { Entry } from "../Ledger.ts"
import { copied } from "./copied.ts"

/** A call as a history has it. */
export interface Asked {
  readonly callId: string
  readonly name: string
  readonly arguments: unknown
}

/** What happens in a history: a model asks for a call, or a result is given. `step` tells the answers of a model apart. */
export type Event<Call, Result> =
  | { readonly label: string; readonly call: Call; readonly step: number }
  | { readonly label: string; readonly result: Result }

/**
 * Which result a history has for which call, and which results it has too many: those of a call that has one.
 *
 * A label may be used again. So a result is for the last step that used its label, and there for the first call that has
 * none: one of a later step is not taken for that of an earlier one. A result whose label nobody used is left alone.
 */
export const answers = <Call, Result>(events: Iterable<Event<Call, Result>>): {
  readonly of: ReadonlyMap<Call, Result>
  readonly surplus: ReadonlySet<Result>
} => {
  const of = new Map<Call, Result>()
  const surplus = new Set<Result>()
  const open = new Map<string, { readonly step: number; readonly calls: Array<Call> }>()
  for (const event of events) {
    const last = open.get(event.label)
    if ("call" in event) {
      if (last?.step === event.step) last.calls.push(event.call)
      else open.set(event.label, { step: event.step, calls: [event.call] })
    } else if (last !== undefined) {
      const call = last.calls.shift()
      if (call === undefined) surplus.add(event.result)
      else of.set(call, event.result)
    }
  }
  return { of, surplus }
}

/** The outcome of each of `asked`, all the calls of a history, by what a ledger has recorded. */
export const outcomes = (
  asked: ReadonlyArray<Asked>,
  entries: ReadonlyArray<Entry>
): ReadonlyArray<ToolResult.ToolResult> => {
  const byLabel = pairing(asked, entries, (call) => JSON.stringify([call.callId, call.name]))
  const byArguments = pairing(
    asked,
    entries,
    (call) => JSON.stringify([call.callId, call.name, sorted(copied(call.arguments))])
  )
  return asked.map((call) => {
    const label = byLabel(call)
    if (label === "none") return neverStarted(call)
    if (label !== "unclear") return label
    const narrow = byArguments(call)
    return typeof narrow === "string" ? unknown(call) : narrow
  })
}

/** Pairs calls with entries of the same key, in order, where there are as many of the one as of the other. */
const pairing = (
  asked: ReadonlyArray<Asked>,
  entries: ReadonlyArray<Entry>,
  key: (call: Asked) => string
): (call: Asked) => ToolResult.ToolResult | "none" | "unclear" => {
  const calls = Map.groupBy(asked, key)
  const made = Map.groupBy(entries, key)
  return (call) => {
    const ours = calls.get(key(call)) ?? []
    const theirs = made.get(key(call))
    if (theirs === undefined) return "none"
    return theirs.length === ours.length ? theirs[ours.indexOf(call)]!.result : "unclear"
  }
}

/** With its keys in order, since a host may rebuild what it was given. */
const sorted = (value: Json): Json =>
  Array.isArray(value)
    ? value.map(sorted)
    : value !== null && typeof value === "object"
    ? Object.fromEntries(
      Object.entries(value).sort(([a], [b]) => a < b ? -1 : 1).map(([key, part]) => [key, sorted(part)])
    )
    : value

const neverStarted = ({ callId, name }: Asked): ToolResult.Failure =>
  failure(callId, name, {
    code: "ABORTED_BEFORE_DISPATCH",
    dispatched: false,
    message: "tool call aborted before dispatch"
  })

const unknown = ({ callId, name }: Asked): ToolResult.Failure =>
  failure(callId, name, {
    code: "ABORTED",
    dispatched: true,
    message: "tool call aborted; it is not known how far it came, and it may have had effects"
  })

const failure = (
  callId: string,
  name: string,
  { code, dispatched, message }: { code: ToolResult.Code; dispatched: boolean; message: string }
): ToolResult.Failure => ({
  _tag: "Failure",
  callId,
  name,
  dispatched,
  error: { code, name: "AbortError", message },
  content: [{ type: "text", text: `Error: ${message}` }],
  contexts: [],
  residue: []
})
