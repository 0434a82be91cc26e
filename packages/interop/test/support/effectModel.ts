/** A language model of effect/ai that follows a script. */
import type * as AiError from "effect/ai/AiError"
import * as LanguageModel from "effect/ai/LanguageModel"
import type * as Response from "effect/ai/Response"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"

export type Step = ReadonlyArray<readonly [callId: string, name: string, params: unknown]>

const parts = (step: Step): Array<Response.AllPartsEncoded> => [
  ...step.map(([id, name, params]) => ({ type: "tool-call" as const, id, name, params })),
  {
    type: "finish",
    reason: step.length === 0 ? "stop" : "tool-calls",
    usage: {
      inputTokens: { uncached: 1, total: 1, cacheRead: 0, cacheWrite: 0 },
      outputTokens: { total: 1, text: 1, reasoning: 0 }
    }
  }
]

export const scripted = (...steps: ReadonlyArray<Step>) => {
  let at = 0
  const next = Effect.suspend(() => {
    const step = steps[at++]
    return step === undefined
      ? Effect.die(new Error("the script is over"))
      : Effect.succeed(parts(step))
  })
  const offered: Array<ReadonlyArray<{ readonly name: string; readonly description?: string | undefined }>> = []
  const model = LanguageModel.make({
    generateText: ({ tools }) => {
      offered.push(tools)
      return next as Effect.Effect<Array<Response.PartEncoded>, AiError.AiError>
    },
    streamText: ({ tools }) => {
      offered.push(tools)
      return Stream.unwrap(Effect.map(next, (all) => Stream.fromIterable(all as Array<Response.StreamPartEncoded>)))
    }
  })
  return { provide: Effect.provideServiceEffect(LanguageModel.LanguageModel, model), offered }
}
