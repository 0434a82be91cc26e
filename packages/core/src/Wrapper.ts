/**
 * Around-dispatch: what runs around the body.
 *
 * A wrapper gets `next`, the rest of the call as an effect, and returns an effect: `Effect.retry(next, …)`,
 * `semaphore.withPermit` and `Effect.withSpan("tool")` are wrappers as they stand. It may answer without `next`, fail
 * with an error of its own, or run `next` again once the previous run is quiet. It can add cancellation for what it
 * delegates, and never take the caller's away: on whatever fiber and in whatever region `next` runs, it stays tied to
 * the call.
 */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as Abortable from "./Abortable.ts"
import * as Deadline from "./Deadline.ts"
import * as Cancellation from "./internal/cancellation.ts"
import * as Composed from "./internal/composed.ts"
import { failures } from "./internal/failure.ts"
import { snapshot } from "./internal/json.ts"
import * as SignalHub from "./internal/signalHub.ts"
import { tie } from "./internal/tie.ts"
import { Token } from "./internal/token.ts"
import * as Ward from "./internal/ward.ts"
import * as Wiring from "./internal/wiring.ts"
import { FiberWork, PromiseWork, type Work } from "./internal/work.ts"
import type { Json } from "./Json.ts"
import type * as ToolCall from "./ToolCall.ts"
import type * as ToolResult from "./ToolResult.ts"

/** Nominal, with a private constructor: only the registry has one, so only it can discharge `Dispatch`. */
export class DispatchLease {
  declare private readonly nominal: never
  private constructor() {}
}
/** What `next` needs and a wrapper passes on: that a wrapper runs it inside its own call is a type. */
export class Dispatch extends Context.Service<Dispatch, DispatchLease>()(Ward.key) {}

/** The rest of the call. It yields the value as JSON, and fails with the one error a wrapper may pass on. */
export type Next = Effect.Effect<Json, ToolResult.ToolCallFailed, Dispatch>

/**
 * **Errors**: an error other than the one `next` failed with is WRAPPER_FAILURE; a `DeadlineExceeded` is TOOL_TIMEOUT.
 * **Interruption**: cancelling the call interrupts it.
 */
export type Wrapper = (next: Next, call: ToolCall.Pending) => Effect.Effect<Json, unknown, Dispatch>

/** The wrappers that a registry captures when it is built. Default: none. Budgets are enforced in any case. */
export const Current: Context.Reference<ReadonlyArray<Wrapper>> = Context.Reference<ReadonlyArray<Wrapper>>(
  "@quiesce/core/Wrapper",
  { defaultValue: () => [] }
)

/** Enforces the tool's budget here, for what stands further in. Where it is not listed, the body alone is timed. */
export const timeout: Wrapper = (next, call) => {
  const { budget } = Token.call(call.token)
  return budget === undefined ? next : Deadline.within(next, { timeout: budget, code: "TOOL_TIMEOUT" })
}

/** One wrapper made of several; the first is outermost. */
export const compose = (...wrappers: ReadonlyArray<Wrapper>): Wrapper =>
  Composed.compose(
    (next, call) =>
      wrappers.reduceRight<Effect.Effect<Json, unknown, Dispatch>>(
        (inner, wrapper) => wrapper(inner as Next, call),
        next
      ),
    Composed.flatten(wrappers)
  )

/**
 * Runs `next` until `signal` aborts.
 *
 * **Interruption**: an abort interrupts `next` and waits until it is quiet; the call then settles as cancelled, with
 * reason Wrapper. Once `next` is over, the signal changes nothing.
 */
export const withCancel = (next: Next, signal: AbortSignal): Next =>
  tie(() =>
    new FiberWork<Json, ToolResult.ToolCallFailed>(leased(next), {
      source: { signal, cancellation: (cause) => Cancellation.make({ _tag: "Wrapper", cause }) }
    })
  )

/** Attaches a context to the call's result, after those of the body. Dies when it is not JSON. */
export const deferContext = (context: Json): Effect.Effect<void, never, Dispatch> =>
  Effect.withFiber((fiber) => {
    Ward.of(fiber.context)?.owner?.call.wrapperContexts.push(snapshot(context))
    return Effect.void
  })

declare const live: unique symbol
/** A signal that aborts with the call. `next` takes no other: the caller's cancellation cannot be left out. */
export type LiveSignal = AbortSignal & { readonly [live]: true }

