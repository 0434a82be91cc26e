/** The AI SDK's own mock model, following a script: in each step it asks for calls, or says a text. */
import type { LanguageModelV4Content, LanguageModelV4GenerateResult, LanguageModelV4StreamPart } from "@ai-sdk/provider"
import type { ModelMessage } from "ai"
import { convertArrayToReadableStream, MockLanguageModelV4 } from "ai/test"

export type Step = string | ReadonlyArray<readonly [callId: string, name: string, input: unknown]>

const usage: LanguageModelV4GenerateResult["usage"] = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 }
}

const finishReason = (step: Step): LanguageModelV4GenerateResult["finishReason"] => ({
  unified: typeof step === "string" ? "stop" : "tool-calls",
  raw: undefined
})

const calls = (step: Exclude<Step, string>) =>
  step.map(([toolCallId, toolName, input]) => ({
    type: "tool-call" as const,
    toolCallId,
    toolName,
    input: JSON.stringify(input)
  }))

const content = (step: Step): Array<LanguageModelV4Content> =>
  typeof step === "string" ? [{ type: "text", text: step }] : calls(step)

const parts = (step: Step): Array<LanguageModelV4StreamPart> => [
  { type: "stream-start", warnings: [] },
  ...(typeof step === "string"
    ? [
      { type: "text-start" as const, id: "0" },
      { type: "text-delta" as const, id: "0", delta: step },
      { type: "text-end" as const, id: "0" }
    ]
    : calls(step)),
  { type: "finish", finishReason: finishReason(step), usage }
]

/** `prompts` is what the model was shown, step by step. */
export const scripted = (...steps: ReadonlyArray<Step>) => {
  let at = 0
  const next = (): Step => {
    const step = steps[at++]
    if (step === undefined) throw new Error("the script is over")
    return step
  }
  const model = new MockLanguageModelV4({
    doGenerate: async () => {
      const step = next()
      return { content: content(step), finishReason: finishReason(step), usage, warnings: [] }
    },
    doStream: async () => ({ stream: convertArrayToReadableStream(parts(next())) })
  })
  const prompts = () => [...model.doGenerateCalls, ...model.doStreamCalls].map(({ prompt }) => prompt)
  return { model, prompts, offered: () => model.doGenerateCalls[0]?.tools ?? model.doStreamCalls[0]?.tools }
}

/** The results in a history or a prompt, in order: which call, and what a model is shown of it. */
export const resultsIn = (messages: ReadonlyArray<Pick<ModelMessage, "role" | "content">>) =>
  messages.flatMap(({ content, role }) =>
    role === "tool" && typeof content !== "string"
      ? (content as ReadonlyArray<{ readonly type: string; readonly toolCallId: string; readonly output: unknown }>)
        .filter(({ type }) => type === "tool-result")
        .map(({ output, toolCallId }) => [toolCallId, output] as const)
      : []
  )
