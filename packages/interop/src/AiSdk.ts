/**
 * The AI SDK, version 7: our tools as its own, its tools as ours, and its history made whole.
 *
 * What a call of ours gives the AI SDK is the call's result, JSON as it is; a model is shown its content. A call that did
 * not succeed throws `CallFailed`, which the AI SDK makes a `tool-error`. Either comes when the call is quiet, and where
 * the AI SDK does not wait for that (`streamText`), a `Ledger` does.
 */
import type * as Tool from "@quiesce/core/Tool"
import type * as ToolResult from "@quiesce/core/ToolResult"
import { dynamicTool, jsonSchema, type ModelMessage, type StopCondition, type ToolSet } from "ai"
import * as Face from "./Face.ts"
import * as Imported from "./internal/aiSdkImport.ts"
import * as Messages from "./internal/aiSdkMessages.ts"
import type { Entry } from "./Ledger.ts"

/** What the AI SDK gets of a call that succeeded. */
export type Output = ToolResult.Success

/**
 * The tools of `face` for `generateText`, `streamText` and agents. The registry checks the arguments and names every issue
 * to the model; the AI SDK passes them on.
 *
 * **Interruption**: the `abortSignal` of a generation and its `timeout` cancel the calls, which then end when they are
 * quiet: `generateText` waits for that, `streamText` does not.
 */
export const tools = (face: Face.Face): Record<string, ReturnType<typeof dynamicTool>> =>
  Object.fromEntries(
    face.schemas().map(({ description, inputSchema, name }) => [
      name,
      dynamicTool({
        description,
        inputSchema: jsonSchema(inputSchema),
        execute: (input, { abortSignal, toolCallId }): Promise<Output> =>
          Face.succeed(face, { callId: toolCallId, name, arguments: input, signal: abortSignal }),
        toModelOutput: ({ output }) => Messages.shownOutput(output)
      })
    ])
  )

/** Stops a generation after a step in which a call said that the turn should end with it. */
export const concluded: StopCondition<any, any> = ({ steps }) =>
  steps.at(-1)?.toolResults.some(({ output }) => Messages.isOutput(output) && output.concludesTurn) ?? false

/** A tool of the AI SDK that cannot be one of ours. */
export { NotImportable } from "./internal/importing.ts"

/**
 * Tools of the AI SDK as ours. `context` gives each tool the context it declares.
 *
 * The body runs with the call's signal, and is awaited; of outputs that are streamed the last is the value, and after an
 * abort no further one is asked for. `messages` is empty: a registry knows no conversation.
 *
 * **Errors**: rejects with `NotImportable` for a tool without `execute`, for one whose context is missing or wrong, and for
 * one with `needsApproval`: who may call what is a policy's to say here, and a question that nobody puts must not pass.
 */
export const fromTools = (
  tools: ToolSet,
  options: { readonly context?: { readonly [name: string]: unknown } } = {}
): Promise<ReadonlyArray<Tool.AnyNoServices>> =>
  Promise.all(Object.entries(tools).map(([name, tool]) => Imported.toTool(name, tool, options.context?.[name])))

/**
 * `messages` with exactly one result for each call: those that are missing are what `entries`, of the ledger that the tools
 * were made of, say of the call. A call that the AI SDK never started is ABORTED_BEFORE_DISPATCH; one that waits for an
 * approval that nobody gave is closed as well, so that no late approval runs it. A result that came when the history had
 * gone on is put where its call is, and a second result of a call is left out.
 *
 * A call whose approval has just been answered, by the last message, is left to the next generation.
 */
export const repair = (
  messages: ReadonlyArray<ModelMessage>,
  entries: ReadonlyArray<Entry>
): Array<ModelMessage> => Messages.repair(messages, entries)

/**
 * The calls of a ledger and their results as messages, for a history that does not have them: an aborted `streamText`
 * keeps nothing of the step that was cut off, and what its calls did has been done all the same.
 */
export const messagesOf = (entries: ReadonlyArray<Entry>): Array<ModelMessage> => Messages.of(entries)
