/** A model of the OpenAI Agents SDK that follows a script. */
import {
  type AgentInputItem,
  type Model,
  type ModelRequest,
  type ModelResponse,
  setTracingDisabled,
  Usage
} from "@openai/agents"

// Nobody is to be told of what tests do.
setTracingDisabled(true)

export type Step = string | ReadonlyArray<readonly [callId: string, name: string, input: unknown]>

const output = (step: Step): ModelResponse["output"] =>
  typeof step === "string"
    ? [{
      type: "message",
      role: "assistant",
      status: "completed",
      content: [{ type: "output_text", text: step }]
    }]
    : step.map(([callId, name, input]) => ({
      type: "function_call",
      callId,
      name,
      status: "completed",
      arguments: typeof input === "string" ? input : JSON.stringify(input)
    }))

/** `inputs` is what the model was shown, step by step. */
export const scripted = (...steps: ReadonlyArray<Step>) => {
  const inputs: Array<ReadonlyArray<AgentInputItem>> = []
  const requests: Array<ModelRequest> = []
  const next = (request: ModelRequest): Step => {
    const step = steps[requests.length]
    if (step === undefined) throw new Error("the script is over")
    requests.push(request)
    inputs.push(typeof request.input === "string" ? [] : [...request.input])
    return step
  }
  const model: Model = {
    getResponse: async (request) => ({ usage: new Usage(), output: output(next(request)) }),
    async *getStreamedResponse(request) {
      yield {
        type: "response_done" as const,
        response: {
          id: `response ${requests.length}`,
          usage: { inputTokens: 0, outputTokens: 0, totalTokens: 0 },
          output: output(next(request)) as Array<any>
        }
      }
    }
  }
  return { model, inputs, requests }
}

/** The results in a history, in order: which call, and what a model is shown of it. */
export const resultsIn = (items: ReadonlyArray<AgentInputItem>): Array<[callId: string, text: string]> =>
  items.flatMap((item): Array<[string, string]> =>
    item.type !== "function_call_result"
      ? []
      : [[item.callId, typeof item.output === "object" && "text" in item.output ? item.output.text : "no text"]]
  )
