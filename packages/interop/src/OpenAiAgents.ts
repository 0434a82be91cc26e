/**
 * The OpenAI Agents SDK: our tools as its own, and its history made whole.
 *
 * A model is shown the content of a call's result, of a failure as well; the whole result is in a `Ledger`. It comes when
 * the call is quiet. Leave `timeoutMs` of the SDK alone: it stops waiting for the tool and does not stop it. A tool of ours
 * has a budget of its own.
 */
import { type AgentInputItem, type FunctionTool, tool } from "@openai/agents"
import * as Face from "./Face.ts"
import * as Items from "./internal/openAiItems.ts"
import { textOf } from "./internal/shown.ts"
import type { Entry } from "./Ledger.ts"

/**
 * The tools of `face` for an agent. The registry checks the arguments and names every issue to the model; the SDK only sees
 * to it that they are JSON. In a name, what is no letter or digit is `_` to a model, as the SDK has it.
 *
 * **Errors**: throws where two names are the same to a model: the SDK would show it one of the two.
 *
 * **Interruption**: the `signal` of a run cancels the calls. `run` waits until they are quiet; what is read of a streamed
 * run ends at once, and its `completed` waits.
 */
export const tools = <Context = unknown>(face: Face.Face): Array<FunctionTool<Context, any, string>> => {
  // The SDK gives no id where a tool is invoked by hand.
  let unnamed = 0
  const schemas = face.schemas()
  Items.refuseTwins(schemas.map(({ name }) => name))
  return schemas.map(({ description, inputSchema, name }) =>
    tool<any, Context, string>({
      name,
      description,
      strict: false,
      parameters: { type: "object", properties: {}, required: [], additionalProperties: true, ...inputSchema },
      execute: async (input, _, details) => {
        const callId = details?.toolCall?.callId ?? `${name}-${++unnamed}`
        return textOf(await Face.succeed(face, { callId, name, arguments: input, signal: details?.signal }))
      },
      // A failure is noted in the SDK's trace, and shown to the model as the registry words it.
      errorFunction: (_, error) => error instanceof Error ? error.message : String(error)
    })
  )
}

/**
 * `items`, such as the `history` of a run, with exactly one result for each function call: those that are missing are what
 * `entries`, of the ledger that the tools were made of, say of the call. A call that the SDK never started is
 * ABORTED_BEFORE_DISPATCH, and so is one that waits for an approval: drop the state that could still approve it. A result
 * that came when the history had gone on is put where its call is, and a second result of a call is left out.
 */
export const repair = (
  items: ReadonlyArray<AgentInputItem>,
  entries: ReadonlyArray<Entry>
): Array<AgentInputItem> => Items.repair(items, entries)

/**
 * The calls of a ledger and their results as items, for a history that does not have them: a `run` that is aborted rejects,
 * and nothing of it is left; what its calls did has been done all the same.
 */
export const itemsOf = (entries: ReadonlyArray<Entry>): Array<AgentInputItem> => Items.of(entries)
