/**
 * A failure that can tell whether a handler took it.
 *
 * After a cancellation a failure can vanish from every exit although nobody recovered from it: a pending interrupt skips
 * failure handlers, and `Effect.timeout`, races and forks drop what their losers fail with. Effect has no hook that
 * tells this from a handler that ran in an uninterruptible region and recovered. But a handler takes the error out of
 * its reason, and what drops a failure does not.
 */
import * as Cause from "effect/Cause"
import type * as Context from "effect/Context"
import * as Equal from "effect/Equal"

/** What is known of a failure, wherever its reason has gone. */
export interface Failure {
  readonly thrown: unknown
  handled: boolean
}

const failureOf = Symbol("@quiesce/core/failure")

type Watched = { readonly [failureOf]?: Failure }

/** A `Fail` reason that tells `failure` when its error is taken. So do the annotated copies that effect makes of it. */
export const watch = <E>(error: E, failure: Failure): Cause.Fail<E> => watchReason(Cause.makeFailReason(error), failure)

const watchReason = <E>(reason: Cause.Fail<E>, failure: Failure): Cause.Fail<E> => {
  const { error } = reason
  // Annotating reads the fields: it is done on a copy that does not mind.
  const copy = Object.assign(Object.create(Object.getPrototypeOf(reason)) as Cause.Fail<E>, reason)
  Object.defineProperties(reason, {
    [failureOf]: { value: failure },
    error: {
      enumerable: true,
      get: () => {
        failure.handled = true
        return error
      }
    },
    annotate: {
      value: (annotations: Context.Context<never>, options?: { readonly overwrite?: boolean }) => {
        const annotated = copy.annotate(annotations, options)
        return annotated === copy ? reason : watchReason(annotated, failure)
      }
    }
  })
  // By reference, so that combining causes does not read it, and since an error's own equality can be anything.
  return Equal.byReferenceUnsafe(reason)
}

/** The error or defect of `reason`, seen without being taken. */
export const peek = (reason: Cause.Fail<unknown> | Cause.Die): unknown => {
  const failure = (reason as Watched)[failureOf]
  if (failure !== undefined) return failure.thrown
  return reason._tag === "Fail" ? reason.error : reason.defect
}
