/** The history in the shape of OpenAI. */
import type { Message } from "../Replay.ts"

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
