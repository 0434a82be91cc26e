/**
 * An isolate that is a process: whatever it does, a native call that blocks included, can be ended, and so can whatever
 * it starts.
 */
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Scope from "effect/Scope"
import { fileURLToPath } from "node:url"
import * as Command from "../../Command.ts"
import * as Outcome from "../../Outcome.ts"
import * as Output from "../../Output.ts"
import { TaskFailed } from "../../TaskFailed.ts"
import * as Programs from "../programs.ts"
import * as Supervisor from "../supervisor.ts"
import { type Isolate, toReport } from "./isolate.ts"
import type { Report } from "./protocol.ts"

export interface Options {
  /** The most its JavaScript may keep in memory, in MiB. */
  readonly memory: number | undefined
  readonly inherit: ReadonlyArray<string>
  /** Hears of what may be alive when the isolate has ended, before it counts as ended. */
  readonly onResidue: (residue: Outcome.Residue) => void
}

/**
 * Time between SIGTERM and SIGKILL. By then the task was asked to stop and given its own grace; this is for what a
 * module does when its process is asked to end.
 */
export const endGrace = Duration.millis(250)

/** What it printed is only read for the last words of a crash. */
const maxBytes = 16 * 1024

/** Starts a process and waits until it is ready; closing the scope ends it. */
export const make = (options: Options): Effect.Effect<Isolate, TaskFailed, Scope.Scope> =>
  Effect.uninterruptibleMask(Effect.fnUntraced(function*(restore) {
    const memory = options.memory === undefined ? [] : [`--max-old-space-size=${options.memory}`]
    const command = Command.make(process.execPath, [...memory, fileURLToPath(Programs.isolate)], {
      inherit: options.inherit,
      grace: endGrace,
      maxBytes
    })
    const { child, outcome, stop } = yield* Effect.mapError(
      Supervisor.start(command, { stdin: "closed", output: "kept", channel: "piped" }),
      ({ code, message }) => new TaskFailed({ reason: "NotLoaded", thrown: { name: "SpawnFailed", message, code } })
    )

    const ready = Deferred.makeUnsafe<void, TaskFailed>()
    const ended = Deferred.makeUnsafe<TaskFailed>()
    let listener: ((report: Report) => void) | undefined
    let tasks = 0
    const broken = Deferred.makeUnsafe<void>()
    child.channel.listen((message) => {
      const report = toReport(message)
      if (report?._tag === "Ready") Deferred.doneUnsafe(ready, Effect.void)
      if (report !== undefined) listener?.(report)
    }, () => Deferred.doneUnsafe(broken, Effect.void))
    // Whoever is not understood any more is ended: nothing it has to say can arrive.
    const ending = Effect.raceFirst(outcome, Effect.andThen(Deferred.await(broken), stop))
    // It ends with the outcome, and the finalizer below waits for it.
    yield* Effect.forkDetach(
      Effect.map(ending, (outcome) => {
        const failure = toFailure(outcome, Deferred.isDoneUnsafe(broken))
        outcome.residue.forEach(options.onResidue)
        Deferred.doneUnsafe(ended, Exit.succeed(failure))
        Deferred.doneUnsafe(ready, Exit.fail(failure))
      }),
      { startImmediately: true }
    )
    const end = Effect.asVoid(Effect.andThen(stop, Deferred.await(ended)))
    yield* Effect.addFinalizer(() => end)
    yield* restore(Deferred.await(ready))
    return {
      nextTask: () => ++tasks,
      post: child.channel.send,
      listen: (next: ((report: Report) => void) | undefined) => {
        listener = next
      },
      ended,
      end
    }
  }))

const toFailure = (outcome: Outcome.Ran, isBroken: boolean): TaskFailed => {
  const lastWords = Output.toText(outcome.stderr)
  return new TaskFailed({
    // V8 says so in these words, and aborts.
    reason: lastWords.includes("heap out of memory") ? "OutOfMemory" : "Crashed",
    thrown: {
      name: "Error",
      message: isBroken ? "what the process sent was no message" : `the process ${Outcome.describe(outcome)}`
    }
  })
}
