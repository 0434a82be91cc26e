/** A tool of an effect/ai toolkit as one of ours. */
import type { Json } from "@quiesce/core/Json"
import * as Tool from "@quiesce/core/Tool"
import type * as ToolCall from "@quiesce/core/ToolCall"
import * as AiTool from "effect/ai/Tool"
import type * as Toolkit from "effect/ai/Toolkit"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { needsApproval, NotImportable } from "./importing.ts"

/** A toolkit of any tools: which they are is in its type alone. */
type AnyToolkit = Toolkit.Toolkit<Record<string, AiTool.Any>>

export const toTool = (toolkit: Toolkit.Any, tool: AiTool.Any): Tool.Any => {
  const refuse = (reason: string) => new NotImportable({ tool: tool.name, reason })
  if (AiTool.isProviderDefined(tool)) throw refuse("a provider runs it, or knows its parameters")
  if (tool.needsApproval !== undefined && tool.needsApproval !== false) throw refuse(needsApproval)

  const description = AiTool.getDescription(tool) ?? ""
  // The handler decodes what it is given itself, so it is given what came.
  const execute = (_: unknown, call: ToolCall.Running) => run(toolkit, tool.name, call)
  if (AiTool.isDynamic(tool) && tool.jsonSchema !== undefined) {
    return Tool.raw(tool.name, {
      description,
      inputSchema: tool.jsonSchema,
      execute: (json, call) => execute(json, call) as Effect.Effect<Json>
    })
  }
  const { toModelOutput } = tool
  return Tool.make(tool.name, {
    description,
    parameters: tool.parametersSchema,
    success: tool.successSchema,
    failure: tool.failureSchema,
    ...toModelOutput && {
      render: (value) =>
        toModelOutput(value).map((part) => ({
          type: "text",
          text: part.type === "text" ? part.text : `[${part.mediaType}]`
        }))
    },
    execute
  })
}

/** Runs the handler, and yields the last of its results or fails with its failure. */
const run = (toolkit: Toolkit.Any, name: string, call: ToolCall.Running) =>
  Effect.gen(function*() {
    const { handle } = yield* toolkit as AnyToolkit
    const results = yield* handle(name, call.arguments, call.callId)
    let count = 0
    let last: AiTool.HandlerResult<AiTool.Any> | undefined
    yield* Stream.runForEach(results, (result) =>
      Effect.sync(() => {
        last = result
        if (result.preliminary) call.progress({ progress: ++count })
      }))
    if (last === undefined) return yield* Effect.die(new Error("the handler gave no result"))
    return last.isFailure ? yield* Effect.fail(last.result) : last.result
  })
