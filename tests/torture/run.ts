/** Tortures the commands of `@quiesce/node` (`npm run torture`, or `npm run torture -- <cancels> <seed>`). */
import { Effect } from "effect"
import * as Torture from "./torture.ts"

const cancels = Number(process.argv[2] ?? 2000)
const seed = process.argv[3] ?? String(Date.now())

console.log(`${cancels} cancels, seed ${seed}`)
const report = await Effect.runPromise(Torture.run({
  cancels,
  seed,
  // Enough for the cancels to meet each other's processes; more only makes a small machine slow.
  concurrency: 8,
  onProgress: (done) => {
    if (done % 200 === 0) console.log(`${done} done`)
  }
}))
for (const line of report.left) console.log(`left behind: ${line}`)
for (const [outcome, count] of [...report.outcomes].sort()) console.log(`${outcome}: ${count}`)
console.log(`${report.residues} with a residue`)
console.log(`${report.cancels} cancels, ${report.left.length} left behind`)
process.exitCode = report.left.length === 0 ? 0 : 1
