/** Laws of bodies, for those that a law can run: what they wait for must go through the edge, the clock or fibers. */
import type * as Tool from "@quiesce/core/Tool"
import * as Effect from "effect/Effect"
import { broken, type Law, make } from "../law.ts"
import { call, type Seen } from "./scene.ts"

/** A tool, and arguments it accepts. */
export interface Subject {
  readonly tool: Tool.AnyNoServices
  readonly arguments: unknown
}

const ofCall = (statement: string, aborts: boolean, holds: (seen: Seen) => void): Law<Subject> =>
  make(statement, (tool) =>
    Effect.map(call({ tool, aborts }), (seen) => {
      holds(seen)
      return seen.code
    }))

export const body: ReadonlyArray<Law<Subject>> = [
  ofCall("a call that nobody cancels settles, with a value of its schema", false, ({ code }) => {
    if (code === "INVALID_OUTPUT" || code === "INVALID_ARGUMENTS") broken(`it became ${code}`)
  }),
  // One that does not is a failure of the exploration itself.
  ofCall("a cancelled call settles", true, () => {}),
  ofCall("being cancelled is no failure of its own", true, ({ aborted, code }) => {
    if (aborted !== "never" && code === "TOOL_FAILURE") broken("it failed because it was cancelled")
  }),
  ofCall("no timer of it outlives the call", true, ({ timers }) => {
    if (timers > 0) broken(`${timers} timers are set, and the call is over`)
  })
]
