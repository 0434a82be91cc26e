/** What one call costs among a thousand at once. */
import { floors } from "../floors/all.ts"
import * as Effects from "../floors/effects.ts"
import { reference } from "../floors/reference.ts"
import * as Measure from "../Measure.ts"
import * as Ours from "../ours.ts"
import * as Subjects from "../Subjects.ts"
import type { Figures } from "../Table.ts"

const ours = { kind: "ours", against: { name: reference.name } } as const
const floor = { kind: "floor", against: { name: reference.name } } as const

export const table: Figures = {
  _tag: "Figures",
  title: "A thousand calls at once",
  about: "Time per call when 1,000 start together on one signal. The ratio is to REF.",
  claim: 0.1,
  processes: 3,
  plan: Measure.quick,
  subjects: async () => [
    ...floors.map((host) => Subjects.calls(host, floor, 1000)),
    Subjects.callsInFiber(Effects.reference, floor, 1000),
    ...[Ours.call, ...Ours.duties, Ours.full].map((variant) => Subjects.calls(Ours.host(variant), ours, 1000)),
    Subjects.callsInFiber(Ours.fiberHost(Ours.full), ours, 1000)
  ]
}
