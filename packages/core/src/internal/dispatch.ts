/**
 * The middle of the pipeline: wrappers( journal, body ).
 *
 * Whatever is started here is work that belongs to the call, tied to whoever awaits it. So it can be interrupted on
 * whatever fiber and in whatever region a wrapper runs it, and nothing counts as over before it is quiet.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import { identity } from "effect/Function"
import * as Scope from "effect/Scope"
import * as Journal from "../Journal.ts"
import type { Json } from "../Json.ts"
import type * as ToolResult from "../ToolResult.ts"
import type { Next, Wrapper } from "../Wrapper.ts"
import type { Call } from "./call.ts"
import * as Cancellation from "./cancellation.ts"
import { yielding } from "./context.ts"
import { Deadline } from "./deadline.ts"
import { failures } from "./failure.ts"
import { begin, effectOf } from "./foreign.ts"
import * as Outcome from "./outcome.ts"
import type { Entry } from "./registry.ts"
import { Running } from "./running.ts"
import { dropped, quiescence, tie } from "./tie.ts"
import { accept, encode, writeFailure } from "./value.ts"
import * as Ward from "./ward.ts"
import { type Expiry, FiberWork, type Options, PromiseWork, type Work } from "./work.ts"

/** Runs the wrappers around the body, and yields what is then the call's success. */
export const delegate = (call: Call, entry: Entry, parameters: unknown): Effect.Effect<Outcome.Succeeded, unknown> => {
  const { wrappers } = call.registry.services
  const body = Effect.flatMap(run(call, entry, parameters), (value) => encode(call, entry, value))
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
const run = (call: Call, entry: Entry, parameters: unknown): Effect.Effect<unknown, ToolResult.ToolCallFailed> =>
  Effect.withFiber((fiber) => {
    const journal = fiber.getRef(Journal.Current)
    const invoke = belonging(call, () => new Run(call, entry, parameters).work)
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

/** One run of the body: as work, and what that asks for. */
class Run implements Options<ToolResult.ToolCallFailed> {
  readonly owns: Ward.Owner
  readonly expiry: Expiry<ToolResult.ToolCallFailed> | undefined = undefined
  readonly work: Work<unknown, ToolResult.ToolCallFailed>
  readonly #call: Call
  readonly #entry: Entry
  readonly #parameters: unknown
  /** That of a body which is an effect, once it has begun. */
  #scope: Scope.Scope | undefined = undefined
  #written: { readonly thrown: unknown; readonly json: Json | undefined } | undefined = undefined

  constructor(call: Call, entry: Entry, parameters: unknown) {
    this.#call = call
    this.#entry = entry
    this.#parameters = parameters
    this.owns = new Ward.Owner(call)
    const { body, timeout } = entry.definition
    const { listsTimeout, wrappers } = call.registry.services
    // Where `Wrapper.timeout` is listed, the budget is enforced there.
    if (timeout !== undefined && !listsTimeout) {
      this.expiry = new Deadline(timeout, "TOOL_TIMEOUT", (exceeded) => call.toError(Outcome.timedOut(exceeded)))
    }
    const wrapped = wrappers.length === 0 ? identity : yielding
    call.body = this.work = body._tag === "Promise"
      ? new PromiseWork<unknown, ToolResult.ToolCallFailed>(() => this.#invoke(), this)
      : new FiberWork<unknown, ToolResult.ToolCallFailed>(
        wrapped(Effect.scoped(Effect.withFiber((fiber) => {
          this.#scope = Context.getOrUndefined(fiber.context, Scope.Scope)
          return begin(() => this.#invoke() as Effect.Effect<unknown, unknown>)
        }))),
        this
      )
  }

  /** Whoever is told of the stage, a tracer for one, may cancel. The check, the mark and the invocation are one operation. */
  #invoke(): unknown {
    const call = this.#call
    call.enter("body")
    call.hear()
    if (this.work.cancellation !== undefined) throw this.work.cancellation.abortReason
    call.dispatched = true
    return this.#entry.definition.body.execute(this.#parameters, new Running(call, this.work))
  }

  prepare(thrown: unknown, done: () => void): void {
    close(this.#call, this.#scope, thrown, () => {
      if (this.#entry.definition.failure === undefined) return done()
      writeFailure(this.#call, this.#entry, this.work, thrown, (json) => {
        this.#written = { thrown, json }
        done()
      })
    })
  }

  failure(thrown: unknown): ToolResult.ToolCallFailed {
    const written = this.#written
    return this.#call.toError(
      this.#entry.definition.failure === undefined
        ? Outcome.toolFailed(thrown)
        : Outcome.toolFailedAs(thrown, Object.is(written?.thrown, thrown) ? written?.json : undefined)
    )
  }
}

/** Calls `done` once `scope` is closed. It is by then, unless the body ended its fiber past every finalizer. */
const close = (call: Call, scope: Scope.Scope | undefined, thrown: unknown, done: () => void): void => {
  if (scope === undefined || scope.state._tag === "Closed") return done()
  const closing = Scope.close(scope as Scope.Closeable, Exit.die(thrown))
  Effect.runForkWith(call.services)(closing, { uninterruptible: true }).addObserver(done)
}
