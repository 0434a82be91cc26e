/**
 * Which tests a repository has, as its runner would run them.
 */
import { Data, Effect, Schema } from "effect"
import { fork } from "node:child_process"
import { fileURLToPath } from "node:url"
import { childEnvironment } from "../child-environment.ts"

const CollectedTest = Schema.Struct({
  /** Relative to the root, with `/`. */
  file: Schema.String,
  /** The titles of the enclosing groups and the test's own, joined by ` > `. */
  title: Schema.String,
  /** False for a test that is skipped or only announced. */
  runs: Schema.Boolean
})

const Collected = Schema.Struct({
  tests: Schema.Array(CollectedTest),
  /** What kept a file from being loaded: its tests are missing above. */
  errors: Schema.Array(Schema.String)
})

export type CollectedTest = typeof CollectedTest.Type
export type Collected = typeof Collected.Type

/** The collecting process ended without an answer. */
export class CollectorDied extends Data.TaggedError("CollectorDied")<{ readonly stderr: string }> {
  override get message() {
    return `the process that collects test titles died: ${this.stderr}`
  }
}

const collector = fileURLToPath(new URL("./collector.ts", import.meta.url))

/** The repository that these tests belong to. */
export const repository = fileURLToPath(new URL("../..", import.meta.url))

/**
 * Loads every test file below `root` in a child process and lists their tests.
 *
 * A child, since a test runner cannot be started inside a test of its own. It may be called from a test: test files
 * are loaded and no test is run, so a test that collects is not run again by its own collecting.
 *
 * **Interruption**: kills the child, which owns nothing but its memory.
 */
export const collect = (root: string): Effect.Effect<Collected, CollectorDied> =>
  Effect.callback((resume) => {
    const child = fork(collector, [root], {
      cwd: root,
      env: childEnvironment(),
      execArgv: [],
      stdio: ["ignore", "ignore", "pipe", "ipc"]
    })
    let stderr = ""
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      stderr += text
    })
    child.once("message", (message) => resume(Schema.decodeUnknownEffect(Collected)(message).pipe(Effect.orDie)))
    child.once("error", (error) => resume(Effect.fail(new CollectorDied({ stderr: error.message }))))
    child.once("close", () => resume(Effect.fail(new CollectorDied({ stderr }))))
    return Effect.sync(() => child.kill("SIGKILL"))
  })
