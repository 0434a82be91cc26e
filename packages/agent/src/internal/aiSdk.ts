/** The history in the shape of the AI SDK. */
import type { Message } from "../Replay.ts"

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
