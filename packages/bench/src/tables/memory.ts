/** What a pending call holds. */
import { gate } from "../floors/bodies.ts"
import { bare, fused, fusedTimeout, listener } from "../floors/promises.ts"
import { reference } from "../floors/reference.ts"
import type { Host } from "../Host.ts"
import { parameters } from "../Host.ts"
import type { Subject } from "../Measure.ts"
import * as Memory from "../memory.ts"
import { peers } from "../peers/all.ts"
import type { Kind, Series } from "../Report.ts"
import type { Figures } from "../Table.ts"

const pending = 5000

const held = (kind: Kind, host: Host): Subject => ({
  name: host.name,
  kind,
  unit: "bytes",
  lacks: host.lacks,
  open: async () => {
    const { body, open } = gate()
    const { call, close } = await host.open(body)
    const { signal } = new AbortController()
    return Memory.perPending(pending, { start: () => call(parameters, signal), release: open, close })
  }
})

/** The body's own promise is not the host's: it is subtracted, round by round. */
const beyondBody = (series: ReadonlyArray<Series>): ReadonlyArray<Series> => {
  const body = series.find(({ name }) => name === bare.name)!
  return series.filter((row) => row !== body).map((row) => ({
    ...row,
    rounds: row.rounds.map((value, round) => value - body.rounds[round]!)
  }))
}

export const table: Figures = {
  _tag: "Figures",
  title: "Memory per pending call",
  about: `Bytes reachable per call while ${pending.toLocaleString("en")} calls on one signal wait in their bodies, ` +
    "beyond a bare await of the same body.",
  claim: 0.1,
  processes: 1,
  plan: { rounds: 4, warmUpMillis: 0 },
  subjects: async () => [
    held("floor", bare),
    ...[listener, reference, fused, fusedTimeout].map((host) => held("floor", host)),
    ...peers.map((host) => held("peer", host))
  ],
  derive: beyondBody
}
