/** Runs a fixture in a process of its own, which must exit by itself. */
import { Effect } from "effect"
import { execFile } from "node:child_process"
import { fileURLToPath } from "node:url"
import { childEnvironment } from "../../../../tests/child-environment.ts"

/** What the fixture printed last, as JSON. An exit code other than 0 is a defect; interruption kills it. */
export const run = <A>(fixture: string, ...flags: ReadonlyArray<string>): Effect.Effect<A> =>
  Effect.callback((resume) => {
    const file = fileURLToPath(new URL(`../fixtures/${fixture}`, import.meta.url))
    const child = execFile(process.execPath, [...flags, file], { env: childEnvironment() }, (error, stdout, stderr) => {
      resume(
        error === null
          ? Effect.sync(() => JSON.parse(stdout.trimEnd().split("\n").at(-1)!) as A)
          : Effect.die(new Error(stderr || error.message))
      )
    })
    return Effect.sync(() => child.kill("SIGKILL"))
  })
