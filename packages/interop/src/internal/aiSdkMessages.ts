/** What the AI SDK keeps of calls: model outputs, and the messages of a history. */
import type * as ToolResult from "@quiesce/core/ToolResult"
import type { ModelMessage, ToolCallPart, ToolModelMessage, ToolResultPart } from "ai"
import * as Predicate from "effect/Predicate"
import type { Entry } from "../Ledger.ts"
import { copied } from "./copied.ts"
import { answers, type Asked, type Event, outcomes } from "./history.ts"
import { textOf, texts } from "./shown.ts"

type ModelOutput = ToolResultPart["output"]
type JsonOutput = Extract<ModelOutput, { readonly type: "json" }>
type ToolPart = ToolModelMessage["content"][number]
type MessagePart = ToolPart | ReturnType<typeof partsOf>[number]

const modelOutput = (result: ToolResult.ToolResult): ModelOutput => {
  if (result._tag === "Failure") return { type: "error-text", value: textOf(result) }
  const shown = texts(result)
  return shown.length === 1
    ? { type: "text", value: shown[0]! }
    : { type: "content", value: shown.map((text) => ({ type: "text", text })) }
}

/** What a tool of the AI SDK wants a model to be shown, as text: what is no text is named. */
export const textOfOutput = (output: ModelOutput): ReadonlyArray<ToolResult.Content> => {
  const text = (text: string): ToolResult.Content => ({ type: "text", text })
  switch (output.type) {
    case "text":
    case "error-text":
      return [text(output.value)]
    case "json":
    case "error-json":
      return [text(JSON.stringify(output.value))]
    case "execution-denied":
      return [text(output.reason ?? "denied")]
    case "content":
      return output.value.map((part) => text(part.type === "text" ? part.text : `[${part.type}]`))
  }
}

export const isOutput = (output: unknown): output is ToolResult.Success =>
  Predicate.hasProperty(output, "content") && Array.isArray(output.content) &&
  Predicate.hasProperty(output, "contexts") && Array.isArray(output.contexts) &&
  Predicate.hasProperty(output, "concludesTurn")

/** What a model is shown of an output that may have come from a client, and be anything. */
export const shownOutput = (output: unknown): ModelOutput =>
  isOutput(output) ? modelOutput(output) : { type: "json", value: copied(output) as JsonOutput["value"] }

const resultPart = (result: ToolResult.ToolResult): ToolResultPart => ({
  type: "tool-result",
  toolCallId: result.callId,
  toolName: result.name,
  output: modelOutput(result)
})

export const of = (entries: ReadonlyArray<Entry>): Array<ModelMessage> =>
  entries.length === 0 ? [] : [
    {
      role: "assistant",
      content: entries.map(({ arguments: input, callId, name }) => ({
        type: "tool-call",
        toolCallId: callId,
        toolName: name,
        input
      }))
    },
    { role: "tool", content: entries.map(({ result }) => resultPart(result)) }
  ]

export const repair = (
  messages: ReadonlyArray<ModelMessage>,
  entries: ReadonlyArray<Entry>
): Array<ModelMessage> => {
  const asked = new Map<ToolCallPart, Asked>(
    messages.flatMap(callsOf).map((part) => [part, {
      callId: part.toolCallId,
      name: part.toolName,
      arguments: part.input
    }])
  )
  const results = outcomes([...asked.values()], entries)
  const outcomeOf = new Map(Array.from(asked.keys(), (part, at) => [part, results[at]!]))
  const given = answers(messages.flatMap(eventsOf))
  const placed = new Set<MessagePart>(given.surplus)
  const repaired: Array<ModelMessage> = []
  for (let at = 0; at < messages.length; at++) {
    const message = messages[at]!
    const block: Array<ToolModelMessage> = []
    // One that begins the history is of no call in it, and is read as those are that follow.
    if (message.role === "tool") at--
    else repaired.push(message)
    for (let next = messages[at + 1]; next?.role === "tool"; next = messages[at + 1]) {
      const content = next.content.filter((part) => !placed.has(part))
      if (content.length === next.content.length) block.push(next)
      else if (content.length > 0) block.push({ ...next, content })
      content.filter(isResult).forEach((part) => placed.add(part))
      at++
    }
    const isLast = at === messages.length - 1
    const parts = block.flatMap(({ content }) => content)
    const added: Array<ToolResultPart> = []
    for (const call of callsOf(message)) {
      const late = given.of.get(call)
      if (late !== undefined) {
        // It is here, in the message itself, or further on: it came when the history had gone on.
        if (!placed.has(late) && !partsOf(message).includes(late)) added.push(late)
        placed.add(late)
      } else if (!(isLast && isAdmitted(call, message, parts) && !isMade(call, entries))) {
        added.push(resultPart(outcomeOf.get(call)!))
      }
    }
    repaired.push(...(added.length === 0 ? block : extended(block, added)))
  }
  return repaired
}

/** What a message asks for, and what it answers: a result may also stand beside its call, in one message. */
const eventsOf = (message: ModelMessage, step: number): Array<Event<ToolCallPart, ToolResultPart>> => {
  if (message.role === "tool") return message.content.filter(isResult).map(answered)
  const calls = callsOf(message)
  return [
    ...calls.map((call) => ({ label: call.toolCallId, call, step })),
    ...partsOf(message).filter(isResult)
      .filter((part) => calls.some(({ toolCallId }) => toolCallId === part.toolCallId))
      .map(answered)
  ]
}

const answered = (part: ToolResultPart) => ({ label: part.toolCallId, result: part })

const isResult = (part: MessagePart): part is ToolResultPart => part.type === "tool-result"

/** The calls that the AI SDK runs itself. */
const callsOf = (message: ModelMessage): ReadonlyArray<ToolCallPart> =>
  message.role === "assistant" && typeof message.content !== "string"
    ? message.content.filter((part) => part.type === "tool-call").filter((call) => call.providerExecuted !== true)
    : []

/** Whether somebody has answered what the AI SDK asked about the call, which it then runs or refuses itself. */
const isAdmitted = ({ toolCallId }: ToolCallPart, asking: ModelMessage, answers: ReadonlyArray<ToolPart>): boolean =>
  partsOf(asking).some((request) =>
    request.type === "tool-approval-request" && request.toolCallId === toolCallId &&
    answers.some((part) => part.type === "tool-approval-response" && part.approvalId === request.approvalId)
  )

const isMade = ({ toolCallId, toolName }: ToolCallPart, entries: ReadonlyArray<Entry>): boolean =>
  entries.some(({ callId, name }) => callId === toolCallId && name === toolName)

const partsOf = (message: ModelMessage) =>
  message.role === "assistant" && typeof message.content !== "string" ? message.content : []

const extended = (
  answers: ReadonlyArray<ToolModelMessage>,
  added: ReadonlyArray<ToolPart>
): ReadonlyArray<ModelMessage> => {
  const last = answers.at(-1)
  return last === undefined
    ? [{ role: "tool", content: [...added] }]
    : [...answers.slice(0, -1), { ...last, content: [...last.content, ...added] }]
}