export interface Signals {
  readonly signal: LiveSignal
  /** A live signal that aborts also when `other` does. */
  readonly derive: (other: AbortSignal) => LiveSignal
}

/**
 * A wrapper of promise functions. What `next` promises settles when the rest of the call is quiet; it rejects with the
 * call's failure, or with the reason of the signal when it was cancelled.
 */
export const fromPromise = (
  wrap: (
    next: (signal: LiveSignal) => Promise<Json>,
    call: ToolCall.Pending,
    signals: Signals
  ) => PromiseLike<Json> | Json
): Wrapper =>
  // Under the function's own name, which a refusal tells.
  Object.defineProperty(promiseWrapper(wrap), "name", { value: wrap.name })

const promiseWrapper = (wrap: Parameters<typeof fromPromise>[0]): Wrapper => (next, call) =>
  Effect.withFiber((fiber) => {
    const fused: Array<SignalHub.Fused> = []
    const stopped: Array<Cancellation.Cancellation> = []
    const runs: Array<Work<Json, unknown>> = []
    const wrapper = new PromiseWork<Json, unknown>(async (work) => {
      const signal = work.signal as LiveSignal
      const derive = (other: AbortSignal): LiveSignal => {
        const derived = SignalHub.fuse([signal, other])
        if (work.owner !== undefined) Ward.sign(derived.signal, work.owner)
        // What a wrapper adds ends with it, also what it adds too late.
        if (work.over) SignalHub.release(derived)
        else fused.push(derived)
        return derived.signal as LiveSignal
      }
      const run = (signal: LiveSignal) => {
        const inner = new FiberWork<Json, unknown>(leased(next), {
          source: {
            signal,
            // A live signal aborts with the wrapper's work, whose own reason is the typed one.
            cancellation: (cause) => {
              const cancellation = work.cancellation ?? Cancellation.make({ _tag: "Wrapper", cause })
              stopped.push(cancellation)
              return cancellation
            }
          }
        })
        runs.push(inner)
        return asPromise(inner, fiber.context)
      }
      const value = await wrap(run, call, { signal, derive })
      // What it resolves in spite of, it has handled. Whether a wrapper that rejects with the abort heard of more, nothing says.
      for (const inner of runs) inner.awaitedBy = fiber
      return value
    }, {})
    wrapper.observe(() => fused.forEach(SignalHub.release))
    return Abortable.handling(
      tie(() => wrapper),
      Effect.catchCause((cause) => {
        // A wrapper that passes on why its `next` was stopped has not failed: it was stopped, too.
        const passedOn = stopped.find(({ abortReason }) => failures(cause).includes(abortReason))
        return Effect.failCause(
          passedOn === undefined ? cause : Cause.annotate(Cause.interrupt(), passedOn.annotations)
        )
      })
    )
  })

const asPromise = <A, E>(work: Work<A, E>, context: Context.Context<never>): Promise<A> => {
  const promise = new Promise<A>((resolve, reject) => {
    work.start(context)
    work.observe((exit) => {
      if (exit._tag === "Success") return resolve(exit.value)
      const failed = failures(exit.cause)
      reject(failed.length > 0 ? failed[0] : (work.cancellation ?? Cancellation.interrupted()).abortReason)
    })
  })
  // A wrapper may leave it unawaited: it is then interrupted when the wrapper settles, and rejects to nobody.
  promise.catch(() => {})
  return promise
}

/** The fiber that runs a wrapper has the lease in its context already. */
const leased = <A, E>(self: Effect.Effect<A, E, Dispatch>): Effect.Effect<A, E> => self as Effect.Effect<A, E>

/**
 * Sets the wrappers, the first outermost. An application writes one list, in the order the reader sees.
 *
 * **Limits**: 128, composed ones counted by their parts. A registry with more is not built, which is a defect.
 */
export const layer = (wrappers: ReadonlyArray<Wrapper>): Layer.Layer<never> => Wiring.layer(Current, wrappers)

/** The same for wrappers whose making needs services: they are captured when the layer is built. */
export const layerEffect = <E, R>(
  wrappers: Effect.Effect<ReadonlyArray<Wrapper>, E, R>
): Layer.Layer<never, E, Exclude<R, Scope.Scope>> => Wiring.layerEffect(Current, wrappers)
