/** Whether a call costs the same among a hundred and among a hundred thousand on one signal. */
import { listener } from "../floors/promises.ts"
import { reference } from "../floors/reference.ts"
import type { Host } from "../Host.ts"
import type { Subject } from "../Measure.ts"
import type { Kind } from "../Report.ts"
import * as Subjects from "../Subjects.ts"
import type { Figures } from "../Table.ts"

/** Every curve is divided by itself at this point. */
export const base = 1000

const curve = (kind: Kind, host: Host, points: ReadonlyArray<number>): ReadonlyArray<Subject> =>
  points.map((at) => Subjects.calls(host, { kind, at, against: { name: host.name, at: base } }, at))

export const table: Figures = {
  _tag: "Figures",
  title: "One signal, more and more calls",
  about: "Time per call when all of them are pending at once on one signal. The ratio is to the same row at 1,000. " +
    "Native listeners stop at 10,000: a hundred thousand take a minute and a half to add and as long to remove.",
  axis: "calls at once",
  claim: 0.2,
  processes: 2,
  plan: { rounds: 6, warmUpMillis: 200 },
  subjects: async () => [
    ...curve("floor", listener, [100, base, 10_000]),
    ...curve("floor", reference, [100, base, 10_000, 100_000])
  ]
}
