/**
 * The history a model is shown, derived from a log.
 *
 * Model order is made here: the log has results as they came. Every call is followed by its result, whatever happened; one
 * that has none, in a log that is still being written or that a crash ended, is shown as what recovery would make of it.
 */
import type { Json } from "@quiesce/core/Json"
import type * as ToolResult from "@quiesce/core/ToolResult"
import { crashed } from "./internal/closing.ts"
import type { Entry, LogEvent, Seq } from "./LogEvent.ts"

export interface Call {
  /** The model's label where that can be used: of letters, digits, `_` and `-`, and of no call before. */
  readonly id: string
  readonly name: string
  /** Always an object, as providers demand: other arguments are under `arguments`, unreadable ones are left out. */
  readonly input: { readonly [key: string]: Json }
  readonly text: string
  readonly isError: boolean
}

/** What a model is shown, before it takes a provider's shape. */
export type Message =
  | { readonly role: "user"; readonly text: string }
  | {
    readonly role: "assistant"
    readonly text: string
    readonly calls: ReadonlyArray<Call>
    /** What the calls deferred, in their order: shown behind all results. */
    readonly contexts: ReadonlyArray<string>
  }

interface Asked {
  readonly event: Extract<LogEvent, { readonly _tag: "tool/call" }>
  readonly seq: Seq
  marked: boolean
  result: ToolResult.ToolResult | undefined
}

interface Said {
  readonly text: string
  readonly calls: Array<Asked>
}

/** The messages of a log, in order. Texts that are blank are left out: providers refuse them. */
export const messages = (entries: Iterable<Entry>): ReadonlyArray<Message> => {
  const order: Array<{ readonly input: string } | Said> = []
  const calls = new Map<Seq, Asked>()
  let said: Said | undefined
  for (const { event, seq } of entries) {
    switch (event._tag) {
      case "input":
        order.push({ input: event.text })
        break
      case "assistant":
        order.push(said = { text: event.text, calls: [] })
        break
      case "tool/call": {
        const asked: Asked = { event, seq, marked: false, result: undefined }
        calls.set(seq, asked)
        said?.calls.push(asked)
        break
      }
      case "tool/dispatched": {
        const asked = calls.get(event.call)
        if (asked !== undefined) asked.marked = true
        break
      }
      case "tool/result": {
        const asked = calls.get(event.call)
        if (asked !== undefined) asked.result ??= event.result
        break
      }
      case "turn/start":
      case "turn/end":
    }
  }
  const ids = new Set<string>()
  return order.flatMap((item): ReadonlyArray<Message> => {
    if ("input" in item) return isBlank(item.input) ? [] : [{ role: "user", text: item.input }]
    if (isBlank(item.text) && item.calls.length === 0) return []
    const results = item.calls.map(resultOf)
    return [{
      role: "assistant",
      text: isBlank(item.text) ? "" : item.text,
      calls: item.calls.map((asked, index) => show(asked, results[index]!, ids)),
      contexts: results.flatMap(({ contexts }) => contexts.map(textOf)).filter((text) => !isBlank(text))
    }]
  })
}

const resultOf = ({ event: { callId, name }, marked, result, seq }: Asked): ToolResult.ToolResult =>
  result ?? crashed({ seq, callId, name, state: marked ? "marked" : "open" })

const show = ({ event, seq }: Asked, { _tag, content }: ToolResult.ToolResult, ids: Set<string>): Call => {
  let id = usable.test(event.callId) && !ids.has(event.callId) ? event.callId : `call_${seq}`
  while (ids.has(id)) id += "_"
  ids.add(id)
  return {
    id,
    name: event.name,
    input: event.arguments._tag === "Complete" ? asObject(event.arguments.json) : {},
    text: content.map(({ text }) => text).join("\n"),
    isError: _tag === "Failure"
  }
}

/** **Source**: the pattern of Anthropic's `tool_use.id`, at the length that OpenAI's `tool_calls[].id` may have. */
const usable = /^[a-zA-Z0-9_-]{1,40}$/

const isBlank = (text: string): boolean => text.trim() === ""

const textOf = (json: Json): string => typeof json === "string" ? json : JSON.stringify(json)

const asObject = (json: Json): { readonly [key: string]: Json } =>
  typeof json === "object" && json !== null && !Array.isArray(json)
    ? json as { readonly [key: string]: Json }
    : { arguments: json }

// The shapes of providers.

