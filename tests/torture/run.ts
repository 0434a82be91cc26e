/** Tortures what `@quiesce/node` can end (`npm run torture`, or `npm run torture -- <cancels> <seed>`). */
import { Guardian } from "@quiesce/node"
import { Effect, Exit } from "effect"
import * as Isolates from "./isolates.ts"
import * as Latency from "./latency.ts"
import * as Torture from "./torture.ts"

const cancels = Number(process.argv[2] ?? 2000)
const seed = process.argv[3] ?? String(Date.now())
/** Of what is measured one at a time: a tenth. */
const few = Math.ceil(cancels / 10)

const main = Effect.gen(function*() {
  console.log(`${cancels} cancels, seed ${seed}`)
  const report = yield* Torture.run({
    cancels,
    seed,
    // Enough for the commands to meet each other's processes; more only makes a small machine slow.
    concurrency: 4,
    onProgress: (done) => {
      if (done % 200 === 0) console.log(`${done} done`)
    }
  })
  for (const line of report.left) console.log(`left behind: ${line}`)
  for (const [outcome, count] of [...report.outcomes].sort()) console.log(`${outcome}: ${count}`)
  console.log(`${report.residues} with a residue`)

  for (const subject of Latency.subjects) {
    const { longestMillis, medianMillis, name } = yield* Latency.run(subject, few)
    console.log(
      `${name}: quiet after ${medianMillis} ms (median of ${few}), ${longestMillis} ms at most; grace ${Latency.graceMillis} ms`
    )
  }
  let late = 0
  for (const subject of Isolates.subjects) {
    const { boundMillis, longestMillis, medianMillis, name, within } = yield* Isolates.run(subject, few)
    late += few - within
    console.log(
      `${name}: ${within} of ${few} quiet within ${boundMillis} ms; ${medianMillis} ms (median), ${longestMillis} ms at most`
    )
  }
  console.log(`${report.cancels} cancels, ${report.left.length} left behind`)
  return report.left.length === 0 && late === 0
})

// Whoever has seen enough interrupts it, and it leaves nobody behind either; the guardian is for who kills it.
const fiber = Effect.runFork(Effect.provide(main, Guardian.layer))
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => fiber.interruptUnsafe())
fiber.addObserver((exit) => {
  process.exitCode = Exit.isSuccess(exit) && exit.value ? 0 : 1
})
