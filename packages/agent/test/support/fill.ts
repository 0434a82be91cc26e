/** Fills the file system that the log is on, and prints what became of the log. Run in a mount namespace of its own. */
import { SessionLog } from "@quiesce/agent"
import { Effect } from "effect"
import { execFileSync } from "node:child_process"
import { dirname } from "node:path"
import { asked, openFile, turnStart } from "./logs.ts"

const file = process.argv[2]!
const errors: Array<string> = []

const program = Effect.gen(function*() {
  let acknowledged = 0
  yield* Effect.scoped(Effect.gen(function*() {
    const log = yield* openFile(file)
    acknowledged += (yield* log.append(turnStart)).length
    while (errors.length === 0) {
      const exit = yield* Effect.result(log.append(asked(1, "x".repeat(1_000))))
      if (exit._tag === "Success") acknowledged++
      else errors.push("reason" in exit.failure ? exit.failure.reason : exit.failure._tag)
    }
  }))
  const { events, violations } = yield* Effect.scoped(
    Effect.flatMap(SessionLog.readSqlite(file), (reader) => reader.verify)
  )
  execFileSync("mount", ["-o", "remount,ro", dirname(file)])
  const refused = yield* Effect.flip(Effect.scoped(openFile(file)))
  const readOnly = "reason" in refused ? refused.reason : refused._tag
  return { acknowledged, errors, read: events, violations, readOnly }
})

console.log(JSON.stringify(await Effect.runPromise(program)))
