/** Time per call against the number of calls at once. */
import { naive } from "../floors/promises.ts"
import { reference } from "../floors/reference.ts"
import type { Host } from "../Host.ts"
import type { Subject } from "../Measure.ts"
import { peers } from "../peers/all.ts"
import type { Kind } from "../Report.ts"
import * as Subjects from "../Subjects.ts"
import type { Figures } from "../Table.ts"

const points = [1, 10, 100, 1000, 10_000]

const curve = (kind: Kind, host: Host): ReadonlyArray<Subject> =>
  points.map((at) => Subjects.calls(host, { kind, at, against: { name: reference.name, at } }, at))

export const table: Figures = {
  _tag: "Figures",
  title: "Time per call against calls at once",
  about: "All calls of a point start together on one signal. The ratio is to REF at the same point.",
  axis: "calls at once",
  claim: 0.25,
  processes: 2,
  // A round of this table takes seconds at its widest point; its claim is wide accordingly.
  plan: { rounds: 4, warmUpMillis: 50 },
  subjects: async () => [
    ...curve("floor", reference),
    ...curve("floor", naive),
    ...peers.flatMap((host) => curve("peer", host))
  ]
}
