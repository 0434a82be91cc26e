/**
 * A place to run code that may not stop by itself, and the one way to run something in it.
 *
 * Invariants: (1) An isolate runs one task at a time. (2) A task is over when its report is there or the isolate has
 * ended, and not before; so whoever cancels it waits for one of the two. (3) An isolate that had to be ended, or ended
 * by itself, runs nothing any more: an end that was meant for one task cannot hit the next.
 */
import type * as ToolCall from "@quiesce/core/ToolCall"
import * as Data from "effect/Data"
import * as Deferred from "effect/Deferred"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { TaskFailed } from "../../TaskFailed.ts"
import { type Order, Report } from "./protocol.ts"

export interface Isolate {
  /** Counts its tasks. */
  readonly nextTask: () => number
  readonly post: (order: Order) => void
  /** Who hears the reports; one listener at a time, since there is one task at a time. */
  readonly listen: (listener: ((report: Report) => void) | undefined) => void
  /** What its end means for a task that was not done; completed once nothing of it runs any more. */
  readonly ended: Deferred.Deferred<TaskFailed>
  /** Ends it, whatever it is doing, and waits until it has ended. */
  readonly end: Effect.Effect<void>
}

/** The isolate ended before the task began: it can be run elsewhere. */
export class NotStarted extends Data.TaggedError("NotStarted")<{ readonly failure: TaskFailed }> {}

export interface Task {
  readonly module: string
  readonly name: string
  readonly input: unknown
  readonly grace: Duration.Duration
  readonly onProgress: (progress: ToolCall.Progress) => void
}

const decode = Schema.decodeUnknownOption(Report)

/** Reads what an isolate sent. */
export const toReport = (message: unknown): Report | undefined => Option.getOrUndefined(decode(message))

/**
 * Runs `task` in `isolate`, which must be idle. What `onProgress` throws is a defect, and the task is stopped.
 *
 * **Interruption**: asks the task to stop; after its grace ends the isolate; waits for the one or the other. What the
 * task then fails with, other than the abort itself, is kept beside the interruption.
 */
export const run = (isolate: Isolate, task: Task): Effect.Effect<unknown, TaskFailed | NotStarted> =>
  // Only the wait can be interrupted: a task that was posted must not be left before there is somebody to stop it.
  Effect.uninterruptibleMask((restore) => {
    const id = isolate.nextTask()
    let started = false
    const settled = Deferred.makeUnsafe<unknown, TaskFailed>()
    const broken = Deferred.makeUnsafe<never>()
    isolate.listen((report) => {
      if (report._tag === "Ready" || report.task !== id) return
      switch (report._tag) {
        case "Started":
          started = true
          break
        case "Progress": {
          const { _tag, task: _, ...progress } = report
          try {
            task.onProgress(progress)
          } catch (defect) {
            // This is an event of the isolate, and nobody is above it who would catch.
            Deferred.doneUnsafe(broken, Exit.die(defect))
          }
          break
        }
        case "Done":
          Deferred.doneUnsafe(settled, Exit.succeed(report.value))
          break
        case "Failed":
          Deferred.doneUnsafe(settled, Exit.fail(new TaskFailed({ reason: report.reason, thrown: report.thrown })))
          break
      }
    })
    const result = Effect.raceFirst(
      Deferred.await(settled),
      Effect.flatMap(
        Deferred.await(isolate.ended),
        (failure): Effect.Effect<never, TaskFailed | NotStarted> =>
          Effect.fail(started ? failure : new NotStarted({ failure }))
      )
    )
    const { input, module, name } = task
    try {
      isolate.post({ _tag: "Run", task: id, module, name, input })
    } catch (error) {
      isolate.listen(undefined)
      return Effect.fail(new TaskFailed({ reason: "NotJson", thrown: { name: "Error", message: String(error) } }))
    }
    const stop = Effect.gen(function*() {
      isolate.post({ _tag: "Cancel", task: id })
      const late = yield* Effect.timeoutOption(Effect.exit(result), task.grace)
      if (Option.isNone(late)) return yield* isolate.end
      const failure = Exit.findErrorOption(late.value)
      if (Option.isSome(failure) && isOwn(failure.value)) return yield* Effect.fail(failure.value)
    })
    return restore(Effect.raceFirst(result, Deferred.await(broken))).pipe(
      Effect.onExit((exit) => Exit.hasInterrupts(exit) || Exit.hasDies(exit) ? stop : Effect.void),
      Effect.ensuring(Effect.sync(() => isolate.listen(undefined)))
    )
  })

/** The task failed by itself, and not with what it was asked for: the abort, or the end of its isolate. */
const isOwn = (failure: TaskFailed | NotStarted): boolean =>
  failure._tag === "TaskFailed" && failure.reason === "Threw" && failure.thrown.name !== "AbortError" &&
  failure.thrown.code !== "ABORT_ERR"
