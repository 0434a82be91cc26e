/**
 * Three downloads share one slot. Each test one thinks of passes: a download that waits can be cancelled, one that runs
 * can be cancelled, a slot that is given back goes to whoever waits. Once a week a download hangs for ever.
 */
import { type Edge, Explore, Interleaving, Report } from "@quiesce/testing"
import { Effect } from "effect"
import { Slots } from "./Slots.ts"

/** The first download holds the slot until its answer comes, the second can be cancelled, the third just waits. */
const downloads = (careful: boolean) =>
  Explore.fromPromise(async (edge: Edge.Shape) => {
    const slots = new Slots(1, careful)
    const patient = new AbortController().signal
    await slots.acquire(patient)
    edge.action("answer", () => slots.release())

    const download = async (signal: AbortSignal) => {
      await slots.acquire(signal)
      slots.release()
    }
    const hasty = edge.controller("ABORT", "cancelled").signal
    const second = download(hasty).then(() => "done", String)
    const third = download(patient).then(() => "done")
    return `second ${await second}, third ${await third}`
  })

const check = (what: string, holds: boolean): void => {
  if (!holds) throw new Error(`it does not hold that ${what}`)
}

/** A report without the time it took, which is another one each time. */
const print = (report: Report.Report): void => console.log(`${Report.format(report).replace(/; [\d.]+ s\)/, ")")}\n`)

// Answer and abort, one after the other in both orders: what ordinary tests see.
const apart = await Explore.runPromise(downloads(false), { name: "apart", preemptions: 0 })
print(apart)
check("nothing fails while answer and abort come apart", apart.verdict === "passed")

// The two in one tick, too.
const together = await Explore.runPromise(downloads(false), { name: "together" })
print(together)
const failure = together.failures[0]!
check("the explorer finds the hang", failure.message.startsWith("hung"))

// The string is all it takes to see it again: tomorrow, in another process, under a debugger.
const again = await Effect.runPromise(Explore.replay(downloads(false), failure.minimal.replay))
console.log(`replayed: ${again.result._tag}, in: ${Interleaving.format(again.interleaving)}\n`)
check("the replay fails as it did", again.result._tag === "Failed")

// One line later, the same exploration is clean, and there is no other interleaving.
const mended = await Explore.checkPromise(downloads(true), { name: "mended" })
print(mended)
check("nothing was left out", mended.coverage._tag === "Exhaustive")
