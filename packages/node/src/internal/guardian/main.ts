/**
 * The program of a guardian: hears which commands run, and ends them when it hears nothing any more.
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Readline from "node:readline"
import * as Ending from "../ending.ts"
import { machine } from "../hostNode.ts"
import * as Lineage from "../lineage.ts"
import * as Watch from "./watch.ts"

/** Between SIGTERM and SIGKILL: what commands are given by default. Nobody waits for this any more. */
const grace = Duration.seconds(2)

const watched = new Map<string, Lineage.Lineage>()

const lines = Readline.createInterface({ input: process.stdin })

lines.on("line", (line) => {
  const notice = Watch.decode(line)
  if (notice._tag === "Begin") watched.set(notice.mark, Lineage.make(notice.leader, notice.mark))
  else watched.delete(notice.mark)
})

lines.on("close", () => {
  const host = machine()
  const endAll = Effect.forEach(
    watched.values(),
    (lineage) =>
      Ending.end(host, lineage, {
        grace,
        table: host.table(lineage),
        carries: (row) => host.carriesMark(row, lineage.mark),
        spares: () => false
      }),
    { concurrency: "unbounded", discard: true }
  )
  Effect.runFork(endAll)
})
