/** Calls whose caller makes a signal for each. */
import { listener } from "../floors/promises.ts"
import { reference } from "../floors/reference.ts"
import * as Measure from "../Measure.ts"
import * as Ours from "../ours.ts"
import * as Subjects from "../Subjects.ts"
import type { Figures } from "../Table.ts"

const floor = { kind: "floor", against: { name: listener.name } } as const

export const table: Figures = {
  _tag: "Figures",
  title: "A signal for every call",
  about: "One call after the other, each under a signal of its own; making the controller is part of the time. " +
    "The ratio is to a controller and a listener.",
  claim: 0.1,
  processes: 3,
  plan: Measure.quick,
  subjects: async () => [
    ...[listener, reference].map((host) => Subjects.callsOnFreshSignals(host, floor)),
    ...[Ours.call, Ours.full].map((variant) =>
      Subjects.callsOnFreshSignals(Ours.host(variant), { kind: "ours", against: floor.against })
    )
  ]
}
