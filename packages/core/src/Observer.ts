/**
 * Who hears of outcomes, and of calls that were cancelled and are not quiet yet.
 *
 * Observers are started with the very object the caller gets, before the caller gets it, and are not waited for: one
 * that throws, rejects or hangs changes nothing.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Abortable from "./Abortable.ts"
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

/** An observer that is a promise function. */
export const fromPromise = (
  settled: (call: ToolCall.Pending, result: ToolResult.ToolResult) => PromiseLike<void> | void
): Observer =>
(call, result) => Effect.orDie(Abortable.promise(() => settled(call, result)))

/** The observers that a registry captures when it is built; `ToolRegistry.observe` adds others. Default: none. */
export const current: Context.Reference<ReadonlyArray<Observer>> = Context.Reference<ReadonlyArray<Observer>>(
  "@quiesce/core/Observer",
  { defaultValue: () => [] }
)

/** Sets the observers. Merged with another `layer` only the last one stays: libraries add theirs by `observe`. */
export const layer = (...observers: ReadonlyArray<Observer>): Layer.Layer<never> => Layer.succeed(current, observers)
