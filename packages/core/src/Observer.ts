/**
 * Who hears of outcomes, and of calls that were cancelled and are not quiet yet.
 *
 * Observers are started with the very object the caller gets, before the caller gets it, and are not waited for: one
 * that throws, rejects or hangs changes nothing.
 */
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"
import * as Abortable from "./Abortable.ts"
import { Token } from "./internal/token.ts"
import type * as ToolCall from "./ToolCall.ts"
import type * as ToolResult from "./ToolResult.ts"

/** A plain function is `{ settled }`. */
export type Observer =
  | ((call: ToolCall.Pending, result: ToolResult.ToolResult) => Effect.Effect<void>)
  | {
    readonly settled?: (call: ToolCall.Pending, result: ToolResult.ToolResult) => Effect.Effect<void>
    /** `sinceMillis`: the time of the clock at which the call was cancelled. */
    readonly notQuiescent?: (call: ToolCall.Pending, sinceMillis: number) => Effect.Effect<void>
    /** What a body reports through `call.progress`. */
    readonly progress?: (call: ToolCall.Pending, progress: ToolCall.Progress) => Effect.Effect<void>
  }

/** An observer that is a promise function. Its signal aborts when the registry shuts down. */
export const fromPromise = (
  settled: (
    call: ToolCall.Pending,
    result: ToolResult.ToolResult,
    signal: AbortSignal
  ) => PromiseLike<void> | void
): Observer =>
(call, result) => Effect.orDie(Abortable.promise((signal) => settled(call, result, signal)))

/**
 * Counts the calls that settle in the metric `quiesce_calls`, and measures in `quiesce_call_duration` how long they took
 * from their launch: both by `code`, which is `SUCCESS` or that of the failure. Not by tool: a model makes names up.
 */
export const metrics: Observer = (call, result) =>
  Effect.suspend(() => {
    const { clock, launchedMillis } = Token.call(call.token)
    const attributes = { code: result._tag === "Success" ? "SUCCESS" : result.error.code }
    return Effect.andThen(
      Metric.update(Metric.withAttributes(calls, attributes), 1),
      Metric.update(
        Metric.withAttributes(duration, attributes),
        Duration.millis(clock.currentTimeMillisUnsafe() - launchedMillis)
      )
    )
  })

const calls = Metric.counter("quiesce_calls", { description: "Calls that settled", incremental: true })

const duration = Metric.timer("quiesce_call_duration", { description: "From the launch of a call until it is quiet" })

/** The observers that a registry captures when it is built; `ToolRegistry.observe` adds others. Default: none. */
export const Current: Context.Reference<ReadonlyArray<Observer>> = Context.Reference<ReadonlyArray<Observer>>(
  "@quiesce/core/Observer",
  { defaultValue: () => [] }
)

/** Sets the observers. Merged with another `layer` only the last one stays: libraries add theirs by `observe`. */
export const layer = (...observers: ReadonlyArray<Observer>): Layer.Layer<never> => Layer.succeed(Current, observers)
