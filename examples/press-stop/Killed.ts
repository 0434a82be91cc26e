/**
 * A run that kills itself in the middle of its turn, and what the next run finds: a log that says what may have had
 * effects and what never ran, and nobody left.
 */
import type { LogEvent } from "@quiesce/agent"
import { Effect, Schedule, Schema } from "effect"
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import * as Board from "./Board.ts"
import * as Witness from "./Witness.ts"

/** What a run leaves word of before it kills itself: whom the next one should ask for, and where. */
const Word = Schema.fromJsonString(Schema.Struct({ processes: Schema.Array(Schema.Int), root: Schema.String }))

const fileIn = (directory: string): string => join(directory, "killed.json")

/** Nothing of this process runs after this: no finalizer, no handler, no last word to its log or its children. */
export const now = (directory: string, word: typeof Word.Type): never => {
  writeFileSync(fileIn(directory), Schema.encodeSync(Word)(word))
  process.kill(process.pid, "SIGKILL")
  throw new Error("SIGKILL has come back")
}

/** Tells what opening the log closed, and finds out whether it is true. Returns what is not. */
export const recount = Effect.fnUntraced(function*(
  directory: string,
  recovered: ReadonlyArray<LogEvent.Entry>,
  say: (line: string) => void
) {
  const faults: Array<string> = []
  const results = recovered.flatMap(({ event }) => event._tag === "tool/result" ? [event.result] : [])
  say("The run before this one was killed in the middle of its turn. Opening its log closed what was open:\n")
  for (const result of results) {
    const means = result.dispatched ? "its mark is in the log: it may have had effects" : "no mark: it never ran"
    say(`  ${result.name.padEnd(13)}${Board.codeOf(result).padEnd(25)}${means}`)
  }
  if (existsSync(fileIn(directory))) {
    const { processes, root } = Schema.decodeSync(Word)(readFileSync(fileIn(directory), "utf8"))
    const expected = "http_get true, run_command true, crunch true, write_file false"
    const found = results.map(({ dispatched, name }) => `${name} ${dispatched}`).join(", ")
    if (found !== expected) faults.push(`recovered: ${found} instead of ${expected}`)
    if (existsSync(join(root, "report.md"))) faults.push("write_file is recorded as never run, and report.md is there")
    // The guardian of the killed run asks them first, and kills after 2 seconds.
    const alive = yield* Effect.repeat(Effect.sync(() => processes.filter(Witness.isAlive)), {
      schedule: Schedule.spaced("50 millis"),
      until: (alive) => alive.length === 0,
      times: 200
    })
    if (alive.length > 0) faults.push(`of the killed run these are alive: ${alive.join(", ")}`)
    else say(`\nNobody was left to end its ${processes.length} processes but its guardian. They are gone.`)
    rmSync(root, { recursive: true, force: true })
    rmSync(fileIn(directory))
  }
  say("")
  return faults
})
