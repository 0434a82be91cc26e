/**
 * A late failure, carried by the interruption it came with.
 *
 * In an interrupted fiber effect passes over the failure handlers of interruptible regions, and drops the typed failures
 * that they would have seen. It keeps the interruption. So the interruption that a late failure stands beside carries it,
 * too: a handler that runs takes both away, and one that is passed over leaves the interruption, which still tells.
 */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Equal from "effect/Equal"
import type { Cancellation } from "./cancellation.ts"

/** The key under which an `Interrupt` reason carries what stood beside it. */
class Late extends Context.Service<Late, { readonly error: unknown }>()("@quiesce/core/LateFailure") {}

/** By reference: effect compares the failures of a cause by their fields, and an error can be anything. */
const failed = <E>(error: E): Cause.Fail<E> => Equal.byReferenceUnsafe(Cause.makeFailReason(error))

export const fail = <E>(error: E): Cause.Cause<E> => Cause.fromReasons([failed(error)])

export const interruptedBy = ({ annotations }: Cancellation): Cause.Cause<never> =>
  Cause.fromReasons([Cause.makeInterruptReason().annotate(annotations)])

/** Interrupted by `cancellation`, and then failed. */
export const late = <E>({ annotations }: Cancellation, error: E): Cause.Cause<E> =>
  Cause.fromReasons([
    Cause.makeInterruptReason().annotate(Context.add(annotations, Late, { error }) as Context.Context<never>),
    failed(error)
  ])

/** The errors and defects in `cause`, in order; where there are none, those that were dropped and not handled. */
export const failures = (cause: Cause.Cause<unknown>): ReadonlyArray<unknown> => {
  const found: Array<unknown> = []
  const dropped: Array<unknown> = []
  for (const reason of cause.reasons) {
    if (reason._tag === "Fail") found.push(reason.error)
    else if (reason._tag === "Die") found.push(reason.defect)
    else {
      const late = reason.annotations.get(Late.key) as Late["Service"] | undefined
      if (late !== undefined) dropped.push(late.error)
    }
  }
  return found.length === 0 ? dropped : found
}
