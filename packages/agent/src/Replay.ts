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

// Each provider has its shape of the messages, and its file.
export { type AiSdkMessage, type AiSdkText, toAiSdk } from "./internal/aiSdk.ts"
export { type AnthropicMessage, type AnthropicText, toAnthropic } from "./internal/anthropic.ts"
export { type OpenAiMessage, toOpenAi } from "./internal/openAi.ts"

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
