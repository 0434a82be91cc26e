/**
 * Tortures what `@quiesce/node` can end: `npm run torture`, or `npm run torture -- <cancels> <seed>`. With `--write`, the
 * result becomes `docs/torture.md`.
 *
 * The last line printed is `N cancels, N left behind`.
 */
import { Guardian } from "@quiesce/node"
import { Effect, Exit } from "effect"
import { writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { document } from "./document.ts"
import * as Isolates from "./isolates.ts"
import * as Latency from "./latency.ts"
import * as Torture from "./torture.ts"

const writes = process.argv.includes("--write")
const [first = "2000", seed = String(Date.now())] = process.argv.slice(2).filter((it) => !it.startsWith("--"))
const cancels = Number(first)
/** Of what is measured one at a time: a tenth. */
const few = Math.ceil(cancels / 10)

const main = Effect.gen(function*() {
  console.log(`${cancels} cancels, seed ${seed}`)
  const torture = yield* Torture.run({
    cancels,
    seed,
    // Enough for the commands to meet each other's processes; more only makes a small machine slow.
    concurrency: 4,
    onProgress: (done) => {
      if (done % 200 === 0) console.log(`${done} done`)
    }
  })
  for (const line of torture.left) console.log(`left behind: ${line}`)
  for (const [outcome, count] of [...torture.outcomes].sort()) console.log(`${outcome}: ${count}`)
  console.log(`${torture.residues} with a residue`)

  const latencies: Array<Latency.Report> = []
  for (const subject of Latency.subjects) {
    const latency = yield* Latency.run(subject, few)
    latencies.push(latency)
    const { longestMillis, medianMillis, name } = latency
    console.log(
      `${name}: quiet after ${medianMillis} ms (median of ${few}), ${longestMillis} ms at most; grace ${Latency.graceMillis} ms`
    )
  }
  const isolates: Array<Isolates.Report> = []
  for (const subject of Isolates.subjects) {
    const isolate = yield* Isolates.run(subject, few)
    isolates.push(isolate)
    const { boundMillis, longestMillis, medianMillis, name, within } = isolate
    console.log(
      `${name}: ${within} of ${few} quiet within ${boundMillis} ms; ${medianMillis} ms (median), ${longestMillis} ms at most`
    )
  }
  if (writes) {
    const page = document({ isolates, latencies, seed, torture })
    writeFileSync(fileURLToPath(new URL("../../docs/torture.md", import.meta.url)), page)
  }
  console.log(`${torture.cancels} cancels, ${torture.left.length} left behind`)
  return torture.left.length === 0 && isolates.every(({ cancels, within }) => within === cancels)
})

// Whoever has seen enough interrupts it, and it leaves nobody behind either; the guardian is for who kills it.
const fiber = Effect.runFork(Effect.provide(main, Guardian.layer))
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => fiber.interruptUnsafe())
fiber.addObserver((exit) => {
  process.exitCode = Exit.isSuccess(exit) && exit.value ? 0 : 1
})
