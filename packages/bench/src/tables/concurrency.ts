/** Time per call against the number of calls at once. */
import { listener } from "../floors/promises.ts"
import { reference } from "../floors/reference.ts"
import type { Host } from "../Host.ts"
import type { Subject } from "../Measure.ts"
import * as Ours from "../ours.ts"
import { peers } from "../peers/all.ts"
import type { Kind } from "../Report.ts"
import * as Subjects from "../Subjects.ts"
import type { Figures } from "../Table.ts"

const points = [1, 10, 100, 1000]

const curve = (kind: Kind, host: Host, ...further: ReadonlyArray<number>): ReadonlyArray<Subject> =>
  [...points, ...further].map((at) => Subjects.calls(host, { kind, at, against: { name: reference.name, at } }, at))

export const table: Figures = {
  _tag: "Figures",
  title: "Time per call against calls at once",
  about: "All calls of a point start together on one signal. The ratio is to REF at the same point.",
  axis: "calls at once",
  claim: 0.25,
  processes: 2,
  // A round takes a good part of a second at the widest points, so there are few, and the claim is wide accordingly.
  plan: { rounds: 8, warmUpMillis: 100 },
  subjects: async () => [
    ...curve("ours", Ours.host(Ours.full), 10_000),
    ...curve("floor", reference, 10_000),
    ...curve("floor", listener, 10_000),
    ...peers.flatMap((host) => curve("peer", host))
  ]
}
