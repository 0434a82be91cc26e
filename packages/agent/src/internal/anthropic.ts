/** The history in the shape of Anthropic. */
import type { Message } from "../Replay.ts"

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
