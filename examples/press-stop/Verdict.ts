/**
 * Whether what was said of a call is true: for each, a witness is asked at the moment its result comes.
 */
import type { ToolResult } from "@quiesce/core"
import { Effect } from "effect"
import { existsSync } from "node:fs"
import { join } from "node:path"
import * as Board from "./Board.ts"
import * as Witness from "./Witness.ts"

export interface Verdict {
  readonly says: string
  /** What is not as it should be. */
  readonly fault: string | undefined
}

/** How the calls end if stop is pressed when the script says so. A user may press it earlier. */
const scripted: { readonly [name: string]: string } = {
  edit_notes: "SUCCESS",
  http_get: "ABORTED",
  fetch_quote: "TOOL_TIMEOUT",
  run_command: "ABORTED",
  crunch: "ABORTED",
  write_file: "ABORTED_BEFORE_DISPATCH"
}

const early = ["ABORTED", "ABORTED_BEFORE_DISPATCH"]

/** The processes that a call has told of. */
export const processesOf = ({ message, name }: Board.Row): ReadonlyArray<number> =>
  name === "run_command" || name === "crunch" ? [...message.matchAll(/\d+/g)].map(Number) : []

/** Asks the witness of a call that has its result. */
export const reach = Effect.fnUntraced(function*(
  row: Board.Row,
  result: ToolResult.ToolResult,
  world: { readonly server: Witness.Server; readonly root: string; readonly isEarly: () => boolean }
): Effect.fn.Return<Verdict> {
  const code = Board.codeOf(result)
  const expected = [scripted[row.name]!, ...(world.isEarly() ? early : [])]
  if (!expected.includes(code)) return faulty(`${code} instead of ${expected.join(" or ")}: ${result.content[0]?.text}`)
  if (result.dispatched !== (code !== "ABORTED_BEFORE_DISPATCH")) return faulty(`dispatched is ${result.dispatched}`)

  switch (row.name) {
    case "edit_notes":
    case "write_file": {
      const file = row.name === "edit_notes" ? "notes.md" : "report.md"
      const isThere = existsSync(join(world.root, file))
      if (code === "SUCCESS" && !isThere) return faulty(`${file} is not there`)
      if (!result.dispatched && isThere) return faulty(`${file} is there`)
      return fine(isThere ? `${file} is written` : `there is no ${file}`)
    }
    case "http_get":
    case "fetch_quote": {
      const hungUp = yield* world.server.hungUp(row.name === "http_get" ? "/endless" : "/slow")
      if (hungUp === undefined) return fine("the server was never asked")
      if (!result.dispatched) return faulty("the server was asked")
      return hungUp ? fine("the server saw it hang up") : faulty("the server has not seen it hang up")
    }
    default: {
      const pids = processesOf(row)
      const alive = pids.filter(Witness.isAlive)
      if (alive.length > 0) return faulty(`still alive: ${alive.join(", ")}`)
      return fine(
        pids.length === 0
          ? "it had no process yet"
          : pids.length === 1
          ? "its process is gone"
          : `all ${pids.length} processes are gone`
      )
    }
  }
})

const fine = (says: string): Verdict => ({ says, fault: undefined })
const faulty = (fault: string): Verdict => ({ says: fault, fault })
