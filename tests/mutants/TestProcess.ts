/**
 * The parent's side of `test-process.ts`: a process that runs named tests, for as long as its scope is open.
 *
 * Mutants hang, spin and crash; that is what they are for. So a trial is bounded, and a process that did not answer in
 * time is no longer used: closing the scope kills its whole process group and waits until it is gone.
 */
import { type Cause, Context, Duration, Effect, Queue, Schema, type Scope } from "effect"
import { type ChildProcess, fork } from "node:child_process"
import { fileURLToPath } from "node:url"
import { childEnvironment } from "../child-environment.ts"
import type { Scratch } from "./Scratch.ts"
import { Message, type Request, type Trial } from "./Trial.ts"

/**
 * When the runner gives up on one test. Tests on virtual time take milliseconds and those with processes about a
 * second, so after this a test hangs; a test that needs longer states its own timeout.
 */
export const TestTimeout = Context.Reference<Duration.Duration>("@quiesce/tests/mutants/TestTimeout", {
  defaultValue: () => Duration.seconds(5)
})

/**
 * When we give up on a trial. Beyond the runner's own timeout: what gets here blocks the thread, so that no timer in
 * its process can fire. The rest is the time to load a test file on a machine that does other work besides.
 */
export const TrialBound = Context.Reference<Duration.Duration>("@quiesce/tests/mutants/TrialBound", {
  defaultValue: () => Duration.seconds(20)
})

export interface TestProcess {
  /**
   * Runs the named tests. After a trial that is not Finished the process must not be used again.
   *
   * **Interruption**: stops waiting; the tests end with the scope.
   */
  readonly run: (request: Request) => Effect.Effect<Trial>
}

const entry = fileURLToPath(new URL("./test-process.ts", import.meta.url))

export const make = Effect.fnUntraced(
  function*(scratch: Scratch): Effect.fn.Return<TestProcess, never, Scope.Scope> {
    const testTimeout = yield* TestTimeout
    const bound = yield* TrialBound
    const child = yield* Effect.acquireRelease(
      Effect.sync(() =>
        fork(entry, [scratch.root, String(Duration.toMillis(testTimeout))], {
          cwd: scratch.root,
          env: childEnvironment(),
          execArgv: [],
          stdio: ["ignore", "ignore", "pipe", "ipc"],
          // A group of its own, to be killed as one with the processes that the tests start.
          detached: true
        })
      ),
      kill
    )
    // The last words, for the report; a crash prints some dozen lines.
    let stderr = ""
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      stderr = (stderr + text).slice(-4000)
    })
    // What the child says, until it is gone; it says nothing unasked.
    const messages = yield* Queue.unbounded<Message, Cause.Done>()
    child
      .on("message", (received) => Queue.offerUnsafe(messages, Schema.decodeUnknownSync(Message)(received)))
      .on("error", () => Queue.endUnsafe(messages))
      .on("close", () => Queue.endUnsafe(messages))

    const run = Effect.fnUntraced(function*(request: Request): Effect.fn.Return<Trial> {
      child.send(request)
      let loaded = false
      const finished = Effect.gen(function*() {
        for (;;) {
          const message = yield* Queue.take(messages)
          if (message._tag === "Finished") return message
          loaded = true
        }
      })
      return yield* finished.pipe(
        Effect.catchTag("Done", () => Effect.sync((): Trial => ({ _tag: "Died", loaded, stderr }))),
        Effect.timeoutOrElse({
          duration: bound,
          orElse: () => Effect.sync((): Trial => ({ _tag: "Silent", loaded, bound: Duration.format(bound) }))
        })
      )
    })
    return { run }
  }
)

/** Kills the process group of `child` and waits until the child is gone. */
const kill = (child: ChildProcess): Effect.Effect<void> =>
  Effect.callback((resume) => {
    const gone = child.exitCode !== null || child.signalCode !== null || child.pid === undefined
    if (gone) return resume(Effect.void)
    child.once("exit", () => resume(Effect.void))
    try {
      process.kill(-child.pid, "SIGKILL")
    } catch {
      // No process groups on this platform.
      child.kill("SIGKILL")
    }
  })
