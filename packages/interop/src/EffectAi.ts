/**
 * effect/ai: our tools for its language models, and its toolkits as tools of ours.
 *
 * A generation of effect/ai is a program, and its tool handlers are fibers of it: interrupting the generation interrupts
 * the calls, and ends when they are quiet. Nothing is abandoned and nothing is to be repaired.
 *
 * **Limits**: effect/ai is marked unstable by effect itself, so this module may have to follow a minor version of it.
 */
import type * as Tool from "@quiesce/core/Tool"
import * as ToolRegistry from "@quiesce/core/ToolRegistry"
import * as ToolResult from "@quiesce/core/ToolResult"
import * as Prompt from "effect/ai/Prompt"
import * as AiTool from "effect/ai/Tool"
import * as Toolkit from "effect/ai/Toolkit"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { toTool } from "./internal/effectAiImport.ts"
import { textOf, texts } from "./internal/shown.ts"

/** What a program, and a model, is told of a call that did not succeed. `message` is what policies left of it. */
export const Failed = Schema.Struct({
  code: ToolResult.Code,
  dispatched: Schema.Boolean,
  message: Schema.String
})
export type Failed = typeof Failed.Type

const Succeeded = ToolResult.Success as Schema.Codec<ToolResult.Success>

/** A tool of a registry, as effect/ai knows it: the registry checks the arguments. */
export type ExportedTool = AiTool.Dynamic<string, {
  readonly parameters: Tool.Any["inputSchema"]
  readonly success: typeof Succeeded
  readonly failure: typeof Failed
  readonly failureMode: "return"
}>

/**
 * The tools of the registry, as they are when a generation begins:
 * `LanguageModel.generateText({ prompt, toolkit: EffectAi.toolkit })`.
 *
 * **Interruption**: interrupting the generation interrupts its calls, and waits until they are quiet.
 */
export const toolkit: Effect.Effect<
  Toolkit.WithHandler<Record<string, ExportedTool>>,
  never,
  ToolRegistry.ToolRegistry
> = Effect.flatMap(ToolRegistry.ToolRegistry, (registry) =>
  Effect.flatMap(registry.schemas, (schemas) => {
    const exported: Toolkit.Toolkit<Record<string, ExportedTool>> = Toolkit.make(...schemas.map(exportedTool))
    // A provider that gives its calls no id leaves their label to us.
    let unnamed = 0
    const handlers: Toolkit.HandlersFrom<Record<string, ExportedTool>> = Object.fromEntries(
      schemas.map(({ name }) => [name, (parameters: unknown, { toolCallId }: Toolkit.HandlerContext<ExportedTool>) =>
        Effect.flatMap(
          registry.execute({ callId: toolCallId ?? `${name}-${++unnamed}`, name, arguments: parameters }),
          (result) =>
            result._tag === "Success" ? Effect.succeed(result) : Effect.fail(failed(result))
        )]
      )
    )
    return Effect.flatMap(exported.toHandlers(handlers), (context) => Effect.provideContext(exported, context))
  }))

const exportedTool = ({ description, inputSchema, name }: ToolRegistry.ToolSchema): ExportedTool =>
  AiTool.dynamic(name, {
    description,
    parameters: inputSchema,
    success: Succeeded,
    failure: Failed,
    failureMode: "return",
    toModelOutput: (result: ToolResult.Success) => texts(result).map((text) => Prompt.textPart({ text }))
  })

const failed = (result: ToolResult.Failure): Failed => ({
  code: result.error.code,
  dispatched: result.dispatched,
  message: textOf(result)
})

/** A tool of effect/ai that cannot be one of ours. */
export { NotImportable } from "./internal/importing.ts"

/** The tools that `fromToolkit` makes of `Tools`: they need the toolkit's handlers, and what those need. */
export type Imported<Tools extends Record<string, AiTool.Any>> = {
  readonly [Name in keyof Tools & string]: Tool.Tool<
    Name,
    {
      readonly parameters: Tools[Name]["parametersSchema"]
      readonly success: Tools[Name]["successSchema"]
      readonly failure: Tools[Name]["failureSchema"]
    },
    AiTool.HandlersFor<Tools> | AiTool.HandlerServices<Tools[Name]>
  >
}[keyof Tools & string]

/**
 * The tools of a toolkit as ours. Their handlers come from its `toLayer`, provided to the registry's layer.
 *
 * A handler that is an effect is interrupted with its call and awaited. One that hides a promise in `Effect.promise` goes
 * on by itself: write it with `Abortable.promise`.
 *
 * **Errors**: throws `NotImportable` for a tool that a provider runs, and for one with `needsApproval`: who may call what is
 * a policy's to say here, and a question that nobody puts must not pass.
 */
export const fromToolkit = <Tools extends Record<string, AiTool.Any>>(
  toolkit: Toolkit.Toolkit<Tools>
): ReadonlyArray<Imported<Tools>> =>
  Object.values(toolkit.tools).map((tool) => toTool(toolkit as Toolkit.Any, tool) as Imported<Tools>)