export interface AnthropicText {
  readonly type: "text"
  readonly text: string
}
export type AnthropicMessage =
  | {
    readonly role: "user"
    readonly content: ReadonlyArray<
      | AnthropicText
      | {
        readonly type: "tool_result"
        readonly tool_use_id: string
        readonly content: string
        readonly is_error: boolean
      }
    >
  }
  | {
    readonly role: "assistant"
    readonly content: ReadonlyArray<
      AnthropicText | { readonly type: "tool_use"; readonly id: string; readonly name: string; readonly input: object }
    >
  }

const block = (text: string): AnthropicText => ({ type: "text", text })

/** As the `messages` of Anthropic's Messages API: all results of a step come first in the next user message. */
export const toAnthropic = (messages: ReadonlyArray<Message>): ReadonlyArray<AnthropicMessage> =>
  messages.flatMap((message): ReadonlyArray<AnthropicMessage> => {
    if (message.role === "user") return [{ role: "user", content: [block(message.text)] }]
    const { calls, contexts, text } = message
    const said = calls.map(({ id, input, name }) => ({ type: "tool_use" as const, id, name, input }))
    const results = calls.map(({ id, isError, text }) => ({
      type: "tool_result" as const,
      tool_use_id: id,
      content: text,
      is_error: isError
    }))
    const answer = [...results, ...contexts.map(block)]
    return [
      { role: "assistant", content: text === "" ? said : [block(text), ...said] },
      ...(answer.length === 0 ? [] : [{ role: "user" as const, content: answer }])
    ]
  })

export type OpenAiMessage =
  | { readonly role: "user"; readonly content: string }
  | {
    readonly role: "assistant"
    readonly content: string | null
    readonly tool_calls?: ReadonlyArray<{
      readonly id: string
      readonly type: "function"
      readonly function: { readonly name: string; readonly arguments: string }
    }>
  }
  | { readonly role: "tool"; readonly tool_call_id: string; readonly content: string }

/** As the `messages` of OpenAI's Chat Completions API. */
export const toOpenAi = (messages: ReadonlyArray<Message>): ReadonlyArray<OpenAiMessage> =>
  messages.flatMap((message): ReadonlyArray<OpenAiMessage> => {
    if (message.role === "user") return [{ role: "user", content: message.text }]
    const { calls, contexts, text } = message
    if (calls.length === 0) return [{ role: "assistant", content: text }]
    return [
      {
        role: "assistant",
        content: text === "" ? null : text,
        tool_calls: calls.map(({ id, input, name }) => ({
          id,
          type: "function",
          function: { name, arguments: JSON.stringify(input) }
        }))
      },
      ...calls.map(({ id, text }) => ({ role: "tool" as const, tool_call_id: id, content: text })),
      ...contexts.map((content) => ({ role: "user" as const, content }))
    ]
  })

export interface AiSdkText {
  readonly type: "text"
  readonly text: string
}
export type AiSdkMessage =
  | { readonly role: "user"; readonly content: ReadonlyArray<AiSdkText> }
  | {
    readonly role: "assistant"
    readonly content: ReadonlyArray<
      | AiSdkText
      | { readonly type: "tool-call"; readonly toolCallId: string; readonly toolName: string; readonly input: object }
    >
  }
  | {
    readonly role: "tool"
    readonly content: ReadonlyArray<{
      readonly type: "tool-result"
      readonly toolCallId: string
      readonly toolName: string
      readonly output: { readonly type: "text" | "error-text"; readonly value: string }
    }>
  }

const part = (text: string): AiSdkText => ({ type: "text", text })

/** As the `ModelMessage`s of the AI SDK, versions 5 and later. */
export const toAiSdk = (messages: ReadonlyArray<Message>): ReadonlyArray<AiSdkMessage> =>
  messages.flatMap((message): ReadonlyArray<AiSdkMessage> => {
    if (message.role === "user") return [{ role: "user", content: [part(message.text)] }]
    const { calls, contexts, text } = message
    const said = calls.map(({ id, input, name }) => ({
      type: "tool-call" as const,
      toolCallId: id,
      toolName: name,
      input
    }))
    const results = calls.map(({ id, isError, name, text }) => ({
      type: "tool-result" as const,
      toolCallId: id,
      toolName: name,
      output: { type: isError ? "error-text" as const : "text" as const, value: text }
    }))
    return [
      { role: "assistant", content: text === "" ? said : [part(text), ...said] },
      ...(results.length === 0 ? [] : [{ role: "tool" as const, content: results }]),
      ...(contexts.length === 0 ? [] : [{ role: "user" as const, content: contexts.map(part) }])
    ]
  })
