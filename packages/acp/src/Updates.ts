/**
 * What a client is told of a turn: its events as updates of the session.
 *
 * | event of the turn | update | status |
 * |---|---|---|
 * | `Called` | `tool_call`, with the arguments | `pending` |
 * | none: its mark in the log is written, its body comes next | `tool_call_update` | `in_progress` |
 * | `Progress`, with a message | `tool_call_update`, with the message | |
 * | `Settled`, a success | `tool_call_update`, with content and value | `completed` |
 * | `Settled`, a failure of any code | `tool_call_update`, with content; code and `dispatched` in `_meta` | `failed` |
 *
 * The first version of the protocol has no status for a call that was cancelled: it is one that failed, and its text says
 * why. `_meta` says it to programs.
 */
import type * as Sdk from "@agentclientprotocol/sdk"
import type * as Turn from "@quiesce/agent/Turn"
import type * as ToolResult from "@quiesce/core/ToolResult"

/** How a call is shown. */
export interface Description {
  /** Default: the tool's name. */
  readonly title?: string | undefined
  /** Default: `other`. */
  readonly kind?: Sdk.ToolKind | undefined
  readonly locations?: ReadonlyArray<Sdk.ToolCallLocation> | undefined
}

/** Says how the calls to a tool are shown, by its name and arguments. */
export type Describe = (name: string, args: unknown) => Description

/** The identity of a call in updates and permission requests: that of its place in the log. */
export const toolCallId = (call: number): string => `call_${call}`

/** The text of a message, as a chunk of it. */
export const message = (text: string): Sdk.SessionUpdate => ({
  sessionUpdate: "agent_message_chunk",
  content: { type: "text", text }
})

export const thought = (text: string): Sdk.SessionUpdate => ({
  sessionUpdate: "agent_thought_chunk",
  content: { type: "text", text }
})

/** How a call is shown, in words of the protocol. */
export const described = (name: string, args: unknown, describe: Describe | undefined) => {
  const { kind, locations, title } = describe?.(name, args) ?? {}
  return {
    title: title ?? name,
    ...(kind === undefined ? {} : { kind }),
    ...(locations === undefined ? {} : { locations: Array.from(locations) }),
    ...(args === undefined ? {} : { rawInput: args })
  }
}

/** The update for an event of a turn, `undefined` where a client is not told. `request`: what was called. */
export const ofEvent = (
  event: Turn.Event,
  request: Turn.Request | undefined,
  describe: Describe | undefined
): Sdk.SessionUpdate | undefined => {
  switch (event._tag) {
    case "Called": {
      const args = request?.arguments._tag === "Complete" ? request.arguments.json : request?.arguments.text
      return {
        sessionUpdate: "tool_call",
        toolCallId: toolCallId(event.call),
        status: "pending",
        ...described(event.name, args, describe)
      }
    }
    case "Progress": {
      const { message } = event.progress
      return message === undefined
        ? undefined
        : { sessionUpdate: "tool_call_update", toolCallId: toolCallId(event.call), content: [content(message)] }
    }
    case "Settled":
      return { sessionUpdate: "tool_call_update", toolCallId: toolCallId(event.call), ...ofResult(event.result) }
    case "Started":
    case "Stage":
    case "Committed":
    case "Cancelled":
      return undefined
  }
}

/** A call whose body begins. */
export const began = (call: number): Sdk.SessionUpdate => ({
  sessionUpdate: "tool_call_update",
  toolCallId: toolCallId(call),
  status: "in_progress"
})

/** A result, as the end of a call. */
export const ofResult = (
  result: ToolResult.ToolResult
): Pick<Sdk.ToolCallUpdate, "status" | "content" | "rawOutput" | "_meta"> => {
  const { dispatched, residue } = result
  const shown = result.content.map(({ text }) => content(text))
  const left = residue.length === 0 ? {} : { residue }
  return result._tag === "Success"
    ? { status: "completed", content: shown, rawOutput: result.value, _meta: { quiesce: { dispatched, ...left } } }
    : { status: "failed", content: shown, _meta: { quiesce: { code: result.error.code, dispatched, ...left } } }
}

const content = (text: string): Sdk.ToolCallContent => ({ type: "content", content: { type: "text", text } })

/** The text of a prompt, for a model that reads text: links and embedded texts with their addresses. */
export const textOf = (prompt: ReadonlyArray<Sdk.ContentBlock>): string =>
  prompt.map((block) => {
    switch (block.type) {
      case "text":
        return block.text
      case "resource_link":
        return `[${block.title ?? block.name}](${block.uri})`
      case "resource":
        return "text" in block.resource ? `${block.resource.uri}:\n${block.resource.text}` : `[${block.resource.uri}]`
      default:
        return `[${block.type}]`
    }
  }).join("\n")
