/** What it costs to cross between promises and fibers. */
import * as Abortable from "@quiesce/core/Abortable"
import * as Effect from "effect/Effect"
import { bridge } from "../floors/effects.ts"
import { type Host, inFiber } from "../Host.ts"
import * as Measure from "../Measure.ts"
import * as Subjects from "../Subjects.ts"
import type { Figures } from "../Table.ts"

const asPromise = (
  name: string,
  lacks: string,
  call: (effect: Effect.Effect<string>, signal: AbortSignal) => Promise<unknown>
): Host => ({
  name,
  lacks,
  open: async (body) => ({
    call: (parameters, signal) => call(bridge(body, parameters), signal),
    close: async () => {}
  })
})

const byHand = inFiber("bridge by hand", "reasons, late failures, thenables, throwing functions", bridge)

const abandoning = inFiber(
  "Effect.promise",
  "waiting: an interruption abandons the promise",
  (body, parameters) => Effect.promise((signal) => body(parameters, { signal }))
)

const promise = inFiber(
  "Abortable.promise",
  "",
  (body, parameters) => Abortable.promise((signal) => body(parameters, { signal }))
)

const neverAborted = new AbortController().signal

const interruptOn = inFiber(
  "Abortable.interruptOn",
  "",
  (body, parameters) => Abortable.interruptOn(bridge(body, parameters), neverAborted)
)

const stock = asPromise(
  "Effect.runPromise with signal",
  "the reason; an effect under an aborted signal starts",
  (effect, signal) => Effect.runPromise(effect, { signal })
)

const runPromise = asPromise("Abortable.runPromise", "", (effect, signal) => Abortable.runPromise(effect, { signal }))

const onBridge = { name: "bridge by hand, in a fiber" }
const onStock = { name: stock.name }

export const table: Figures = {
  _tag: "Figures",
  title: "Between promises and fibers",
  about: "Running a trivial promise function from a fiber, binding an effect to a signal, and running an effect as a " +
    "promise. The ratio is to a bridge by hand for the first three, to `Effect.runPromise` for the last.",
  claim: 0.1,
  processes: 3,
  plan: Measure.quick,
  subjects: async () => [
    Subjects.callsInFiber(byHand, { kind: "floor", against: onBridge }),
    Subjects.callsInFiber(abandoning, { kind: "floor", against: onBridge }),
    Subjects.callsInFiber(promise, { kind: "ours", against: onBridge }),
    Subjects.callsInFiber(interruptOn, { kind: "ours", against: onBridge }),
    Subjects.calls(stock, { kind: "floor", against: onStock }),
    Subjects.calls(runPromise, { kind: "ours", against: onStock })
  ]
}
