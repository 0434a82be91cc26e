/**
 * Hosts and effects as subjects of a table.
 *
 * Every call of a subject is made under one signal that lives as long as the subject and never aborts, as an agent's
 * does, except where a subject says otherwise.
 */
import * as Effect from "effect/Effect"
import type { FiberHost, Host } from "./Host.ts"
import { parameters, trivialBody } from "./Host.ts"
import * as Measure from "./Measure.ts"

type Options = Pick<Measure.Subject, "kind" | "against" | "at">

/** Calls through `host`: `width` at once, or one after the other when it is 1. */
export const calls = (host: Host, options: Options, width = 1): Measure.Subject => ({
  ...options,
  name: host.name,
  unit: "ns",
  lacks: host.lacks,
  open: async () => {
    const { call, close } = await host.open(trivialBody)
    const { signal } = new AbortController()
    const once = () => call(parameters, signal)
    return Measure.perOperation({
      run: width === 1 ? Measure.sequentially(once) : Measure.atOnce(once, width),
      width,
      close
    })
  }
})

/** Calls made one after the other, each under a signal of its own. */
export const callsOnFreshSignals = (host: Host, options: Options): Measure.Subject => ({
  ...options,
  name: host.name,
  unit: "ns",
  lacks: host.lacks,
  open: async () => {
    const { call, close } = await host.open(trivialBody)
    const once = () => call(parameters, new AbortController().signal)
    return Measure.perOperation({ run: Measure.sequentially(once), width: 1, close })
  }
})

const repeat = Effect.fnUntraced(function*(effect: Effect.Effect<unknown, unknown>, n: number) {
  for (let i = 0; i < n; i++) yield* effect
})

/** Calls made by one fiber: `width` at once, or one after the other when it is 1. */
export const callsInFiber = (host: FiberHost, options: Options, width = 1): Measure.Subject => ({
  ...options,
  name: `${host.name}, in a fiber`,
  unit: "ns",
  lacks: host.lacks,
  open: async () => {
    const { call, close } = await host.open(trivialBody)
    const once = Effect.suspend(() => call(parameters))
    const effect = width === 1
      ? once
      : Effect.all(Array.from({ length: width }, () => once), { concurrency: "unbounded", discard: true })
    return Measure.perOperation({ run: (n) => Effect.runPromise(repeat(effect, n)), width, close })
  }
})

/** Calls made one after the other, each through its own `Effect.runPromise`. */
export const callsThroughRunPromise = (host: FiberHost, options: Options): Measure.Subject => ({
  ...options,
  name: `${host.name}, through runPromise`,
  unit: "ns",
  lacks: host.lacks,
  open: async () => {
    const { call, close } = await host.open(trivialBody)
    const once = () => Effect.runPromise(call(parameters))
    return Measure.perOperation({ run: Measure.sequentially(once), width: 1, close })
  }
})
