/**
 * What it costs to stand in a fiber: REF behind `Effect.callback`, and the same stages written as Effects.
 *
 * The caller's lifetime is the fiber here, so no signal and no hub is involved: an interruption cancels the call and
 * waits until its body has ended.
 */
import * as Effect from "effect/Effect"
import type { Arguments, Body, FiberHost } from "../Host.ts"
import * as Reference from "./reference.ts"

const none = async () => {}

/** Joins a promise that is told to end by `cancel` to a fiber: the interruption waits for it. */
const join = <A>(start: () => { readonly result: Promise<A>; readonly cancel: () => void }): Effect.Effect<A> =>
  Effect.callback((resume) => {
    const { cancel, result } = start()
    void result.then((value) => resume(Effect.succeed(value)))
    return Effect.callback<void>((quiescent) => {
      cancel()
      void result.then(() => quiescent(Effect.void))
    })
  })

export const reference: FiberHost = {
  name: "REF",
  lacks: Reference.reference.lacks,
  open: async (body) => ({
    call: (parameters) =>
      join(() => {
        const call = new Reference.Call()
        return {
          result: Reference.run(body, Reference.stages, call, parameters),
          cancel: () => call.cancel("ABORTED", undefined)
        }
      }),
    close: none
  })
}

const pre = (_: Arguments): Effect.Effect<boolean> => Effect.succeed(true)
const post = pre

/** A promise body as an Effect: the bridge by hand. */
export const bridge = (body: Body, parameters: Arguments): Effect.Effect<string> =>
  join(() => {
    const call = new Reference.Call()
    return { result: body(parameters, call), cancel: () => call.cancel("ABORTED", undefined) }
  })

/** The same under a timer. */
export const bridgeWithTimer = (body: Body, parameters: Arguments): Effect.Effect<string> =>
  join(() => {
    const call = new Reference.Call()
    const timer = setTimeout(() => call.cancel("TOOL_TIMEOUT", undefined), Reference.stages.budgetMillis)
    const result = body(parameters, call).finally(() => clearTimeout(timer))
    return { result, cancel: () => call.cancel("ABORTED", undefined) }
  })

const succeed = (value: string): Reference.Result => Object.freeze({ _tag: "Success", dispatched: true, value })

/** REF's stages as Effects around the same promise body, with `bounded` in the place of the deadline. */
const allEffect = (
  name: string,
  lacks: string,
  bounded: (body: Effect.Effect<string>) => Effect.Effect<string, unknown>
): FiberHost => ({
  name,
  lacks,
  open: async (body) => ({
    call: (parameters) =>
      Effect.flatMap(pre(parameters), () =>
        Effect.flatMap(
          bounded(bridge(body, parameters)),
          (value) => Effect.map(post(parameters), () => succeed(value))
        )),
    close: none
  })
})

export const withoutDeadline = allEffect(
  "stages as Effects, no deadline",
  "what REF lacks, failures and cancellation as results, the deadline",
  (body) => body
)

export const withTimeout = allEffect(
  "stages as Effects, Effect.timeout",
  "what REF lacks, failures and cancellation as results",
  Effect.timeout(Reference.stages.budgetMillis)
)
