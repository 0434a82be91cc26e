/**
 * Explores the races as far as the heavy budget allows, on every core: `npm run races`, or `npm run races -- hub` for
 * those whose name or subject contains it. With `--write`, the result becomes `docs/races.md`, and the record by which the
 * tests choose their bounds.
 *
 * The last line printed is `N explored, N failing`; an exploration that escaped control counts as failing.
 */
import { Report } from "@quiesce/testing"
import { type ChildProcess, execFileSync, fork } from "node:child_process"
import { writeFileSync } from "node:fs"
import { availableParallelism } from "node:os"
import { fileURLToPath } from "node:url"
import { record } from "./counts.ts"
import { document, type Explored } from "./document.ts"
import { subjects } from "./index.ts"
import type { Counts } from "./Race.ts"
import type { Answer, Order } from "./worker.ts"

const writes = process.argv.includes("--write")
const filter = process.argv.slice(2).find((argument) => !argument.startsWith("--")) ?? ""

const orders = subjects.flatMap(({ races, subject: name }, subject): ReadonlyArray<Order> =>
  races.flatMap((race, index) => race.name.includes(filter) || name.includes(filter) ? [{ subject, race: index }] : [])
)

const explored: Array<Explored> = []
const settle = ({ race: index, report, subject: of }: Answer): void => {
  const subject = subjects[of]!
  const race = subject.races[index]!
  const order = orders.findIndex((it) => it.subject === of && it.race === index)
  explored.push({ order, race, report, subject })
  console.log(report.verdict === "passed" ? Report.summary(report) : Report.format(report))
}

/** Keeps one process busy until no race is left. */
const work = (left: Iterator<Order>): Promise<void> =>
  new Promise((resolve, reject) => {
    const worker: ChildProcess = fork(fileURLToPath(new URL("worker.ts", import.meta.url)))
    const give = () => {
      const { done, value } = left.next()
      if (done === true) worker.disconnect()
      else worker.send(value)
    }
    worker.on("message", (answer: Answer) => {
      settle(answer)
      give()
    })
    worker.on("error", reject)
    worker.on("exit", (code) => code === 0 ? resolve() : reject(new Error(`a worker ended with ${code}`)))
    give()
  })

const left = orders.values()
await Promise.all(Array.from({ length: Math.min(orders.length, availableParallelism()) }, () => work(left)))

/** The counts of the levels that were explored to their end. */
const complete = ({ byPreemptions, coverage }: Report.Report): Counts =>
  coverage._tag === "Partial" ? byPreemptions.slice(0, (coverage.complete ?? -1) + 1) : byPreemptions

explored.sort((a, b) => a.order - b.order)
if (writes && filter === "") {
  const page = fileURLToPath(new URL("../../docs/races.md", import.meta.url))
  writeFileSync(page, document(explored))
  const file = record(explored.map(({ race, report }) => [race.name, complete(report)]))
  execFileSync("dprint", ["fmt", page, file], { stdio: "ignore" })
}
const total = explored.reduce((sum, { report }) => sum + report.explored, 0)
const failing = explored.reduce(
  (sum, { report }) => sum + (report.verdict === "unsound" ? Math.max(1, report.failing) : report.failing),
  0
)
if (failing > 0 || explored.length === 0) process.exitCode = 1
console.log(`${total} explored, ${failing} failing`)
