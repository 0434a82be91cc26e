/**
 * What host and isolate say to each other. Both sides count tasks, so that what is left over from one is not taken for
 * the next one's.
 */
import * as Schema from "effect/Schema"
import { Thrown } from "../../TaskFailed.ts"

/** Where a process has its end of the channel: behind its streams, the lifeline and the heirloom. */
export const channelDescriptor = 5

/** From the host. `Cancel` asks the body to stop through its signal. */
export type Order =
  | {
    readonly _tag: "Run"
    readonly task: number
    readonly module: string
    readonly name: string
    readonly input: unknown
  }
  | { readonly _tag: "Cancel"; readonly task: number }

/** From the isolate, where code runs that is not ours: what does not decode is not listened to. */
export const Report = Schema.TaggedUnion({
  Ready: {},
  /** The task begins: from here on it may have done something. */
  Started: { task: Schema.Number },
  Progress: {
    task: Schema.Number,
    progress: Schema.Number,
    total: Schema.optionalKey(Schema.Number),
    message: Schema.optionalKey(Schema.String)
  },
  Done: { task: Schema.Number, value: Schema.Unknown },
  Failed: { task: Schema.Number, reason: Schema.Literals(["Threw", "NotLoaded", "NotJson"]), thrown: Thrown }
})
export type Report = typeof Report.Type
