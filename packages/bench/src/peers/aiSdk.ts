/**
 * The AI SDK: `generateText` for one step of a mock model.
 *
 * The tool cannot be run without a generation around it, so tables that use this peer also run the generation alone
 * and subtract it.
 */
import { generateText, jsonSchema, stepCountIs, tool } from "ai"
import { MockLanguageModelV4 } from "ai/test"
import type { Arguments, Host } from "../Host.ts"

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 }
}

const textModel = new MockLanguageModelV4({
  doGenerate: async () => ({
    content: [{ type: "text", text: "done" }],
    finishReason: { unified: "stop", raw: undefined },
    usage,
    warnings: []
  })
})

export const aiSdk: Host = {
  name: "AI SDK, whole step",
  lacks: "policy, deadline by default, quiescence when streaming",
  open: async (body) => {
    const search = tool({
      description: "s",
      inputSchema: jsonSchema<Arguments>({
        type: "object",
        properties: { query: { type: "string" }, limit: { type: "number" } },
        required: ["query", "limit"]
      }),
      execute: (parameters, { abortSignal }) => body(parameters, { signal: abortSignal! })
    })
    return {
      call: (parameters, abortSignal) =>
        generateText({
          model: new MockLanguageModelV4({
            doGenerate: async () => ({
              content: [{
                type: "tool-call",
                toolCallId: "1",
                toolName: "search",
                input: JSON.stringify(parameters)
              }],
              finishReason: { unified: "tool-calls", raw: undefined },
              usage,
              warnings: []
            })
          }),
          prompt: "p",
          tools: { search },
          stopWhen: stepCountIs(1),
          abortSignal
        }),
      close: async () => {}
    }
  }
}

export const aiSdkWithoutTool: Host = {
  name: "AI SDK, step without a tool",
  lacks: "the tool",
  open: async () => ({
    call: (_, abortSignal) => generateText({ model: textModel, prompt: "p", stopWhen: stepCountIs(1), abortSignal }),
    close: async () => {}
  })
}
