/** Laws of policies. */
import type * as Policy from "@quiesce/core/Policy"
import * as Effect from "effect/Effect"
import { broken, type Law, make } from "../law.ts"
import { call, type Manner, type Seen } from "./scene.ts"

const ofCall = (
  statement: string,
  options: { readonly manner: Manner; readonly aborts?: boolean },
  holds: (seen: Seen) => void
): Law<Policy.Policy> =>
  make(statement, (policy) =>
    Effect.map(call({ policy, ...options }), (seen) => {
      holds(seen)
      return seen.code
    }))

export const policy: ReadonlyArray<Law<Policy.Policy>> = [
  ofCall("every call gets a decision and a review", { manner: "deaf", aborts: false }, ({ code }) => {
    if (code === "POLICY_FAILURE") broken("the policy failed on a call that succeeded")
  }),
  // One that does not is a failure of the exploration itself.
  ofCall("a call that is cancelled while it decides settles", { manner: "obedient" }, () => {}),
  ofCall("a review never makes a success of a call that failed", { manner: "failing" }, ({ code }) => {
    if (code === "POLICY_FAILURE") broken("the review is not one for a call that failed")
  }),
  ofCall("no timer of it outlives the call", { manner: "obedient" }, ({ timers }) => {
    if (timers > 0) broken(`${timers} timers are set, and the call is over`)
  })
]
