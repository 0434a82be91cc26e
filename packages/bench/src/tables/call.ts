/** What one call costs beyond its body, one call after the other. */
import { floors } from "../floors/all.ts"
import { reference } from "../floors/reference.ts"
import * as Measure from "../Measure.ts"
import * as Ours from "../ours.ts"
import * as Subjects from "../Subjects.ts"
import type { Figures } from "../Table.ts"

const ours = { kind: "ours", against: { name: reference.name } } as const
const floor = { kind: "floor", against: { name: reference.name } } as const

export const table: Figures = {
  _tag: "Figures",
  title: "One call after the other",
  about: "One tool with a trivial body, one caller's signal for all calls. The ratio is to REF.",
  claim: 0.1,
  processes: 3,
  plan: Measure.quick,
  subjects: async () => [
    ...floors.map((host) => Subjects.calls(host, floor)),
    ...[Ours.call, ...Ours.duties, Ours.full].map((variant) => Subjects.calls(Ours.host(variant), ours))
  ]
}
