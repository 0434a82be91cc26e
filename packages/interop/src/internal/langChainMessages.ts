/** What LangChain keeps of calls: the messages of a history. */
import { AIMessage, type BaseMessage, ToolMessage } from "@langchain/core/messages"
import type * as ToolResult from "@quiesce/core/ToolResult"
import type { Entry } from "../Ledger.ts"
import { outcomes } from "./history.ts"
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
  const repaired: Array<BaseMessage> = []
  for (let at = 0; at < messages.length; at++) {
    const message = messages[at]!
    repaired.push(message)
    const answered = new Set<string | undefined>()
    for (let next = messages[at + 1]; ToolMessage.isInstance(next); next = messages[at + 1]) {
      answered.add(next.tool_call_id)
      repaired.push(next)
      at++
    }
    const open = callsOf(message).filter(({ id }) => !answered.has(id))
    repaired.push(...open.map((call) => toolMessage(results[calls.indexOf(call)]!)))
  }
  return repaired
}

const callsOf = (message: BaseMessage) => AIMessage.isInstance(message) ? message.tool_calls ?? [] : []
