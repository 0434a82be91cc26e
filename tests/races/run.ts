/**
 * Explores the races to their heavy bounds: `npm run races`, or `npm run races -- hub` for those whose name or subject
 * contains it. With `--write`, the result becomes `docs/races.md`.
 *
 * The last line printed is `N explored, N failing`; an exploration that escaped control counts as failing.
 */
import { Explore, Report } from "@quiesce/testing"
import { Effect } from "effect"
import { writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { document, type Explored } from "./document.ts"
import { subjects } from "./index.ts"
import { bounds } from "./Race.ts"

/** A heavy race may take some minutes, and all of them together an evening, but none of them a night. */
const maxRuns = 500_000

const writes = process.argv.includes("--write")
const filter = process.argv.slice(2).find((argument) => !argument.startsWith("--")) ?? ""

const selected = subjects.flatMap((subject) =>
  subject.races
    .filter((race) => race.name.includes(filter) || subject.subject.includes(filter))
    .map((race) => ({ race, subject }))
)

const program = Effect.gen(function*() {
  const explored: Array<Explored> = []
  for (const { race, subject } of selected) {
    const report = yield* Explore.run(race.program, {
      name: race.name,
      ...bounds(race, "heavy"),
      runs: maxRuns,
      onProgress: ({ explored, millis }) => {
        if (process.stderr.isTTY) process.stderr.write(`\r${race.name}: ${explored} in ${Math.round(millis / 1_000)} s`)
      }
    })
    if (process.stderr.isTTY) process.stderr.write("\r\u001b[K")
    console.log(report.verdict === "passed" ? Report.summary(report) : Report.format(report))
    explored.push({ race, report, subject })
  }
  return explored
})

const explored = await Effect.runPromise(program)
if (writes && filter === "") {
  writeFileSync(fileURLToPath(new URL("../../docs/races.md", import.meta.url)), document(explored))
}
const total = explored.reduce((sum, { report }) => sum + report.explored, 0)
const failing = explored.reduce(
  (sum, { report }) => sum + (report.verdict === "unsound" ? Math.max(1, report.failing) : report.failing),
  0
)
if (failing > 0 || explored.length === 0) process.exitCode = 1
console.log(`${total} explored, ${failing} failing`)
