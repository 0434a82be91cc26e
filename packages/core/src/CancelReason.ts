/**
 * Why a call was cancelled, and how that is said in each world.
 *
 * A reason is a tagged value. It travels through Effect as an annotation of the interruption (`fromCause` reads it
 * back), and reaches promise code as `signal.reason`: a caller's own reason unchanged, also inside nested calls; the
 * `DeadlineExceeded` of a deadline; otherwise an `AbortError` that names the origin. The first reason given for a call is
 * the one that counts.
 */
import type * as Cause from "effect/Cause"
import * as Cancellation from "./internal/cancellation.ts"

export type CancelReason =
  /** The caller's AbortSignal aborted, or the call was cancelled by hand; `cause` is the caller's own reason. */
  | { readonly _tag: "Caller"; readonly cause: unknown }
  /** The fiber that ran the call was interrupted. */
  | { readonly _tag: "Interrupt" }
  /** A deadline fired; `deadline` is its identity. */
  | { readonly _tag: "Deadline"; readonly deadline: symbol }
  /** A wrapper cancelled what it had delegated. */
  | { readonly _tag: "Wrapper"; readonly cause: unknown }
  /** The call inside which this one ran was cancelled, or is over. */
  | { readonly _tag: "Parent"; readonly callId: string }
  /** The registry is shutting down, or the tool is being unregistered. */
  | { readonly _tag: "Shutdown" }

export const caller = (cause: unknown): CancelReason => ({ _tag: "Caller", cause })

export const interrupt: CancelReason = { _tag: "Interrupt" }

export const deadline = (deadline: symbol): CancelReason => ({ _tag: "Deadline", deadline })

export const wrapper = (cause: unknown): CancelReason => ({ _tag: "Wrapper", cause })

export const parent = (callId: string): CancelReason => ({ _tag: "Parent", callId })

export const shutdown: CancelReason = { _tag: "Shutdown" }

/** Reads the reason that an interruption carries, `undefined` for an interruption that has none. */
export const fromCause = (cause: Cause.Cause<unknown>): CancelReason | undefined =>
  Cancellation.fromCause(cause)?.reason
