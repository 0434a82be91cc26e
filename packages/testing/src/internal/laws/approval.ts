/** Laws of approval channels. */
import type * as Approval from "@quiesce/core/Approval"
import * as Policy from "@quiesce/core/Policy"
import * as Effect from "effect/Effect"
import * as Edge from "../../Edge.ts"
import { broken, type Law, make } from "../law.ts"
import { call, type Seen } from "./scene.ts"

/** A channel, and the hand that answers what it asks. */
export interface Subject {
  readonly channel: Approval.Channel
  /** Answers the open question of the call. */
  readonly answer: (callId: string, answer: "allow" | "deny") => void
}

const asking: Policy.Policy = { pre: () => Effect.succeed(Policy.ask("may it?")) }

/** Once asked, the question is answered at any moment, and nobody cancels. */
const answered = (statement: string, given: "allow" | "deny", holds: (seen: Seen) => void): Law<Subject> =>
  make(statement, ({ answer, channel }) =>
    Effect.gen(function*() {
      const edge = yield* Edge.Edge
      const watched: Approval.Channel = {
        ask: (call, reason) =>
          Effect.suspend(() => {
            edge.action("answer", () => answer(call.callId, given))
            return channel.ask(call, reason)
          })
      }
      const seen = yield* call({ approval: watched, policy: asking, aborts: false })
      holds(seen)
      return seen.code
    }))

export const approval: ReadonlyArray<Law<Subject>> = [
  answered("an allowed call runs", "allow", ({ code }) => {
    if (code !== "Success") broken(`allowed, and it became ${code}`)
  }),
  answered("a refused call never runs", "deny", ({ code, entered }) => {
    if (entered > 0 || code !== "DENIED") broken(`refused, and it became ${code}`)
  }),
  make(
    "a question that nobody answers is closed when its call is cancelled",
    ({ channel }) =>
      Effect.map(call({ approval: channel, policy: asking }), ({ code, timers }) => {
        if (code !== "ABORTED_BEFORE_DISPATCH") broken(`cancelled while it was asked, and it became ${code}`)
        if (timers > 0) broken(`${timers} timers are set, and the question is closed`)
      })
  )
]
