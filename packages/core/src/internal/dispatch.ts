/**
 * The middle of the pipeline: wrappers( journal, body ).
 *
 * Whatever is started here is work that belongs to the call, tied to whoever awaits it. So it can be interrupted on
 * whatever fiber and in whatever region a wrapper runs it, and nothing counts as over before it is quiet.
 */
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as Journal from "../Journal.ts"
import type { Json } from "../Json.ts"
import type * as ToolResult from "../ToolResult.ts"
import type { Next, Wrapper } from "../Wrapper.ts"
import * as Body from "./body.ts"
import type { Call } from "./call.ts"
import * as Cancellation from "./cancellation.ts"
import { failures } from "./failure.ts"
import { effectOf } from "./foreign.ts"
import * as Outcome from "./outcome.ts"
import type { Entry } from "./registry.ts"
import { dropped, quiescence, tie } from "./tie.ts"
import { accept, encode } from "./value.ts"
import * as Ward from "./ward.ts"
import { FiberWork, type Work } from "./work.ts"

/** Runs the wrappers around the body, and yields what is then the call's success. */
export const delegate = (call: Call, entry: Entry, parameters: unknown): Effect.Effect<Outcome.Succeeded, unknown> => {
  const { wrappers } = call.registry.services
  const body = Effect.flatMap(dispatch(call, entry, parameters), (value) => encode(call, entry, value))
  if (wrappers.length === 0) return body
  let produced: Outcome.Succeeded | undefined
  const innermost = Effect.map(body, (success) => {
    produced = success
    return success.value
  })
  const all = wrappers.reduceRight<() => Effect.Effect<Json, unknown>>(
    (inner, wrapper) => () => around(call, wrapper, inner),
    () => innermost
  )
  // What the body yielded was checked then; what a wrapper made up is checked like a body's value.
  return Effect.flatMap(
    all(),
    (value) =>
      produced !== undefined && Object.is(value, produced.value) ? Effect.succeed(produced) : accept(call, value)
  )
}

/** One run of a wrapper: what its `next` started last, and whether the wrapper has settled. */
interface Level {
  readonly name: string
  inner: Work<Json, unknown> | undefined
  over: boolean
}

const around = (
  call: Call,
  wrapper: Wrapper,
  inner: () => Effect.Effect<Json, unknown>
): Effect.Effect<Json, unknown> =>
  Effect.withFiber((fiber) => {
    const level: Level = { name: wrapper.name || "an anonymous wrapper", inner: undefined, over: false }
    const next = Effect.suspend(() => {
      const { inner: running } = level
      if (level.over) return Effect.fail(refuse(call, `${level.name} ran \`next\` after it had settled`))
      if (running === undefined || running.exit !== undefined) {
        return belonging(call, () => level.inner = new FiberWork<Json, unknown>(inner(), {}))
      }
      // Refused only now that the first run is quiet, so that whatever the wrapper does next does not overlap it.
      return Effect.flatMap(
        quiescence(running),
        () => Effect.fail(refuse(call, `${level.name} ran \`next\` while its previous run was not quiet`))
      )
    })
    // The fiber has the lease in its context: it is the ward.
    const run = effectOf(() => wrapper(next as Next, call.pending) as Effect.Effect<Json, unknown>)
    return Effect.onExit(run, (exit) => settle(level, exit, fiber))
  })

/**
 * A wrapper that settles does not end the call while a `next` it started still runs. And where it was interrupted it does
 * not hide what that failed with meanwhile, unless a handler took it: what was dropped on the way stands beside its exit.
 */
const settle = (
  level: Level,
  exit: Exit.Exit<Json, unknown>,
  fiber: Fiber.Fiber<unknown, unknown>
): Effect.Effect<unknown, unknown> => {
  level.over = true
  const { inner } = level
  if (inner === undefined) return Effect.void
  const conclude = () =>
    exit._tag === "Failure" && failures(exit.cause).length === 0 ? Effect.failCause(dropped(inner, fiber)) : Effect.void
  if (inner.exit !== undefined) return conclude()
  inner.interrupt(Cancellation.make({ _tag: "Wrapper", cause: Cancellation.abortError(`${level.name} has settled`) }))
  return Effect.flatMap(quiescence(inner), conclude)
}

const refuse = (call: Call, message: string): ToolResult.ToolCallFailed =>
  call.toError(Outcome.wrapperFailed(new Error(message)))

/**
 * Starts work of the call and awaits it. It does not run when the call or the work around it is being cancelled: an
 * interrupted wrapper's handlers may still try. Nor when the call has got past this: what a wrapper left may try then.
 */
const belonging = <A, E>(call: Call, make: () => Work<A, E>): Effect.Effect<A, E> =>
  tie((context) => {
    call.hear()
    const work = make()
    const cancellation = call.cancellation ?? Ward.cancellationOf(Ward.of(context)) ??
      (call.attempted ? late : undefined)
    if (cancellation === undefined) call.track(work)
    else work.interrupt(cancellation)
    return work
  })

const late = Cancellation.make({ _tag: "Wrapper", cause: Cancellation.abortError("the call is over") })

/** Journal, then body. The mark is written once, also when a wrapper retries. */
const dispatch = (call: Call, entry: Entry, parameters: unknown): Effect.Effect<unknown, ToolResult.ToolCallFailed> =>
  Effect.withFiber((fiber) => {
    const journal = fiber.getRef(Journal.Current)
    const invoke = belonging(call, () => Body.run(call, entry, parameters))
    if (call.journaled || journal === Journal.none) return invoke
    const mark = belonging(
      call,
      () =>
        new FiberWork<void, ToolResult.ToolCallFailed>(effectOf(() => journal.dispatching(call.pending)), {
          failure: (thrown) => call.toError(Outcome.wrapperFailed(thrown))
        })
    )
    return Effect.flatMap(mark, () => {
      call.journaled = true
      return invoke
    })
  })
