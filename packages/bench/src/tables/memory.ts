/** What a pending call holds. */
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { gate } from "../floors/bodies.ts"
import * as Effects from "../floors/effects.ts"
import { bare, fused, fusedTimeout, listener } from "../floors/promises.ts"
import { reference } from "../floors/reference.ts"
import type { FiberHost, Host } from "../Host.ts"
import { parameters } from "../Host.ts"
import type { Subject } from "../Measure.ts"
import * as Memory from "../memory.ts"
import * as Ours from "../ours.ts"
import { peers } from "../peers/all.ts"
import type { Kind, Series } from "../Report.ts"
import type { Figures } from "../Table.ts"

const pending = 2000

const held = (kind: Kind, host: Host): Subject => ({
  name: host.name,
  kind,
  unit: "bytes",
  lacks: host.lacks,
  open: async () => {
    const held = gate()
    const { call, close } = await host.open(held.body)
    const { signal } = new AbortController()
    return Memory.perPending(pending, {
      start: () => call(parameters, signal),
      end: (result) => result,
      gate: held,
      close
    })
  }
})

const heldFromFiber = (kind: Kind, host: FiberHost): Subject => ({
  name: `${host.name}, in a fiber`,
  kind,
  unit: "bytes",
  lacks: host.lacks,
  open: async () => {
    const held = gate()
    const { call, close } = await host.open(held.body)
    return Memory.perPending(pending, {
      start: () => Effect.runFork(call(parameters)),
      end: (fiber) => Effect.runPromise(Fiber.await(fiber)),
      gate: held,
      close
    })
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
  plan: { rounds: 2, warmUpMillis: 20 },
  subjects: async () => [
    held("floor", bare),
    ...[listener, reference, fused, fusedTimeout].map((host) => held("floor", host)),
    heldFromFiber("floor", Effects.reference),
    ...[Ours.call, Ours.full].flatMap((variant) => [
      held("ours", Ours.host(variant)),
      heldFromFiber("ours", Ours.fiberHost(variant))
    ]),
    ...peers.map((host) => held("peer", host))
  ],
  derive: beyondBody
}
