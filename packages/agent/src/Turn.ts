/**
 * A turn: what a model says and calls, step by step, from an input to its end.
 *
 * The calls of a step run on the registry in a bounded pool. They are started in the model's order, each once the one
 * before is past its approval; they end in any order, and become visible in the model's. Whatever happens, every call
 * has one result in the log, except where the log itself fails.
 */
import type { CancelReason } from "@quiesce/core/CancelReason"
import type { Json } from "@quiesce/core/Json"
import type * as ToolCall from "@quiesce/core/ToolCall"
import * as ToolRegistry from "@quiesce/core/ToolRegistry"
import type * as ToolResult from "@quiesce/core/ToolResult"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type * as Stream from "effect/Stream"
import { Driver } from "./internal/driver.ts"
import type { AppendError } from "./LogError.ts"
import type { Seq } from "./LogEvent.ts"
import * as SessionLog from "./SessionLog.ts"

/** Who cancelled a turn: its user, what it is a part of, or the end of its session. */
export type Cause = "user" | "parent" | "disposed"

/** The arguments of a call, and whether the model got to their end. */
export type Arguments =
  | { readonly _tag: "Complete"; readonly json: unknown }
  /** As far as they came. Recorded as they are, and never run. */
  | { readonly _tag: "Incomplete"; readonly text: string }

/** A call as the model asked for it. `callId` is its label, and may be that of another call too. */
export interface Request {
  readonly callId: string
  readonly name: string
  readonly arguments: Arguments
  /** For policies, wrappers and observers; a model never sees it. */
  readonly metadata?: { readonly [key: string]: Json } | undefined
}

/** What the model said in one step. */
export interface Assistant {
  readonly text?: string | undefined
  readonly calls: ReadonlyArray<Request>
}

export interface Options {
  /** How many calls run at once. 1: one after the other. Default: 8, which is more than models ask for at a time. */
  readonly maxParallel?: number | undefined
  /**
   * What the failure of a call means for the other calls of its step. `continue`, the default: nothing. `skip`: those
   * that have not started are answered and not run. `cancel`: those that run are cancelled too. A call that was denied or
   * cancelled is no failure: somebody wanted that.
   */
  readonly onFailure?: "continue" | "skip" | "cancel" | undefined
}

/** What became of a step. */
export interface Outcome {
  /** In the model's order. */
  readonly results: ReadonlyArray<ToolResult.ToolResult>
  /** What the calls deferred, in the model's order. */
  readonly contexts: ReadonlyArray<Json>
  /** A call that succeeded said that the turn should end. */
  readonly concludes: boolean
  /** Who cancelled the turn, if somebody did. */
  readonly cancelled: Cause | undefined
}

interface Of {
  /** The call in the log. */
  readonly call: Seq
  readonly callId: string
  readonly name: string
}

export type Event =
  /** The model asked for it, and it is in the log. */
  | Of & { readonly _tag: "Called" }
  | Of & { readonly _tag: "Started" }
  /** Where the call is now. A call may pass through some stages too fast to be seen in them. */
  | Of & Pick<ToolRegistry.InFlight, "stage" | "sinceMillis" | "cancelling"> & { readonly _tag: "Stage" }
  | Of & { readonly _tag: "Progress"; readonly progress: ToolCall.Progress }
  /** It is quiet, and its result is in the log. In the order in which that happens. */
  | Of & { readonly _tag: "Settled"; readonly result: ToolResult.ToolResult }
  /** Its result and those of all calls before it can be seen. In the model's order. */
  | Of & { readonly _tag: "Committed"; readonly result: ToolResult.ToolResult }
  | { readonly _tag: "Cancelled"; readonly cause: Cause }

/** A turn was given options that make no sense. */
export class InvalidOptions extends Data.TaggedError("InvalidOptions")<{ readonly problem: string }> {
  override get message(): string {
    return this.problem
  }
}

/** A turn that runs. It ends, in the log too, when the scope it was made in closes. */
export interface Turn {
  /** The turn in the log. */
  readonly seq: Seq
  /** Stores what the user says in it. Waits for a step that runs: a call and its result stay together. */
  readonly input: (text: string) => Effect.Effect<void, AppendError>
  /**
   * Stores what the model said, runs its calls, and waits until every one of them is quiet and its result is stored. In a
   * turn that was cancelled nothing runs, and every call is answered.
   *
   * **Errors**: the log failed. What had started was waited for; what has no result in the log gets one by recovery.
   *
   * **Interruption**: cancels the turn (`parent`), and waits like anybody else.
   */
  readonly step: (assistant: Assistant) => Effect.Effect<Outcome, AppendError>
  /**
   * Asks the turn to stop: nothing starts any more, and what has started is cancelled. The first cause counts, but for
   * `disposed`, which outranks the others. Returns when that was passed on; `step` says when it has stopped.
   */
  readonly cancel: (cause: Cause) => Effect.Effect<void>
  /** Cancels the calls with this label or number and no other; returns how many it reached. */
  readonly cancelCall: (call: Seq | string, reason?: CancelReason) => Effect.Effect<number>
  readonly cancelled: Effect.Effect<Cause | undefined>
  /** What happened and happens in the turn, to its end. */
  readonly events: Stream.Stream<Event>
}

/** The arguments as a value, from a model that got to their end. */
export const complete = (json: unknown): Arguments => ({ _tag: "Complete", json })

/** The arguments as far as they came. */
export const incomplete = (text: string): Arguments => ({ _tag: "Incomplete", text })

/** The arguments as text from a model that says it got to their end. Text that does not parse did not. */
export const parse = (text: string): Arguments => {
  try {
    return complete(JSON.parse(text))
  } catch {
    return incomplete(text)
  }
}

/**
 * Begins a turn in the log. Closing the scope cancels it (`parent`) if it still runs, waits until it is quiet, and ends it
 * in the log: as cancelled, as failed where the scope closes with a failure, or as completed.
 *
 * **Errors**: the log failed or has a turn that has not ended: turns of one log never overlap. Options that make no sense
 * are a defect.
 */
export const make = Effect.fnUntraced(function*(
  options: Options = {}
): Effect.fn.Return<Turn, AppendError, ToolRegistry.ToolRegistry | SessionLog.SessionLog | Scope.Scope> {
  const maxParallel = options.maxParallel ?? 8
  if (!Number.isInteger(maxParallel) || maxParallel < 1) {
    return yield* Effect.die(new InvalidOptions({ problem: `maxParallel is ${maxParallel}, and must be 1 or more` }))
  }
  const log = yield* SessionLog.SessionLog
  const registry = yield* ToolRegistry.ToolRegistry
  const onFailure = options.onFailure ?? "continue"
  const begin = Effect.map(
    log.append({ _tag: "turn/start" }),
    ([entry]) => new Driver({ log, registry, seq: entry!.seq, maxParallel, onFailure })
  )
  return yield* Effect.acquireRelease(begin, (driver, exit) => driver.end(exit))
})

/** A turn of one step. */
export const run = (
  assistant: Assistant,
  options?: Options
): Effect.Effect<Outcome, AppendError, ToolRegistry.ToolRegistry | SessionLog.SessionLog> =>
  Effect.scoped(Effect.flatMap(make(options), (turn) => turn.step(assistant)))
