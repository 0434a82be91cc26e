/**
 * Logs to test with: in memory, where a crash is a storage that takes nothing more, and in files of a directory that
 * goes with the test.
 */
import { LogError, type LogEvent, SessionLog } from "@quiesce/agent"
import type { ToolResult } from "@quiesce/core"
import { Context, Deferred, Effect, Layer, type Scope } from "effect"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { Row } from "../../src/internal/record.ts"
import { memory, type Storage } from "../../src/internal/storage.ts"

/** A file in a directory of the test's own. */
export const tempFile: Effect.Effect<string, never, Scope.Scope> = Effect.map(
  Effect.acquireRelease(
    Effect.sync(() => mkdtempSync(join(tmpdir(), "quiesce-log-"))),
    (directory) => Effect.sync(() => rmSync(directory, { recursive: true, force: true }))
  ),
  (directory) => join(directory, "session.log")
)

export const openFile = (file: string) =>
  Effect.map(Layer.build(SessionLog.layerSqlite(file)), (context) => Context.get(context, SessionLog.SessionLog))

/** A storage in memory that can be looked into. */
export interface Disk extends Storage {
  readonly rows: Array<Row>
  /** How many rows each commit wrote, and whether they were synced. */
  readonly commits: Array<{ readonly rows: number; readonly durable: boolean }>
  /** From now on nothing is written: the machine is off. */
  crash: () => void
  /** Each commit waits for one of these, if there is any. */
  readonly gates: Array<Deferred.Deferred<void>>
  /** What the next commits fail with, one by one. */
  readonly failures: Array<LogError.LogFailed | undefined>
}

export const disk = (rows: Array<Row> = []): Disk => {
  const storage = memory(rows)
  let off = false
  const self: Disk = {
    ...storage,
    rows,
    commits: [],
    gates: [],
    failures: [],
    crash: () => {
      off = true
    },
    commit: (added, durable) =>
      Effect.gen(function*() {
        const gate = self.gates.shift()
        if (gate !== undefined) yield* Deferred.await(gate)
        const failure = self.failures.shift()
        if (failure !== undefined) return yield* failure
        if (off) return yield* Effect.never
        self.commits.push({ rows: added.length, durable })
        yield* storage.commit(added, durable)
      })
  }
  return self
}

export const full = new LogError.LogFailed({ log: "a disk", reason: "Full" })

export const turnStart: LogEvent.LogEvent = { _tag: "turn/start" }
export const turnEnd = (turn: number, ending: LogEvent.Ending = "completed"): LogEvent.LogEvent => ({
  _tag: "turn/end",
  turn,
  ending
})
export const said = (turn: number, text = "so be it"): LogEvent.LogEvent => ({ _tag: "assistant", turn, text })
export const asked = (turn: number, text = "do it"): LogEvent.LogEvent => ({ _tag: "input", turn, text })
export const called = (turn: number, callId = "a", name = "tool"): LogEvent.LogEvent => ({
  _tag: "tool/call",
  turn,
  callId,
  name,
  arguments: { _tag: "Complete", json: { n: 1 } }
})
export const marked = (call: number): LogEvent.LogEvent => ({ _tag: "tool/dispatched", call })
export const answered = (call: number, result: Partial<ToolResult.Success> = {}): LogEvent.LogEvent => ({
  _tag: "tool/result",
  call,
  result: {
    _tag: "Success",
    callId: "a",
    name: "tool",
    dispatched: true,
    value: 1,
    content: [{ type: "text", text: "1" }],
    contexts: [],
    residue: [],
    concludesTurn: false,
    ...result
  }
})

/** A whole turn with one call. */
export const oneTurn: ReadonlyArray<LogEvent.LogEvent> = [
  turnStart,
  asked(1),
  said(1),
  called(1),
  marked(4),
  answered(4),
  turnEnd(1)
]
