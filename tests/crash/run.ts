/**
 * Kills writers, and makes histories with crashes: `npm run crash`, or `npm run crash -- 50 1000` for so many of each. With
 * `--write`, the result becomes `docs/crash.md`.
 *
 * The last line printed is `N kills, N violations`; a violation of a history counts too.
 */
import { Effect } from "effect"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { availableParallelism, tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { document } from "./document.ts"
import { explain, history } from "./history.ts"
import { type Kill, type Killed, run } from "./kills.ts"

const writes = process.argv.includes("--write")
const [kills = 500, histories = 10_000] = process.argv.slice(2).filter((it) => !it.startsWith("--")).map(Number)

const compiled = mkdtempSync(join(tmpdir(), "quiesce-compiled-"))
process.on("exit", () => rmSync(compiled, { recursive: true, force: true }))

let violations = 0
const tell = (what: string, faults: ReadonlyArray<string>): void => {
  violations += faults.length
  for (const fault of faults) console.log(`${what}: ${fault}`)
}

/** Boundaries from the first to the last, then instants; as many at once as there are processors. */
let next = 0
let lastBoundary = Number.POSITIVE_INFINITY
let boundaries = 0
let acknowledged = 0
let marked = 0
let unmarked = 0
const one = async (index: number, kill: Kill): Promise<Killed> => {
  const killed = await run(index, kill, compiled)
  acknowledged += killed.acknowledged
  marked += killed.marked
  unmarked += killed.unmarked
  tell(`run(${index}, ${JSON.stringify(kill)})`, killed.faults)
  return killed
}

// A thousand and one steps of 0.1 ms, in an order that spreads: the events of a turn take some 20 ms.
const instant = (index: number): Kill => ({ _tag: "Instant", millis: ((index * 619) % 1_001) / 10 })

const some = async (): Promise<void> => {
  for (let index = next++; index < kills; index = next++) {
    if (index < lastBoundary) {
      const { finished } = await one(index, { _tag: "Boundary", at: index })
      if (!finished) {
        boundaries++
        continue
      }
      // It was not killed: there are no boundaries any more.
      lastBoundary = Math.min(lastBoundary, index)
    }
    await one(index, instant(index))
  }
}
// Gets to its end, and leaves its modules as compiled.
await run(0, { _tag: "Boundary", at: Number.MAX_SAFE_INTEGER }, compiled)
await Promise.all(Array.from({ length: availableParallelism() }, some))
console.log(`${boundaries} write boundaries, ${kills - boundaries} instants, ${acknowledged} events acknowledged`)
console.log(`${marked} calls closed that may have run, ${unmarked} that had not`)

for (let seed = 1; seed <= histories; seed++) tell(explain(seed), await Effect.runPromise(history(seed)))
console.log(`${histories} histories`)

if (writes) {
  const done = { boundaries, instants: kills - boundaries, acknowledged, marked, unmarked, histories, violations }
  writeFileSync(fileURLToPath(new URL("../../docs/crash.md", import.meta.url)), document(done))
}
if (violations > 0) process.exitCode = 1
console.log(`${kills} kills, ${violations} violations`)
