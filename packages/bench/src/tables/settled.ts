/** What settled calls leave behind on a signal that lives on. */
import { bare, fused, listener } from "../floors/promises.ts"
import { reference } from "../floors/reference.ts"
import type { Host } from "../Host.ts"
import { parameters, trivialBody } from "../Host.ts"
import type { Subject } from "../Measure.ts"
import * as Memory from "../memory.ts"
import * as Ours from "../ours.ts"
import { peers } from "../peers/all.ts"
import type { Kind } from "../Report.ts"
import type { Figures } from "../Table.ts"

const left = (kind: Kind, host: Host, at: number): Subject => ({
  name: host.name,
  at,
  kind,
  unit: "bytes",
  lacks: host.lacks,
  open: async () => {
    const { call, close } = await host.open(trivialBody)
    const { signal } = new AbortController()
    const calls = async (n: number) => {
      for (let i = 0; i < n; i++) await call(parameters, signal)
    }
    return {
      measure: async () => {
        // Code and caches that come with the first calls are not what the calls leave.
        await calls(at / 10)
        const before = await Memory.reachable()
        await calls(at)
        return ((await Memory.reachable()) - before) / at
      },
      close
    }
  }
})

export const table: Figures = {
  _tag: "Figures",
  title: "Heap after settled calls",
  about: "Bytes per call that are still reachable after that many settled calls on one signal that lives on. Peers " +
    "make fewer calls: one that leaves its listeners walks all of them in each further call.",
  axis: "settled calls",
  claim: 0.1,
  processes: 1,
  plan: { rounds: 1, warmUpMillis: 0 },
  subjects: async () => [
    ...[bare, listener, reference, fused].map((host) => left("floor", host, 1_000_000)),
    left("ours", Ours.host(Ours.full), 1_000_000),
    ...peers.map((host) => left("peer", host, 5000))
  ]
}
