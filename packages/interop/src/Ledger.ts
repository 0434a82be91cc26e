/**
 * A face that remembers what became of its calls.
 *
 * Some hosts stop waiting: a stream ends at once when it is aborted, a race is lost by the tool. The call goes on until it
 * is quiet and has its one result, and nobody is there to take it. A ledger is: once all its calls are quiet it tells
 * every result, and the host's history can be repaired with them.
 */
import type { Json } from "@quiesce/core/Json"
import type * as Toolbox from "@quiesce/core/Toolbox"
import type * as ToolResult from "@quiesce/core/ToolResult"
import type * as Face from "./Face.ts"
import { snapshot } from "./internal/copied.ts"
import * as Running from "./internal/running.ts"

export interface Entry {
  readonly callId: string
  readonly name: string
  /** What the call was given; `null` where that was not plain JSON, which the registry refuses. */
  readonly arguments: Json
  readonly result: ToolResult.ToolResult
}

export interface Ledger extends Face.Face {
  /**
   * Every call made through the ledger, in the order in which they were made, once all of them are quiet: also those
   * that begin during the wait. Inside of one of them it waits for itself; a host that runs there has a ledger of its own,
   * around `Face.inside`.
   */
  readonly settled: () => Promise<ReadonlyArray<Entry>>
}

/**
 * A ledger of calls through `face`.
 *
 * **Limits**: it keeps each result as long as it is kept itself. Make one for each generation, or each turn.
 */
export const make = (face: Face.Face | Toolbox.Toolbox): Ledger => {
  const records: Array<Draft> = []
  const running = Running.make()
  return {
    execute: (input) => {
      // Now: the host may go on with its own object. And the call gets the copy, so that what is told is what ran.
      const given = snapshot(input.arguments)
      const draft: Draft = { callId: input.callId, name: input.name, arguments: given ?? null, result: undefined }
      records.push(draft)
      const result = face.execute(given === undefined ? input : { ...input, arguments: given })
      running.add(result.then((result) => void (draft.result = result), () => {
        // It never became a call: the host is told why by `result`.
        records.splice(records.indexOf(draft), 1)
      }))
      return result
    },
    schemas: face.schemas,
    whenIdle: () => face.whenIdle(),
    settled: async () => {
      await running.ended()
      return records.filter(isEntry)
    }
  }
}

interface Draft extends Omit<Entry, "result"> {
  result: ToolResult.ToolResult | undefined
}

const isEntry = (draft: Draft): draft is Draft & Entry => draft.result !== undefined
