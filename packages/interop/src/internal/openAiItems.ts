/** What the OpenAI Agents SDK keeps of calls: the items of a history. */
import type { AgentInputItem } from "@openai/agents"
import type * as ToolResult from "@quiesce/core/ToolResult"
import type { Entry } from "../Ledger.ts"
import { answers, type Event, outcomes } from "./history.ts"
import { textOf } from "./shown.ts"

type Call = Extract<AgentInputItem, { readonly type: "function_call" }>
type Result = Extract<AgentInputItem, { readonly type: "function_call_result" }>

/** The name under which the SDK shows a tool to a model. */
const nameOf = (name: string): string => name.replaceAll(/[^a-zA-Z0-9]/g, "_")

/** Throws where a model could not tell two tools apart. */
export const refuseTwins = (names: ReadonlyArray<string>): void => {
  for (const [shown, twins] of Map.groupBy(names, nameOf)) {
    if (twins.length > 1) {
      throw new TypeError(
        `the tools ${twins.map((name) => JSON.stringify(name)).join(" and ")} are ${
          JSON.stringify(shown)
        } to a model of OpenAI Agents; rename all but one`
      )
    }
  }
}

const callItem = ({ arguments: input, callId, name }: Entry): Call => ({
  type: "function_call",
  callId,
  name: nameOf(name),
  status: "completed",
  arguments: JSON.stringify(input)
})

const resultItem = (result: ToolResult.ToolResult): Result => ({
  type: "function_call_result",
  callId: result.callId,
  name: nameOf(result.name),
  status: "completed",
  output: { type: "text", text: textOf(result) }
})

export const of = (entries: ReadonlyArray<Entry>): Array<AgentInputItem> => [
  ...entries.map(callItem),
  ...entries.map(({ result }) => resultItem(result))
]

export const repair = (
  items: ReadonlyArray<AgentInputItem>,
  entries: ReadonlyArray<Entry>
): Array<AgentInputItem> => {
  const calls = items.filter(isCall)
  const results = outcomes(
    calls.map(({ arguments: text, callId, name }) => ({ callId, name, arguments: parsed(text) })),
    entries.map((entry) => ({ ...entry, name: nameOf(entry.name) }))
  )
  const given = answers(eventsOf(items))
  const placed = new Set<AgentInputItem>(given.surplus)
  const repaired: Array<AgentInputItem> = []
  let open: Array<Call> = []
  const place = (item: AgentInputItem) => {
    if (placed.has(item)) return
    repaired.push(item)
    if (isResult(item)) placed.add(item)
  }
  // Behind the calls of one answer of the model, and the results they have: what has none, or has it further on.
  const close = () => {
    for (const call of open) place(given.of.get(call) ?? resultItem(results[calls.indexOf(call)]!))
    open = []
  }
  for (const item of items) {
    if (isMessage(item)) close()
    place(item)
    if (isCall(item)) open.push(item)
  }
  close()
  return repaired
}

/** The calls between two messages are one step: what a model thinks between them does not part them. */
const eventsOf = (items: ReadonlyArray<AgentInputItem>): ReadonlyArray<Event<Call, Result>> => {
  const events: Array<Event<Call, Result>> = []
  let step = 0
  let answered = false
  for (const item of items) {
    if (isCall(item)) {
      // A call behind a result, or behind a message, is of another answer.
      if (answered) step++
      answered = false
      events.push({ label: item.callId, call: item, step })
    } else if (isResult(item)) {
      answered = true
      events.push({ label: item.callId, result: item })
    } else if (isMessage(item)) answered = true
  }
  return events
}

const isCall = (item: AgentInputItem): item is Call => item.type === "function_call"

const isResult = (item: AgentInputItem): item is Result => item.type === "function_call_result"

const isMessage = (item: AgentInputItem): boolean => item.type === undefined || item.type === "message"

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
