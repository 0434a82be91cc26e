/**
 * REF: the pipeline of a call by hand, the least a full call can cost.
 *
 * Its duties: listeners before and after the body are awaited, a deadline is armed around the body, cancellation
 * reaches the body through a signal made on first use, one hub serves all calls on a caller's signal, the body is
 * awaited whatever happens, the result is one frozen value that says whether the body was invoked.
 *
 * Lacks, beside a call through the registry: the snapshot and freeze of the arguments, schemas, approval, wrappers,
 * observers, scopes, nested calls, results for anything that throws outside the body, time through a Clock. It is a
 * floor and no library.
 */
import type { Arguments, Body, BodyCall, Host } from "../Host.ts"
import type { Subscriber } from "./hub.ts"
import { subscribe, unsubscribe } from "./hub.ts"

export type Stage = (parameters: Arguments) => Promise<boolean>

export interface Stages {
  readonly pre: Stage
  readonly post: Stage
  readonly budgetMillis: number
}

/** Stages that let everything pass; the budget is long, for what is measured is arming it and not its firing. */
export const stages: Stages = { pre: async () => true, post: async () => true, budgetMillis: 60_000 }

export type Result =
  | { readonly _tag: "Success"; readonly dispatched: true; readonly value: string }
  | { readonly _tag: "Failure"; readonly dispatched: boolean; readonly code: string; readonly cause: unknown }

const failure = (dispatched: boolean, code: string, cause: unknown): Result =>
  Object.freeze({ _tag: "Failure", dispatched, code, cause })

/** One call: a subscriber of the hub, and what the body sees. */
export class Call implements Subscriber, BodyCall {
  previous: Subscriber | undefined = undefined
  next: Subscriber | undefined = undefined
  cancelled = false
  reason: unknown = undefined
  code: "ABORTED" | "TOOL_TIMEOUT" = "ABORTED"
  controller: AbortController | undefined = undefined
  /** For a body that can be told without a signal. */
  told: ((reason: unknown) => void) | undefined = undefined

  get signal(): AbortSignal {
    if (this.controller === undefined) {
      this.controller = new AbortController()
      if (this.cancelled) this.controller.abort(this.reason)
    }
    return this.controller.signal
  }

  onAbort(reason: unknown) {
    this.cancel("ABORTED", reason)
  }

  /** The first cause is kept. */
  cancel(code: "ABORTED" | "TOOL_TIMEOUT", reason: unknown) {
    if (this.cancelled) return
    this.cancelled = true
    this.code = code
    this.reason = reason
    this.controller?.abort(reason)
    this.told?.(reason)
  }
}

export const run = async (body: Body, { budgetMillis, post, pre }: Stages, call: Call, parameters: Arguments) => {
  if (call.cancelled) return failure(false, "ABORTED_BEFORE_DISPATCH", call.reason)
  if (!(await pre(parameters))) return failure(false, "DENIED", undefined)
  if (call.cancelled) return failure(false, "ABORTED_BEFORE_DISPATCH", call.reason)
  const timer = setTimeout(() => call.cancel("TOOL_TIMEOUT", undefined), budgetMillis)
  let value: string
  try {
    value = await body(parameters, call)
  } catch (cause) {
    return failure(true, call.cancelled ? call.code : "TOOL_FAILURE", cause)
  } finally {
    clearTimeout(timer)
  }
  const accepted = await post(parameters)
  if (call.cancelled) return failure(true, call.code, call.reason)
  if (!accepted) return failure(true, "BLOCKED", undefined)
  return Object.freeze<Result>({ _tag: "Success", dispatched: true, value })
}

export const execute = async (body: Body, parameters: Arguments, signal: AbortSignal): Promise<Result> => {
  if (signal.aborted) return failure(false, "ABORTED_BEFORE_DISPATCH", signal.reason)
  const call = new Call()
  subscribe(signal, call)
  try {
    return await run(body, stages, call, parameters)
  } finally {
    unsubscribe(signal, call)
  }
}

/** A body of REF's own that never ends by itself, and that a cancellation ends without a signal. */
export const told: Body = (_, call) =>
  new Promise((_, reject) => {
    const own = call as Call
    own.told = reject
  })

export const reference: Host = {
  name: "REF",
  lacks: "snapshot, schemas, approval, wrappers, observers, scopes, Clock",
  open: async (body) => ({
    call: (parameters, signal) => execute(body, parameters, signal),
    close: async () => {}
  })
}
