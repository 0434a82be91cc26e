/** How many events a log takes per second, beside bare inserts of as many bytes with the same sync. */
import type { LogEvent } from "@quiesce/agent/LogEvent"
import * as SessionLog from "@quiesce/agent/SessionLog"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import type { Subject } from "../Measure.ts"
import type { Figures } from "../Table.ts"

/** Events per round: the syncs of a slow disk then take a tenth of a second. */
const count = 32

const inFolder = async <A>(
  open: (file: string) => Promise<A>
): Promise<{ readonly opened: A; readonly remove: () => void }> => {
  const folder = mkdtempSync(join(tmpdir(), "quiesce-bench-"))
  return {
    opened: await open(join(folder, "session.log")),
    remove: () => rmSync(folder, { recursive: true, force: true })
  }
}

const rate = async (write: () => void | Promise<void>): Promise<number> => {
  const start = performance.now()
  await write()
  return count * 1e3 / (performance.now() - start)
}

const text = (event: LogEvent): string => JSON.stringify(event)

const mark = (call: number): LogEvent => ({ _tag: "tool/dispatched", call })
const input = (turn: number): LogEvent => ({ _tag: "input", turn, text: "and then the other one" })

interface Bare {
  readonly name: string
  readonly sync: "FULL" | "NORMAL"
  readonly perCommit: number
  readonly event: LogEvent
}

/** The least that has the same on the disk: one table, one prepared statement. */
const bare = ({ event, name, perCommit, sync }: Bare): Subject => ({
  name,
  kind: "floor",
  unit: "per second",
  lacks: "events that fit to those before, sums, a lease, a shared commit",
  against: { name },
  open: async () => {
    const { opened: db, remove } = await inFolder(async (file) => new DatabaseSync(file))
    db.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = ${sync};
      CREATE TABLE event (seq INTEGER PRIMARY KEY, at REAL NOT NULL, sum INTEGER NOT NULL, event TEXT NOT NULL) STRICT`)
    const insert = db.prepare("INSERT INTO event (at, sum, event) VALUES (?, ?, ?)")
    const commit = () => {
      db.exec("BEGIN IMMEDIATE")
      for (let index = 0; index < perCommit; index++) insert.run(Date.now(), 0, text(event))
      db.exec("COMMIT")
    }
    return {
      measure: () =>
        rate(() => {
          for (let written = 0; written < count; written += perCommit) commit()
        }),
      close: async () => {
        db.close()
        remove()
      }
    }
  }
})

const call = (turn: number, index: number): LogEvent => ({
  _tag: "tool/call",
  turn,
  callId: `call_${index}`,
  name: "search",
  arguments: { _tag: "Complete", json: {} }
})

const result = (call: number, index: number): LogEvent => ({
  _tag: "tool/result",
  call,
  result: {
    _tag: "Failure",
    callId: `call_${index}`,
    name: "search",
    dispatched: false,
    error: { code: "ABORTED_BEFORE_DISPATCH", name: "AbortError", message: "" },
    content: [],
    contexts: [],
    residue: []
  }
})

type Write = (log: SessionLog.Shape, turn: number, calls: ReadonlyArray<number>) => Effect.Effect<unknown, unknown>

/** Each round in a turn of its own, with so many calls that wait for what is written: no round has a longer one. */
const ours = (name: string, against: string, calls: number, write: Write): Subject => ({
  name,
  kind: "ours",
  unit: "per second",
  lacks: "",
  against: { name: against },
  open: async () => {
    const scope = Scope.makeUnsafe()
    const { opened: log, remove } = await inFolder(async (file) =>
      Context.get(
        await Effect.runPromise(Layer.buildWithScope(SessionLog.layerSqlite(file), scope)),
        SessionLog.SessionLog
      )
    )
    return {
      measure: async () => {
        const [start] = await Effect.runPromise(log.append({ _tag: "turn/start" }))
        const turn = start!.seq
        const asked = Array.from({ length: calls }, (_, index) => call(turn, index))
        const [, ...entries] = await Effect.runPromise(log.append({ _tag: "assistant", turn, text: "" }, ...asked))
        const seqs = entries.map(({ seq }) => seq)
        const perSecond = await rate(async () => void await Effect.runPromise(write(log, turn, seqs)))
        await Effect.runPromise(log.append(...seqs.map(result), { _tag: "turn/end", turn, ending: "completed" }))
        return perSecond
      },
      close: async () => {
        await Effect.runPromise(Scope.close(scope, Exit.void))
        remove()
      }
    }
  }
})

const synced = "bare inserts, each synced"
const together = `bare inserts, ${count} in one commit, synced`
const unsynced = "bare inserts, not synced"

export const table: Figures = {
  _tag: "Figures",
  title: "Events of a log",
  about:
    "Events per second into a file of `node:sqlite` with a write-ahead log. Synced means `synchronous=FULL`, as for marks " +
    "and results; the others are written with `NORMAL`. How long a sync takes is up to the disk of the temporary folder.",
  claim: 0.3,
  processes: 2,
  plan: { rounds: 20, warmUpMillis: 250 },
  subjects: async () => [
    bare({ name: synced, sync: "FULL", perCommit: 1, event: mark(1000) }),
    ours(
      "marks, one after the other",
      synced,
      count,
      (log, _, calls) => Effect.forEach(calls, (call) => log.append(mark(call)))
    ),
    bare({ name: together, sync: "FULL", perCommit: count, event: mark(1000) }),
    ours(
      `marks, ${count} at once`,
      together,
      count,
      (log, _, calls) => Effect.forEach(calls, (call) => log.append(mark(call)), { concurrency: "unbounded" })
    ),
    bare({ name: unsynced, sync: "NORMAL", perCommit: 1, event: input(1000) }),
    ours(
      "inputs, one after the other",
      unsynced,
      0,
      (log, turn) => Effect.forEach(Array.from({ length: count }), () => log.append(input(turn)))
    )
  ]
}
