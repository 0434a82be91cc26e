/**
 * The two-way bridge between Effect's interruption and the platform's AbortSignal.
 *
 * Both directions wait. Interrupting an effect that runs a promise aborts the promise's signal and then waits until the
 * promise has settled; aborting a signal that an effect is bound to interrupts the effect and then waits until its
 * finalizers have run. What is cancelled is over when it is quiet, and not before.
 */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Equal from "effect/Equal"
import { dual } from "effect/Function"
import type * as Scope from "effect/Scope"
import * as Cancellation from "./internal/cancellation.ts"
import * as SignalHub from "./internal/signalHub.ts"
import { tie } from "./internal/tie.ts"
import * as Ward from "./internal/ward.ts"
import { FiberWork, PromiseWork, type Source } from "./internal/work.ts"

/**
 * Runs a promise function as an effect.
 *
 * **Errors**: whatever `f` throws or rejects with, as the `cause` of an `UnknownError`.
 *
 * **Interruption**: aborts the signal and waits until the promise has settled. A value that comes then is dropped; a
 * rejection that is not the abort itself is kept beside the interruption. The abort itself is a rejection that is
 * `signal.reason`, is named `AbortError` or coded `ABORT_ERR`, or has such a value in its `cause` chain.
 */
export const promise = <A>(f: (signal: AbortSignal) => PromiseLike<A> | A): Effect.Effect<A, Cause.UnknownError> =>
  tie(() => new PromiseWork<A, Cause.UnknownError>((work) => f(work.signal), { failure: rejected }))

// By reference: effect compares the failures of a cause by their fields, and a rejection can be anything.
const rejected = (cause: unknown): Cause.UnknownError =>
  Equal.byReferenceUnsafe(new Cause.UnknownError(cause, "The promise rejected"))

/**
 * Interrupts `effect` when `signal` aborts, and waits for its finalizers. An effect whose signal is aborted already is
 * not started.
 *
 * **Interruption**: as that of `effect`. The listener is gone in every exit.
 */
export const interruptOn = <A, E, R>(effect: Effect.Effect<A, E, R>, signal: AbortSignal): Effect.Effect<A, E, R> =>
  // `tie` starts the work with this fiber's context, which holds R.
  tie(() => new FiberWork<A, E>(effect as Effect.Effect<A, E>, { source: callerOf(signal) }))

const callerOf = (signal: AbortSignal): Source => ({ signal, cancellation: Cancellation.byCaller })

/**
 * Runs `effect` as a promise that settles at quiescence: after an abort, once every finalizer has run. An effect whose
 * signal is aborted already is not started.
 *
 * **Errors**: rejects with `signal.reason` when the abort was all that happened, otherwise with the failure or defect.
 */
export const runPromise = <A, E>(
  effect: Effect.Effect<A, E>,
  options: { readonly signal: AbortSignal }
): Promise<A> => runPromiseWith(Context.empty())(effect, options)

/** `runPromise` for an effect that needs services. */
export const runPromiseWith =
  <R>(context: Context.Context<R>) =>
  <A, E>(effect: Effect.Effect<A, E, R>, { signal }: { readonly signal: AbortSignal }): Promise<A> =>
    new Promise((resolve, reject) => {
      const work = new FiberWork<A, E>(effect as Effect.Effect<A, E>, { source: callerOf(signal) })
      work.start(context as Context.Context<never>)
      work.observe((exit) => {
        if (exit._tag === "Success") resolve(exit.value)
        else if (work.cancellation !== undefined && Cause.hasInterruptsOnly(exit.cause)) reject(signal.reason)
        else reject(Cause.squash(exit.cause))
      })
    })

/**
 * A signal that aborts when the scope closes, for handing to promise code that lives as long as the scope does. Its
 * reason is that of the call or work it was made in, if that was cancelled, otherwise an `AbortError`.
 */
export const signal: Effect.Effect<AbortSignal, never, Scope.Scope> = Effect.withFiber((fiber) => {
  // Read now: a fiber that is over when the scope closes has lost its context.
  const ward = Ward.of(fiber.context)
  return Effect.map(
    Effect.acquireRelease(
      Effect.sync(() => {
        const controller = new AbortController()
        if (ward?.owner !== undefined) Ward.sign(controller.signal, ward.owner)
        return controller
      }),
      (controller) =>
        Effect.sync(() => {
          const cancellation = ward?.cancellation
          // Not `??` on the reason: it can be `null`.
          controller.abort(
            cancellation === undefined ? Cancellation.abortError("the scope was closed") : cancellation.abortReason
          )
        })
    ),
    (controller) => controller.signal
  )
})

/**
 * A signal that aborts as soon as one of `signals` does, with its reason: that of the first to abort in time. Of several
 * that are aborted already the first in the list counts. When the scope closes, their listeners go.
 */
export const fuse = (...signals: ReadonlyArray<AbortSignal>): Effect.Effect<AbortSignal, never, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(() => SignalHub.fuse(signals)),
      (fused) => Effect.sync(() => SignalHub.release(fused))
    ),
    ({ signal }) => signal
  )

/**
 * Applies failure handlers so that a pending interrupt cannot skip them.
 *
 * In an interruptible region effect passes over the handlers of an interrupted fiber (`catch`, `mapError`, `tapError`,
 * `retry`, `exit`, …) and drops the typed failure they would have seen. Here they are applied where they always run,
 * and only `self` can be interrupted. Write handlers of a policy, a wrapper or an approval channel like this where
 * what they do must happen also when the call is being cancelled.
 *
 * **Interruption**: reaches `self`. What the handlers themselves wait for is not interrupted.
 */
export const handling: {
  <A, E, R, B, E2, R2>(
    handlers: (self: Effect.Effect<A, E, R>) => Effect.Effect<B, E2, R2>
  ): (self: Effect.Effect<A, E, R>) => Effect.Effect<B, E2, R2>
  <A, E, R, B, E2, R2>(
    self: Effect.Effect<A, E, R>,
    handlers: (self: Effect.Effect<A, E, R>) => Effect.Effect<B, E2, R2>
  ): Effect.Effect<B, E2, R2>
} = dual(
  2,
  <A, E, R, B, E2, R2>(
    self: Effect.Effect<A, E, R>,
    handlers: (self: Effect.Effect<A, E, R>) => Effect.Effect<B, E2, R2>
  ): Effect.Effect<B, E2, R2> => Effect.uninterruptibleMask((restore) => handlers(restore(self)))
)
