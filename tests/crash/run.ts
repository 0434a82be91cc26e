/**
 * Kills writers, and makes histories with crashes: `npm run crash`, or `npm run crash -- 50 1000` for so many of each.
 *
 * The last line printed is `N kills, N violations`; a violation of a history counts too.
 */
import { Effect } from "effect"
import { availableParallelism } from "node:os"
import { explain, history } from "./history.ts"
import { type Kill, type Killed, run } from "./kills.ts"

const kills = Number(process.argv[2] ?? 500)
const histories = Number(process.argv[3] ?? 10_000)

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
const one = async (): Promise<void> => {
  for (let index = next++; index < kills; index = next++) {
    const kill: Kill = index < lastBoundary
      ? { _tag: "Boundary", at: index }
      // A thousand and one steps of 0.1 ms, in an order that spreads: the events of a turn take some 20 ms.
      : { _tag: "Instant", millis: ((index * 619) % 1_001) / 10 }
    const killed: Killed = await run(index, kill)
    acknowledged += killed.acknowledged
    if (kill._tag === "Boundary") {
      if (killed.finished) lastBoundary = Math.min(lastBoundary, index)
      else boundaries++
    }
    tell(`run(${index}, ${JSON.stringify(kill)})`, killed.faults)
  }
}
await Promise.all(Array.from({ length: availableParallelism() }, one))
console.log(`${boundaries} write boundaries, ${kills - boundaries} instants, ${acknowledged} events acknowledged`)

for (let seed = 1; seed <= histories; seed++) tell(explain(seed), await Effect.runPromise(history(seed)))
console.log(`${histories} histories`)

if (violations > 0) process.exitCode = 1
console.log(`${kills} kills, ${violations} violations`)
