/** What one call costs beyond its body, one call after the other. */
import { floors } from "../floors/all.ts"
import { waiting } from "../floors/bodies.ts"
import { reference } from "../floors/reference.ts"
import type { Host } from "../Host.ts"
import * as Measure from "../Measure.ts"
import * as Ours from "../ours.ts"
import * as Subjects from "../Subjects.ts"
import type { Figures } from "../Table.ts"

const ours = { kind: "ours", against: { name: reference.name } } as const
const floor = { kind: "floor", against: { name: reference.name } } as const

/** The same host, whose body does not end where it began: what is armed for it is armed in fact. */
const withWaiting = (host: Host): Host => ({
  ...host,
  name: `${host.name}, body waits a turn`,
  open: () => host.open(waiting)
})
const referenceWaiting = withWaiting(reference)
const toWaiting = { name: referenceWaiting.name } as const

export const table: Figures = {
  _tag: "Figures",
  title: "One call after the other",
  about: "One tool with a trivial body, one caller's signal for all calls. The ratio is to REF. A trivial " +
    "body's promise is settled when it is returned, so the last rows have one that waits for the event loop, beside a REF that does.",
  claim: 0.1,
  processes: 3,
  plan: Measure.quick,
  subjects: async () => [
    ...floors.map((host) => Subjects.calls(host, floor)),
    ...[Ours.call, ...Ours.duties, Ours.full].map((variant) => Subjects.calls(Ours.host(variant), ours)),
    Subjects.calls(referenceWaiting, { kind: "floor", against: toWaiting }),
    ...[Ours.call, Ours.full].map((variant) =>
      Subjects.calls(withWaiting(Ours.host(variant)), { kind: "ours", against: toWaiting })
    )
  ]
}
