/** What the OpenAI Agents SDK keeps of calls: the items of a history. */
import type { AgentInputItem } from "@openai/agents"
import type * as ToolResult from "@quiesce/core/ToolResult"
import type { Entry } from "../Ledger.ts"
import { outcomes } from "./history.ts"
import { textOf } from "./shown.ts"

type Call = Extract<AgentInputItem, { readonly type: "function_call" }>
type Result = Extract<AgentInputItem, { readonly type: "function_call_result" }>

export const shown = textOf

/** The name under which the SDK shows a tool to a model. */
const nameOf = (name: string): string => name.replaceAll(/[^a-zA-Z0-9]/g, "_")

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
  output: { type: "text", text: shown(result) }
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
  const repaired: Array<AgentInputItem> = []
  const missing: Array<Result> = []
  for (const [at, item] of items.entries()) {
    // Behind the calls of one answer of the model, and the results they have.
    if (!isOfCalls(item)) repaired.push(...missing.splice(0))
    repaired.push(item)
    if (isCall(item) && !isAnswered(item, items.slice(at + 1))) missing.push(resultItem(results[calls.indexOf(item)]!))
  }
  return [...repaired, ...missing]
}

/** Whether there is a result before another call takes the same label. */
const isAnswered = ({ callId }: Call, following: ReadonlyArray<AgentInputItem>): boolean => {
  const next = following.find((item) => isOfCalls(item) && item.callId === callId)
  return next !== undefined && !isCall(next)
}

const isCall = (item: AgentInputItem): item is Call => item.type === "function_call"

const isOfCalls = (item: AgentInputItem): item is Call | Result => isCall(item) || item.type === "function_call_result"

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
