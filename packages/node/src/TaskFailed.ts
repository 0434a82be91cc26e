/**
 * The error of a task that ran in an isolate: a worker or a process of its own.
 */
import * as Schema from "effect/Schema"

/**
 * What the task threw, as far as it can leave the isolate. Anything can be thrown, so all of it is text and JSON.
 */
export const Thrown = Schema.Struct({
  name: Schema.String,
  message: Schema.String,
  code: Schema.optionalKey(Schema.String),
  stack: Schema.optionalKey(Schema.String)
})
export type Thrown = typeof Thrown.Type

/**
 * The task has no result.
 *
 * `Threw`: it failed by itself. `NotLoaded`: its module or its export is not there, or failed while it was loaded.
 * `NotJson`: what it was given, or what it gave, is not JSON. `Crashed`: its isolate ended under it, `OutOfMemory` for
 * want of memory.
 */
export class TaskFailed extends Schema.TaggedError<TaskFailed>("@quiesce/node/TaskFailed")("TaskFailed", {
  reason: Schema.Literals(["Threw", "NotLoaded", "NotJson", "Crashed", "OutOfMemory"]),
  thrown: Thrown
}) {
  override get message(): string {
    return `${this.thrown.name}: ${this.thrown.message}`
  }
}
