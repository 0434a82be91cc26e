/** What LangChain keeps of calls: the messages of a history. */
import { AIMessage, type BaseMessage, type ToolCall, ToolMessage } from "@langchain/core/messages"
import type * as ToolResult from "@quiesce/core/ToolResult"
import type { Entry } from "../Ledger.ts"
import { answers, type Event, outcomes } from "./history.ts"
import { textOf } from "./shown.ts"

export const toolMessage = (result: ToolResult.ToolResult): ToolMessage =>
  new ToolMessage({
    tool_call_id: result.callId,
    name: result.name,
    status: result._tag === "Success" ? "success" : "error",
    content: textOf(result),
    artifact: result
  })

export const of = (entries: ReadonlyArray<Entry>): Array<BaseMessage> =>
  entries.length === 0 ? [] : [
    new AIMessage({
      content: "",
      tool_calls: entries.map(({ arguments: args, callId, name }) => ({
        type: "tool_call",
        id: callId,
        name,
        args: args as Record<string, unknown>
      }))
    }),
    ...entries.map(({ result }) => toolMessage(result))
  ]

export const repair = (messages: ReadonlyArray<BaseMessage>, entries: ReadonlyArray<Entry>): Array<BaseMessage> => {
  const calls = messages.flatMap(callsOf)
  const results = outcomes(
    calls.map(({ args, id, name }) => ({ callId: id ?? "", name, arguments: args })),
    entries
  )
  const given = answers(messages.flatMap(eventsOf))
  const placed = new Set<BaseMessage>(given.surplus)
  const repaired: Array<BaseMessage> = []
  const place = (message: BaseMessage) => {
    if (placed.has(message)) return
    repaired.push(message)
    if (ToolMessage.isInstance(message)) placed.add(message)
  }
  for (let at = 0; at < messages.length; at++) {
    const message = messages[at]!
    place(message)
    while (ToolMessage.isInstance(messages[at + 1])) place(messages[++at]!)
    // What has no result, and what has it further on: it came when the history had gone on.
    for (const call of callsOf(message)) place(given.of.get(call) ?? toolMessage(results[calls.indexOf(call)]!))
  }
  return repaired
}

const eventsOf = (message: BaseMessage, step: number): Array<Event<ToolCall, ToolMessage>> =>
  ToolMessage.isInstance(message)
    ? [{ label: message.tool_call_id, result: message }]
    : callsOf(message).map((call) => ({ label: call.id ?? "", call, step }))

const callsOf = (message: BaseMessage): ReadonlyArray<ToolCall> =>
  AIMessage.isInstance(message) ? message.tool_calls ?? [] : []
