/**
 * A mark that is durable before the body runs, so that a later reader can tell a call that may have had effects from
 * one that never ran.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as ToolCall from "./ToolCall.ts"

export interface Journal {
  /**
   * Awaited directly before the body, once per call, also when a wrapper retries. **Errors**: any failure prevents the
   * body and settles the call as WRAPPER_FAILURE. **Interruption**: cancelling the call interrupts it.
   */
  readonly dispatching: (call: ToolCall.Pending) => Effect.Effect<void, unknown>
}

/** Writes nothing. */
export const none: Journal = { dispatching: () => Effect.void }

/** Read from the context of whoever makes the call. Default: `none`. */
export const Current: Context.Reference<Journal> = Context.Reference<Journal>("@quiesce/core/Journal", {
  defaultValue: () => none
})
