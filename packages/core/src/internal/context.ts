/**
 * What a call takes from the context of whoever makes it, and what it must not take.
 *
 * A tool runs with the services it was registered with, captured then. A captured context also holds the clock, the
 * tracer and the log level of that moment, and these are not the tool's: they come from the caller, as does the journal
 * and the span to be inside of. Policy, approval, wrappers and observers come from neither: the registry has captured
 * them, and passing them on would make a registry inside a body look miswired.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Logger from "effect/Logger"
import * as Random from "effect/Random"
import * as References from "effect/References"
import * as Scheduler from "effect/Scheduler"
import * as Scope from "effect/Scope"
import * as Tracer from "effect/Tracer"
import * as Approval from "../Approval.ts"
import * as Journal from "../Journal.ts"
import * as Observer from "../Observer.ts"
import * as Policy from "../Policy.ts"
import * as Wrapper from "../Wrapper.ts"

const inherited: ReadonlyArray<Context.Key<any, any>> = [
  Clock.Clock,
  Scheduler.Scheduler,
  Scheduler.MaxOpsBeforeYield,
  Random.Random,
  Tracer.Tracer,
  Tracer.ParentSpan,
  References.TracerEnabled,
  References.TracerSpanAnnotations,
  References.TracerSpanLinks,
  References.TracerTimingEnabled,
  References.CurrentLogLevel,
  References.MinimumLogLevel,
  References.CurrentLogAnnotations,
  References.CurrentLogSpans,
  Logger.CurrentLoggers,
  Journal.Current
]

/** `base` with what a call inherits from `caller`. */
export const inherit = (base: Context.Context<never>, caller: Context.Context<never>): Context.Context<never> => {
  let result = base
  for (const key of inherited) {
    const value = Context.getOrUndefined(caller, key)
    if (value !== undefined) result = Context.add(result, key, value) as Context.Context<never>
  }
  return result
}

/**
 * What a registry or a registration captures of the context it is made in. A clock or a tracer stays in it, for callers
 * that have none (promise code); the spans and annotations of that moment do not: they are over.
 */
export const capture = (context: Context.Context<never>): Context.Context<never> =>
  Context.omit(
    Policy.Current,
    Approval.Current,
    Wrapper.Current,
    Observer.Current,
    Tracer.ParentSpan,
    References.CurrentLogAnnotations,
    References.CurrentLogSpans,
    Wrapper.Dispatch,
    Scope.Scope
  )(context as Context.Context<Tracer.ParentSpan | Wrapper.Dispatch | Scope.Scope>)

/**
 * For the fibers of wrappers: they do not yield between two operations of their own, where an interrupt would come
 * between one failure handler and the next and drop the failure. Each wait of theirs can be interrupted as ever.
 */
export const undivided = (context: Context.Context<never>): Context.Context<never> =>
  Context.add(context, Scheduler.PreventSchedulerYield, true) as Context.Context<never>

/** For a body inside wrappers, which yields like any other. */
export const yielding: <A, E>(body: Effect.Effect<A, E>) => Effect.Effect<A, E> = Effect.provideService(
  Scheduler.PreventSchedulerYield,
  false
)
