/** What a deadline costs that does not fire. */
import * as Deadline from "@quiesce/core/Deadline"
import * as Effect from "effect/Effect"
import { bridge, bridgeWithTimer } from "../floors/effects.ts"
import { inFiber } from "../Host.ts"
import * as Measure from "../Measure.ts"
import * as Subjects from "../Subjects.ts"
import type { Figures } from "../Table.ts"

const none = inFiber("no deadline", "the deadline", bridge)

const byHand = inFiber("setTimeout by hand", "a Clock, causes, effects that are not promises", bridgeWithTimer)

const timeout = inFiber(
  "Effect.timeout",
  "telling a deadline from the body's own timeout, late failures",
  (body, parameters) => Effect.timeout(bridge(body, parameters), "1 minute")
)

const within = inFiber(
  "Deadline.within",
  "",
  (body, parameters) => Deadline.within(bridge(body, parameters), { timeout: "1 minute", code: "BENCH" })
)

const against = { name: "setTimeout by hand, in a fiber" }

export const table: Figures = {
  _tag: "Figures",
  title: "A deadline that does not fire",
  about: "Around a trivial promise, from a fiber. The ratio is to a `setTimeout` by hand.",
  claim: 0.1,
  processes: 3,
  plan: Measure.quick,
  subjects: async () => [
    Subjects.callsInFiber(none, { kind: "floor", against }),
    Subjects.callsInFiber(byHand, { kind: "floor", against }),
    Subjects.callsInFiber(timeout, { kind: "floor", against }),
    Subjects.callsInFiber(within, { kind: "ours", against })
  ]
}
