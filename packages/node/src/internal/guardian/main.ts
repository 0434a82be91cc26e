/**
 * The program of a guardian: hears which commands run, and ends them when it hears nothing any more.
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Readline from "node:readline"
import * as Ending from "../ending.ts"
import type { Seen } from "../host.ts"
import { machine } from "../hostNode.ts"
import * as Lineage from "../lineage.ts"
import * as Watch from "./watch.ts"

/** A program that is just being started shows its mark within this many looks, or it was never started. */
const pausesMillis = [1, 10, 100]

/** Between SIGTERM and SIGKILL: what commands are given by default. Nobody waits for this any more. */
const grace = Duration.seconds(2)

/** By its mark what is known of a command; nothing is known yet of one that was announced. */
const watched = new Map<string, Lineage.Lineage | undefined>()

const lines = Readline.createInterface({ input: process.stdin })

const hear = (notice: Watch.Notice): void => {
  switch (notice._tag) {
    case "Announce":
      watched.set(notice.mark, undefined)
      break
    case "Begin":
      watched.set(notice.mark, Lineage.make(notice.leader, notice.mark))
      break
    case "End":
      watched.delete(notice.mark)
      break
  }
}

lines.on("line", (line) => {
  const notice = Watch.decode(line)
  if (Option.isSome(notice)) hear(notice.value)
})

/**
 * Looks for a command by its mark alone. Its host is gone, and its first process has replaced the host's program by its
 * own: until then it held the host's end of our pipe, which has ended.
 */
const find = Effect.fnUntraced(function*(host: Seen, mark: string): Effect.fn.Return<Lineage.Lineage | undefined> {
  for (const pause of pausesMillis) {
    const { rows } = yield* host.everybody
    const marked = rows.filter((row) => Lineage.isAlive(row) && host.carriesMark(row, mark) === "Carries")
    const [first, ...others] = marked.sort((a, b) => a.started - b.started || a.pid - b.pid)
    if (first !== undefined) {
      const lineage = Lineage.make(first, mark)
      Lineage.remember(lineage, others)
      return lineage
    }
    yield* Effect.sleep(pause)
  }
  return undefined
})

lines.on("close", () => {
  const host = machine()
  const end = Effect.fnUntraced(function*([mark, known]: readonly [string, Lineage.Lineage | undefined]) {
    const lineage = known ?? (yield* find(host, mark))
    if (lineage === undefined) return
    yield* Ending.end(host, lineage, {
      grace,
      table: host.table(lineage),
      carries: (row) => host.carriesMark(row, mark),
      spares: () => false
    })
  })
  Effect.runFork(Effect.forEach(watched, end, { concurrency: "unbounded", discard: true }))
})
