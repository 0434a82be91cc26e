/** What one call costs when its caller is a fiber. */
import * as Effects from "../floors/effects.ts"
import * as Measure from "../Measure.ts"
import * as Ours from "../ours.ts"
import * as Subjects from "../Subjects.ts"
import type { Figures } from "../Table.ts"

const ours = { kind: "ours", against: { name: "REF, in a fiber" } } as const
const floor = { kind: "floor", against: { name: "REF, in a fiber" } } as const

export const table: Figures = {
  _tag: "Figures",
  title: "One call after the other, from a fiber",
  about: "The caller is a fiber, whose interruption is the cancellation. The ratio is to REF behind `Effect.callback`.",
  claim: 0.1,
  processes: 3,
  plan: Measure.quick,
  subjects: async () => [
    Subjects.callsInFiber(Effects.reference, floor),
    Subjects.callsThroughRunPromise(Effects.reference, floor),
    Subjects.callsInFiber(Effects.withoutDeadline, floor),
    Subjects.callsInFiber(Effects.withTimeout, floor),
    ...[Ours.call, ...Ours.duties, Ours.full].map((variant) => Subjects.callsInFiber(Ours.fiberHost(variant), ours)),
    Subjects.callsThroughRunPromise(Ours.fiberHost(Ours.full), ours)
  ]
}
