/** One abort over a hundred thousand pending calls, to the last result. */
import { listening } from "../floors/bodies.ts"
import { reference, told } from "../floors/reference.ts"
import type { Body, Host } from "../Host.ts"
import { parameters } from "../Host.ts"
import type { Subject } from "../Measure.ts"
import * as names from "../names.ts"
import * as Ours from "../ours.ts"
import type { Kind } from "../Report.ts"
import type { Figures } from "../Table.ts"

const pending = 100_000

const turn = () => new Promise<void>((resolve) => setImmediate(resolve))

const abort = (kind: Kind, host: Host, body: Body, against: string, name = host.name): Subject => ({
  name,
  kind,
  unit: "ns",
  lacks: host.lacks,
  against: { name: against },
  open: async () => {
    const { call, close } = await host.open(body)
    return {
      measure: async () => {
        const controller = new AbortController()
        const calls = Array.from({ length: pending }, () => call(parameters, controller.signal))
        // Every stage before a body takes microtasks only, so all bodies have started after a turn of the loop.
        await turn()
        const start = performance.now()
        controller.abort()
        await Promise.allSettled(calls)
        return (performance.now() - start) * 1e6 / pending
      },
      close
    }
  }
})

export const table: Figures = {
  _tag: "Figures",
  title: "One abort over 100,000 pending calls",
  about: "From `abort()` on the one signal to the last result, per call. The bodies listen to their signals, which " +
    "takes a controller for each call, or need no signal; they end at once. The ratio is to REF, a hand-written hub " +
    "with lazy controllers, with a body of the same kind.",
  claim: 0.2,
  processes: 2,
  plan: { rounds: 4, warmUpMillis: 100 },
  subjects: async () => [
    abort("floor", reference, listening, names.reference),
    abort("ours", Ours.host(Ours.full), listening, names.reference),
    abort("floor", reference, told, names.referenceTold, names.referenceTold),
    abort("ours", Ours.host(Ours.fullEndless), listening, names.referenceTold)
  ]
}
