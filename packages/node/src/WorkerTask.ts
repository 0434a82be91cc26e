/**
 * Functions that run in threads of a pool, and can be stopped whatever they do.
 *
 * A task is a function that a module exports; its input and its result are JSON. A task that is interrupted is asked to
 * stop through its signal, and after a grace its thread is ended; either way the interrupter waits until it has
 * stopped. A thread runs one task at a time, and one that was ended is replaced by a new one.
 *
 * Threads share the memory of their process: one that allocates without end takes the process with it. Code that may
 * do so belongs into a process (`Isolated`).
 */
import type * as ToolCall from "@quiesce/core/ToolCall"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Pool from "effect/Pool"
import type * as Scope from "effect/Scope"
import * as Os from "node:os"
import * as Isolate from "./internal/isolate/isolate.ts"
import * as Worker from "./internal/isolate/worker.ts"
import type { TaskFailed } from "./TaskFailed.ts"

export interface Options {
  /** The module the tasks are exported by, as a URL: `new URL("./tasks.js", import.meta.url)`. */
  readonly module: URL
  /** How many tasks run at once. Default: one less than there are processors. */
  readonly size?: number | undefined
  /** How many threads are kept while there is nothing to do. Default: 1. */
  readonly warm?: number | undefined
  /** How long the others are kept. Default: 30 seconds. */
  readonly idle?: Duration.Input | undefined
  /** How long a task that is asked to stop may take, before its thread is ended. Default: 1 second. */
  readonly grace?: Duration.Input | undefined
  /** Names of variables of this process that the threads see besides the short list of `Command.inherited`. */
  readonly inherit?: ReadonlyArray<string> | undefined
}

export interface RunOptions {
  readonly onProgress?: ((progress: ToolCall.Progress) => void) | undefined
}

export interface WorkerTask {
  /**
   * Runs the task that the module exports as `name`. Where all threads are busy it waits for one, in turn.
   *
   * **Errors**: `TaskFailed`. A thread that crashes fails the task that ran in it, and no other.
   *
   * **Interruption**: of a wait, leaves the queue. Of a task, asks it to stop, after the grace ends its thread, and waits
   * for either: at most the grace and an instant, unless it is in a native call that blocks.
   */
  readonly run: (name: string, input: unknown, options?: RunOptions) => Effect.Effect<unknown, TaskFailed>
}

export const WorkerTask: Context.Service<WorkerTask, WorkerTask> = Context.Service("@quiesce/node/WorkerTask")

const defaults = { warm: 1, idle: Duration.seconds(30), grace: Duration.seconds(1) }

/** Makes a pool; closing its scope interrupts its tasks and ends its threads. */
export const make = Effect.fnUntraced(function*(options: Options): Effect.fn.Return<WorkerTask, never, Scope.Scope> {
  const size = options.size ?? Math.max(1, Os.availableParallelism() - 1)
  const grace = Duration.fromInputUnsafe(options.grace ?? defaults.grace)
  const pool = yield* Pool.makeWithTTL({
    acquire: Worker.make({ inherit: options.inherit ?? [] }),
    min: Math.min(size, options.warm ?? defaults.warm),
    max: size,
    timeToLive: options.idle ?? defaults.idle
  })

  const attempt = Effect.fnUntraced(function*(task: Isolate.Task) {
    const worker = yield* Pool.get(pool)
    // A thread that ended, whatever ended it, runs nothing any more.
    const retire = Effect.suspend(() =>
      Deferred.isDoneUnsafe(worker.ended) ? Pool.invalidate(pool, worker) : Effect.void
    )
    return yield* Effect.ensuring(Isolate.run(worker, task), retire)
  }, Effect.scoped)

  // A thread can end while it is idle, or in the instant it is given a task: what a task left behind in it may fail at
  // any time. The new task has not begun then, and is given to another thread.
  // The mask keeps the handler from being skipped, and a late failure from being dropped with it.
  const runTask = (task: Isolate.Task): Effect.Effect<unknown, TaskFailed> =>
    Effect.uninterruptibleMask((restore) => {
      const loop: Effect.Effect<unknown, TaskFailed> = Effect.catchTag(restore(attempt(task)), "NotStarted", () => loop)
      return loop
    })

  // The pool's scope owns the tasks too, so that closing it interrupts them instead of waiting for them.
  const scope = yield* Effect.scope
  const run: WorkerTask["run"] = (name, input, { onProgress = () => {} } = {}) =>
    // Only the wait can be interrupted: a task that was forked must not be left before there is somebody to stop it.
    Effect.uninterruptibleMask((restore) =>
      Effect.flatMap(
        Effect.forkIn(runTask({ module: options.module.href, name, input, grace, onProgress }), scope),
        (fiber) => joined(fiber, restore(Fiber.join(fiber)))
      )
    )
  return { run }
})

/** Waits with `join`, and takes over its interruption: what `fiber` then fails with is kept beside the interruption. */
const joined = <A, E>(fiber: Fiber.Fiber<A, E>, join: Effect.Effect<A, E>): Effect.Effect<A, E> =>
  Effect.onExit(join, (exit) =>
    Exit.hasInterrupts(exit)
      ? Effect.flatMap(Effect.andThen(Fiber.interrupt(fiber), Fiber.await(fiber)), (late) =>
        Option.match(Exit.findErrorOption(late), { onNone: () => Effect.void, onSome: Effect.fail }))
      : Effect.void)

export const layer = (options: Options): Layer.Layer<WorkerTask> => Layer.effect(WorkerTask, make(options))
