/**
 * An isolate that is a thread of this process. Whatever JavaScript does in it can be ended at once; a native call that
 * blocks has to return first.
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Scope from "effect/Scope"
import { Worker } from "node:worker_threads"
import { TaskFailed } from "../../TaskFailed.ts"
import * as Environment from "../environment.ts"
import * as Programs from "../programs.ts"
import { type Isolate, toReport } from "./isolate.ts"
import type { Report } from "./protocol.ts"
import { describe } from "./thrown.ts"

export interface Options {
  /** Names of variables of this process that it sees besides the short list. */
  readonly inherit: ReadonlyArray<string>
}

/**
 * Starts a worker and waits until it is ready; closing the scope ends it.
 *
 * It has no limit of memory, since that would promise too much: V8 ends the whole process when a thread allocates
 * faster than it is ended (`resourceLimits` held against many small objects, and not against arrays).
 */
export const make = (options: Options): Effect.Effect<Isolate, TaskFailed, Scope.Scope> =>
  Effect.gen(function*() {
    const ready = Deferred.makeUnsafe<void, TaskFailed>()
    const isolate = yield* Effect.acquireRelease(start(options, ready), (isolate) => isolate.end)
    yield* Deferred.await(ready)
    return isolate
  })

const start = (options: Options, ready: Deferred.Deferred<void, TaskFailed>): Effect.Effect<Isolate> =>
  Effect.sync(() => {
    const worker = new Worker(Programs.isolate, {
      env: { ...Environment.inheritedFrom(process.env, options.inherit) },
      // Flags of this process are none of its business, and some of them a worker does not take.
      execArgv: [],
      // What it prints is kept out of this process's own output, which may be a protocol.
      stdout: true,
      stderr: true
    })
    worker.stdout.resume()
    worker.stderr.resume()
    const ended = Deferred.makeUnsafe<TaskFailed>()
    let tasks = 0
    let listener: ((report: Report) => void) | undefined
    let last: { readonly error: unknown } | undefined
    worker.on("message", (message) => {
      const report = toReport(message)
      if (report?._tag === "Ready") Deferred.doneUnsafe(ready, Effect.void)
      if (report !== undefined) listener?.(report)
    })
    worker.on("error", (error: unknown) => {
      last = { error }
    })
    worker.on("exit", (code) => {
      const failure = toFailure(last, code)
      Deferred.doneUnsafe(ended, Exit.succeed(failure))
      Deferred.doneUnsafe(ready, Exit.fail(failure))
    })
    return {
      nextTask: () => ++tasks,
      post: (order) => worker.postMessage(order),
      listen: (next) => {
        listener = next
      },
      ended,
      end: Effect.suspend(() => {
        void worker.terminate()
        return Effect.asVoid(Deferred.await(ended))
      })
    }
  })

const toFailure = (last: { readonly error: unknown } | undefined, code: number): TaskFailed =>
  new TaskFailed({
    reason: "Crashed",
    thrown: last === undefined ? { name: "Error", message: `the worker ended with code ${code}` } : describe(last.error)
  })
