/**
 * The middle of the pipeline: wrappers( journal, body ).
 *
 * Whatever is started here is work that belongs to the call, tied to whoever awaits it. So it can be interrupted on
 * whatever fiber and in whatever region a wrapper runs it, and nothing counts as over before it is quiet.
 */
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import { identity } from "effect/Function"
import * as Journal from "../Journal.ts"
import type { Json } from "../Json.ts"
import type * as ToolResult from "../ToolResult.ts"
import type { Next, Wrapper } from "../Wrapper.ts"
import type { Call } from "./call.ts"
import * as Cancellation from "./cancellation.ts"
import { yielding } from "./context.ts"
import { expiry } from "./deadline.ts"
import { failures } from "./failure.ts"
import { begin, effectOf, known } from "./foreign.ts"
import { NotJson, snapshot } from "./json.ts"
import * as Outcome from "./outcome.ts"
import type { Entry } from "./registry.ts"
import { Running } from "./running.ts"
import * as Shape from "./shape.ts"
import { describe, isA } from "./thrown.ts"
import * as Ward from "./ward.ts"
import { dropped, FiberWork, type Options, PromiseWork, quiescence, tie, type Work } from "./work.ts"

/** Runs the wrappers around the body, and yields what is then the call's success. */
export const dispatch = (call: Call, entry: Entry, parameters: unknown): Effect.Effect<Outcome.Succeeded, unknown> => {
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
  call.issue(Outcome.wrapperFailed(new Error(message)))

/**
 * Starts work of the call and awaits it. It does not run when the call or the work around it is being cancelled: an
 * interrupted wrapper's handlers may still try.
 */
const belonging = <A, E>(call: Call, make: () => Work<A, E>): Effect.Effect<A, E> =>
  tie((context) => {
    call.hear()
    const work = make()
    const cancellation = call.cancellation ?? Ward.cancellationOf(Ward.of(context))
    if (cancellation === undefined) call.track(work)
    else work.interrupt(cancellation)
    return work
  })

/** Journal, then body. The mark is written once, also when a wrapper retries. */
const run = (call: Call, entry: Entry, parameters: unknown): Effect.Effect<unknown, ToolResult.ToolCallFailed> =>
  Effect.withFiber((fiber) => {
    const journal = fiber.getRef(Journal.Current)
    const invoke = belonging(call, () => bodyWork(call, entry, parameters))
    if (call.journaled || journal === Journal.none) return invoke
    const mark = belonging(
      call,
      () =>
        new FiberWork<void, ToolResult.ToolCallFailed>(effectOf(() => journal.dispatching(call.pending)), {
          failure: (thrown) => call.issue(Outcome.wrapperFailed(thrown))
        })
    )
    return Effect.flatMap(mark, () => {
      call.journaled = true
      return invoke
    })
  })

const bodyWork = (call: Call, entry: Entry, parameters: unknown): Work<unknown, ToolResult.ToolCallFailed> => {
  const { body, timeout } = entry.definition
  const { listsTimeout, wrappers } = call.registry.services
  const wrapped = wrappers.length === 0 ? identity : yielding
  const options: Options<ToolResult.ToolCallFailed> = {
    owner: new Ward.Owner(call),
    failure: (thrown) => call.issue(Outcome.toolFailed(thrown, encodeFailure(call, entry, thrown))),
    // Where `Wrapper.timeout` is listed, the budget is enforced there.
    expiry: timeout === undefined || listsTimeout
      ? undefined
      : expiry(timeout, "TOOL_TIMEOUT", (exceeded) => call.issue(Outcome.timedOut(exceeded)))
  }
  // The mark and the invocation are one operation: nothing can come in between.
  const execute = () => {
    call.enter("body")
    call.dispatched = true
    return body.execute(parameters, new Running(call, work))
  }
  const work: Work<unknown, ToolResult.ToolCallFailed> = body._tag === "Promise"
    ? new PromiseWork<unknown, ToolResult.ToolCallFailed>(execute, options)
    : new FiberWork<unknown, ToolResult.ToolCallFailed>(
      wrapped(Effect.scoped(effectOf(() => execute() as Effect.Effect<unknown, unknown>))),
      options
    )
  return call.body = work
}

/** The success of a body that returned `value`: as JSON, by the tool's schema. */
const encode = (
  call: Call,
  entry: Entry,
  value: unknown
): Effect.Effect<Outcome.Succeeded, ToolResult.ToolCallFailed> => {
  const conclude = (encoded: Exit.Exit<unknown, unknown>) =>
    encoded._tag === "Success"
      ? succeed(call, entry, encoded.value, value)
      : Effect.fail(call.issue(Outcome.invalidOutput(Shape.issuesOf(encoded.cause))))
  const encoding = begin(() => entry.definition.success.encode(value))
  const exit = known(encoding)
  return exit === undefined ? Effect.flatMap(Effect.exit(encoding), conclude) : conclude(exit)
}

/** The success of a call for which a wrapper or a policy made up `value`: checked like a body's. */
export const accept = (call: Call, value: unknown): Effect.Effect<Outcome.Succeeded, ToolResult.ToolCallFailed> =>
  Effect.suspend(() => {
    const entry = call.entry!
    let copied: unknown = value
    try {
      // First, so that what is checked is what is published: a getter can answer differently each time.
      copied = snapshot(value)
    } catch {
      // Not JSON: `succeed` says so.
    }
    return Effect.flatMap(Effect.exit(entry.definition.success.decode(copied)), (decoded) =>
      decoded._tag === "Success"
        ? succeed(call, entry, copied, decoded.value)
        : Effect.fail(call.issue(Outcome.invalidOutput(Shape.issuesOf(decoded.cause)))))
  })

const succeed = (
  call: Call,
  { definition: { render } }: Entry,
  encoded: unknown,
  decoded: unknown
): Effect.Effect<Outcome.Succeeded, ToolResult.ToolCallFailed> => {
  try {
    const value = snapshot(encoded)
    const content = render === undefined ? Outcome.text(JSON.stringify(value)) : Outcome.checkContent(render(decoded))
    return Effect.succeed({ _tag: "Success", value, content })
  } catch (thrown) {
    const issue = isA(thrown, NotJson)
      ? { path: thrown.path, message: thrown.problem }
      : { path: [], message: describe(thrown).message }
    return Effect.fail(call.issue(Outcome.invalidOutput([issue])))
  }
}

/** The failure as the tool's failure schema writes it; `undefined` where it does not, or not at once. */
const encodeFailure = (call: Call, { definition: { failure } }: Entry, thrown: unknown): Json | undefined => {
  if (failure === undefined) return undefined
  try {
    const fiber = Effect.runForkWith(call.services)(failure.encode(thrown))
    const encoded = fiber.pollUnsafe()
    if (encoded === undefined) fiber.interruptUnsafe()
    return encoded?._tag === "Success" ? snapshot(encoded.value) : undefined
  } catch {
    return undefined
  }
}
