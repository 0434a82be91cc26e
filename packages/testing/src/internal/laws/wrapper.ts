/** Laws of wrappers: what the core cannot enforce for them. */
import type * as Wrapper from "@quiesce/core/Wrapper"
import * as Effect from "effect/Effect"
import { broken, type Law, make } from "../law.ts"
import { call, type Manner, type Seen } from "./scene.ts"

const ofCall = (
  statement: string,
  options: { readonly manner: Manner; readonly aborts?: boolean },
  holds: (seen: Seen) => void
): Law<Wrapper.Wrapper> =>
  make(statement, (wrapper) =>
    Effect.map(call({ wrapper, ...options }), (seen) => {
      holds(seen)
      return seen.code
    }))

export const wrapper: ReadonlyArray<Law<Wrapper.Wrapper>> = [
  ofCall(
    "a call that nobody cancels settles, with a value of its schema",
    { manner: "deaf", aborts: false },
    (seen) => {
      // A call that never settles is a failure of the exploration itself.
      if (seen.code === "INVALID_OUTPUT") broken("what it answers is no value of the tool")
    }
  ),
  ofCall("a cancelled call settles when its body has obeyed", { manner: "obedient" }, ({ aborted, code }) => {
    if (aborted === "during" && code !== "ABORTED") broken(`cancelled, and it became ${code}`)
  }),
  ofCall("the body never runs twice at once", { manner: "deaf" }, ({ atOnce, code }) => {
    if (atOnce > 1) broken(`${atOnce} runs of the body at once`)
    if (code === "WRAPPER_FAILURE") broken("it ran next while a run was not quiet")
  }),
  ofCall("no timer of it outlives the call", { manner: "obedient" }, ({ timers }) => {
    if (timers > 0) broken(`${timers} timers are set, and the call is over`)
  })
]
