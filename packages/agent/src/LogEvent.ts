/**
 * What a session's log is made of.
 *
 * An event cites others by their sequence number, which is the identity of a turn and of a call: a `callId` is the
 * model's label, and models repeat themselves. The calls of a step follow the `assistant` event they came with, directly
 * and in the model's order; their marks and results follow in the order in which they happened.
 */
import type { Json } from "@quiesce/core/Json"
import * as ToolResult from "@quiesce/core/ToolResult"
import * as Schema from "effect/Schema"

/** The sequence number of an event of this log. */
export const Seq = Schema.Int.check(Schema.isGreaterThan(0))
export type Seq = number

/**
 * The arguments of a call as the model gave them.
 *
 * `Incomplete`: the text broke off, or does not parse. `NotJson`: the host made a value of it that JSON cannot carry.
 * Neither can run.
 */
export const Arguments = Schema.Union([
  Schema.TaggedStruct("Complete", { json: Schema.Json as Schema.Codec<Json> }),
  Schema.TaggedStruct("Incomplete", { text: Schema.String }),
  Schema.TaggedStruct("NotJson", { problem: Schema.String })
])
export type Arguments = typeof Arguments.Type

/** How a turn ended. `crashed`: its process did, and the next one closed it. */
export const Ending = Schema.Literals(["completed", "cancelled", "failed", "crashed"])
export type Ending = typeof Ending.Type

export const TurnStart = Schema.TaggedStruct("turn/start", {})

export const TurnEnd = Schema.TaggedStruct("turn/end", { turn: Seq, ending: Ending })

/** What a user said: what the turn is about, or while it ran. */
export const Input = Schema.TaggedStruct("input", { turn: Seq, text: Schema.String })

/** What the model said in one step. Its calls come next. */
export const Assistant = Schema.TaggedStruct("assistant", { turn: Seq, text: Schema.String })

export const Call = Schema.TaggedStruct("tool/call", {
  turn: Seq,
  callId: Schema.String,
  name: Schema.String,
  arguments: Arguments
})

/** The body of `call` may have run from here on. */
export const Dispatched = Schema.TaggedStruct("tool/dispatched", { call: Seq })

/** The one outcome of `call`. */
export const Result = Schema.TaggedStruct("tool/result", { call: Seq, result: ToolResult.ToolResult })

export const LogEvent = Schema.Union([TurnStart, TurnEnd, Input, Assistant, Call, Dispatched, Result])
export type LogEvent = typeof LogEvent.Type

/** An event in its place. */
export const Entry = Schema.Struct({
  seq: Seq,
  /** The time of the clock when it was written. */
  atMillis: Schema.Finite,
  event: LogEvent
})
export interface Entry {
  readonly seq: Seq
  readonly atMillis: number
  readonly event: LogEvent
}

/** Whether an event must be on the disk, and not only with the system, before it is acknowledged. */
export const isDurable = ({ _tag }: LogEvent): boolean => _tag === "tool/dispatched" || _tag === "tool/result"
