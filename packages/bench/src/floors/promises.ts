/** What plain promise code costs, from nothing at all to what is usually written. */
import type { Arguments, Body, Host } from "../Host.ts"
import { stages } from "./reference.ts"

const none = async () => {}

export const bare: Host = {
  name: "bare await",
  lacks: "everything: no cancellation, no result, no stages",
  open: async (body) => ({ call: (parameters, signal) => body(parameters, { signal }), close: none })
}

const executeWithListener = async (body: Body, parameters: Arguments, signal: AbortSignal): Promise<string> => {
  const controller = new AbortController()
  const abort = () => controller.abort(signal.reason)
  signal.addEventListener("abort", abort)
  try {
    return await body(parameters, { signal: controller.signal })
  } finally {
    signal.removeEventListener("abort", abort)
  }
}

export const listener: Host = {
  name: "controller + listener",
  lacks: "stages, deadline, result, signals with many calls",
  open: async (body) => ({ call: (parameters, signal) => executeWithListener(body, parameters, signal), close: none })
}

const executeNaively = async (body: Body, parameters: Arguments, signal: AbortSignal) => {
  const snapshot = structuredClone(parameters)
  await stages.pre(snapshot)
  const fused = AbortSignal.any([signal, AbortSignal.timeout(stages.budgetMillis)])
  const value = await body(snapshot, { signal: fused })
  await stages.post(snapshot)
  return structuredClone({ _tag: "Success", value })
}

export const naive: Host = {
  name: "naive promises (any + timeout + clone)",
  lacks: "late success, timers that end with the work, memory that stays flat",
  open: async (body) => ({ call: (parameters, signal) => executeNaively(body, parameters, signal), close: none })
}

const executeFused = async (body: Body, parameters: Arguments, signal: AbortSignal): Promise<string> => {
  const controller = new AbortController()
  return await body(parameters, { signal: AbortSignal.any([signal, controller.signal]) })
}

export const fused: Host = {
  name: "AbortSignal.any",
  lacks: "stages, deadline, result",
  open: async (body) => ({ call: (parameters, signal) => executeFused(body, parameters, signal), close: none })
}

const executeFusedTimeout = async (body: Body, parameters: Arguments, signal: AbortSignal): Promise<string> =>
  await body(parameters, { signal: AbortSignal.any([signal, AbortSignal.timeout(stages.budgetMillis)]) })

export const fusedTimeout: Host = {
  name: "AbortSignal.any + AbortSignal.timeout",
  lacks: "stages, result, timers that end with the work",
  open: async (body) => ({ call: (parameters, signal) => executeFusedTimeout(body, parameters, signal), close: none })
}
