/** What one more call costs while others are pending on its signal. */
import { gate } from "../floors/bodies.ts"
import * as Hub from "../floors/hub.ts"
import { listener } from "../floors/promises.ts"
import { Call, reference } from "../floors/reference.ts"
import type { Host } from "../Host.ts"
import { parameters, trivialBody } from "../Host.ts"
import type { Subject } from "../Measure.ts"
import * as Measure from "../Measure.ts"
import * as Ours from "../ours.ts"
import { peers } from "../peers/all.ts"
import type { Kind } from "../Report.ts"
import type { Figures } from "../Table.ts"

const points = [0, 1, 10, 100, 1000]
/** Further than this a native listener takes minutes to get to. */
const furthest = 10_000
const hubName = "add + remove, hub"

interface Registration {
  readonly name: string
  readonly lacks: string
  readonly add: (signal: AbortSignal) => () => void
}

const native: Registration = {
  name: "add + remove, native",
  lacks: "everything but the listener",
  add: (signal) => {
    const listener = () => {}
    signal.addEventListener("abort", listener)
    return () => signal.removeEventListener("abort", listener)
  }
}

const hub: Registration = {
  name: hubName,
  lacks: "everything but the listener",
  add: (signal) => {
    const call = new Call()
    Hub.subscribe(signal, call)
    return () => Hub.unsubscribe(signal, call)
  }
}

const registration = ({ add, lacks, name }: Registration): ReadonlyArray<Subject> =>
  [...points, furthest].map((at) => ({
    name,
    at,
    kind: "floor",
    unit: "ns",
    lacks,
    against: { name: hubName, at },
    open: async () => {
      const { signal } = new AbortController()
      const removals = Array.from({ length: at }, () => add(signal))
      return Measure.perOperation({
        run: async (n) => {
          for (let i = 0; i < n; i++) add(signal)()
        },
        width: 1,
        close: async () => {
          for (const remove of removals) remove()
        }
      })
    }
  }))

/** A whole call, while `at` others wait in their bodies on the same signal. */
const call = (kind: Kind, host: Host, ...further: ReadonlyArray<number>): ReadonlyArray<Subject> =>
  [...points, ...further].map((at) => ({
    name: `a call, ${host.name}`,
    at,
    kind,
    unit: "ns",
    lacks: host.lacks,
    against: { name: `a call, ${reference.name}`, at },
    open: async () => {
      const waiting = gate()
      let filled = false
      const { call, close } = await host.open((...of) => filled ? trivialBody(...of) : waiting.body(...of))
      const { signal } = new AbortController()
      const held = Array.from({ length: at }, () => call(parameters, signal))
      while (waiting.waiting() < at) await new Promise<void>((resolve) => setImmediate(resolve))
      filled = true
      return Measure.perOperation({
        run: Measure.sequentially(() => call(parameters, signal)),
        width: 1,
        close: async () => {
          waiting.open()
          await Promise.all(held)
          await close()
        }
      })
    }
  }))

export const table: Figures = {
  _tag: "Figures",
  title: "One more call while others are pending",
  about: "Adding and removing one listener, and one whole call, while that many others are pending on the same signal.",
  axis: "pending calls",
  claim: 0.25,
  processes: 2,
  plan: { rounds: 12, warmUpMillis: 40 },
  subjects: async () => [
    ...registration(hub),
    ...registration(native),
    ...call("ours", Ours.host(Ours.full), furthest),
    ...call("floor", listener, furthest),
    ...call("floor", reference, furthest),
    ...peers.flatMap((host) => call("peer", host))
  ]
}
