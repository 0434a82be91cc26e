/** Whether a call costs the same among a hundred and among a hundred thousand on one signal. */
import { listener } from "../floors/promises.ts"
import { reference } from "../floors/reference.ts"
import type { Host } from "../Host.ts"
import { parameters, trivialBody } from "../Host.ts"
import type { Subject } from "../Measure.ts"
import * as names from "../names.ts"
import * as Ours from "../ours.ts"
import type { Kind } from "../Report.ts"
import * as Subjects from "../Subjects.ts"
import type { Figures } from "../Table.ts"

/** Every curve is divided by itself at this point. */
export const base = 1000

const curve = (kind: Kind, host: Host, points: ReadonlyArray<number>): ReadonlyArray<Subject> =>
  points.map((at) => Subjects.calls(host, { kind, at, against: { name: host.name, at: base } }, at))

/**
 * Counts the listeners on a signal while `width` calls are made at once, and keeps the greatest count. Counted once, since no
 * round would count another number, and a hundred thousand calls take a second.
 */
const mostListeners = (host: Host, width: number): Subject => ({
  name: names.mostListeners,
  at: width,
  kind: "ours",
  unit: "listeners",
  lacks: "",
  open: async () => {
    const { call, close } = await host.open(trivialBody)
    const { signal } = new AbortController()
    let now = 0
    let most = 0
    signal.addEventListener = (...listener: Parameters<AbortSignal["addEventListener"]>) => {
      most = Math.max(most, ++now)
      AbortSignal.prototype.addEventListener.apply(signal, listener)
    }
    signal.removeEventListener = (...listener: Parameters<AbortSignal["removeEventListener"]>) => {
      now--
      AbortSignal.prototype.removeEventListener.apply(signal, listener)
    }
    await Promise.all(Array.from({ length: width }, () => call(parameters, signal)))
    return { measure: async () => most, close }
  }
})

export const table: Figures = {
  _tag: "Figures",
  title: "One signal, more and more calls",
  about: "Time per call when all of them are pending at once on one signal. The ratio is to the same row at 1,000. " +
    "Native listeners stop at 10,000: a hundred thousand take a minute and a half to add and as long to remove.",
  axis: "calls at once",
  claim: 0.2,
  processes: 2,
  plan: { rounds: 4, warmUpMillis: 200 },
  subjects: async () => [
    ...curve("ours", Ours.host(Ours.full), [100, base, 10_000, 100_000]),
    mostListeners(Ours.host(Ours.full), 100_000),
    ...curve("floor", listener, [100, base, 10_000]),
    ...curve("floor", reference, [100, base, 10_000, 100_000])
  ]
}
