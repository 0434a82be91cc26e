/**
 * LangChain: our tools as its own, and its history made whole.
 *
 * A tool that is made by LangChain's `tool` loses a race when it is aborted: `invoke` rejects and the function goes on. One
 * that is made here does not: `invoke` settles when the call is quiet, whatever its `signal` and `timeout` do. What is
 * around it (a sequence, a graph) may still stop waiting, and then a `Ledger` knows what became of the call.
 */
import type { BaseMessage } from "@langchain/core/messages"
import type { StructuredTool } from "@langchain/core/tools"
import type * as Face from "./Face.ts"
import * as Messages from "./internal/langChainMessages.ts"
import { RegistryTool } from "./internal/langChainTool.ts"
import type { Entry } from "./Ledger.ts"

/**
 * The tools of `face`. Invoked with a tool call of a model, each answers with a `ToolMessage`: its content is what the model
 * is shown, its `artifact` the whole result, and its `status` says whether the call succeeded, an aborted one included.
 * Invoked with plain arguments it answers with the content, and rejects with `CallFailed`.
 *
 * The registry checks the arguments and names every issue.
 *
 * **Interruption**: the `signal` of `invoke` and its `timeout` cancel the call.
 */
export const tools = (face: Face.Face): Array<StructuredTool> =>
  face.schemas().map((schema) => new RegistryTool(face, schema))

/**
 * `messages` with exactly one result for each tool call: those that are missing are what `entries`, of the ledger that the
 * tools were made of, say of the call. A call that was never started is ABORTED_BEFORE_DISPATCH. A result that came when
 * the history had gone on is put where its call is, and a second result of a call is left out.
 */
export const repair = (messages: ReadonlyArray<BaseMessage>, entries: ReadonlyArray<Entry>): Array<BaseMessage> =>
  Messages.repair(messages, entries)

/** The calls of a ledger and their results as messages, for a history that does not have them. */
export const messagesOf = (entries: ReadonlyArray<Entry>): Array<BaseMessage> => Messages.of(entries)
