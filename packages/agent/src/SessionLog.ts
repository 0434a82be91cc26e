/**
 * The log of a session: append-only, and balanced whatever happens.
 *
 * Every call has exactly one result. A mark is on the disk before a body runs, so a reader can tell a call that may have
 * had effects from one that never ran; a crash is a cancellation, and the next writer says so. An event that would
 * unbalance the log is refused when it is written, not found when it is read.
 */
import type * as Journal from "@quiesce/core/Journal"
import type * as ToolCall from "@quiesce/core/ToolCall"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { closing } from "./internal/closing.ts"
import { entries, tail, verify } from "./internal/reader.ts"
import * as Sqlite from "./internal/sqlite.ts"
import { memory, type Source, type Storage } from "./internal/storage.ts"
import { Writer } from "./internal/writer.ts"
import { type AppendError, LogCorrupt, type OpenError, type Problem, type ReadError } from "./LogError.ts"
import { Entry, type LogEvent, type Seq } from "./LogEvent.ts"

/** What is wrong in a log, and where. Without a `seq` it is the storage that is damaged. */
export interface Violation {
  readonly seq: Seq | undefined
  readonly problem: Problem | "Corrupt"
  readonly detail: string
}

export interface Report {
  readonly events: number
  readonly calls: number
  /** Every violation, in the order of the log. */
  readonly violations: ReadonlyArray<Violation>
  /** The calls that have no result yet: those of a turn that runs, or that a crash ended. */
  readonly open: ReadonlyArray<Seq>
  /** The turn that has not ended. */
  readonly turn: Seq | undefined
}

/** Every call has its one result, every turn its end, and every record is as it was written. */
export const isBalanced = ({ open, turn, violations }: Report): boolean =>
  violations.length === 0 && open.length === 0 && turn === undefined

/** Reading takes no lease, and keeps no writer waiting. */
export interface Reader {
  /** The entries from `seq` on (default: all) to where the log ends now. Fails at the first record that is corrupt. */
  readonly read: (seq?: Seq) => Stream.Stream<Entry, ReadError>
  /** Reads the whole log, and reports every violation. */
  readonly verify: Effect.Effect<Report, ReadError>
  /** The log as lines of JSON. */
  readonly exported: Stream.Stream<string, ReadError>
}

export interface Shape extends Reader {
  /**
   * Writes `events` together, or none of them, and returns them with their numbers.
   *
   * Marks and results are on the disk when this returns. Other events are with the system: they survive the process, and
   * reach the disk with the next mark or result.
   *
   * **Errors**: `LogRefused`, the event does not fit and is not written. `LogFailed`, `LogBusy`: nothing was written.
   *
   * **Interruption**: ends the wait; the events may be written all the same.
   */
  readonly append: (...events: ReadonlyArray<LogEvent>) => Effect.Effect<ReadonlyArray<Entry>, AppendError>
  /**
   * Closes what the writers before this one left open, and returns what it wrote. Opening a log does it already, so there
   * is nothing left to do, unless a log was imported. What this writer has open is not touched.
   */
  readonly recover: Effect.Effect<ReadonlyArray<Entry>, AppendError>
  /** What opening the log had to close. */
  readonly recovered: ReadonlyArray<Entry>
  /** Writes the lines of `exported` into this log, which must be empty: all of them or none. */
  readonly importing: <E, R>(
    lines: Stream.Stream<string, E, R>
  ) => Effect.Effect<ReadonlyArray<Entry>, E | AppendError | LogCorrupt, R>
  /**
   * Marks calls that carry `metadata(seq)`, before their bodies run; of other calls (those a body makes) it writes
   * nothing. A mark that cannot be written prevents the body.
   */
  readonly journal: Journal.Journal
}

export class SessionLog extends Context.Service<SessionLog, Shape>()("@quiesce/agent/SessionLog") {}

const metadataKey = "quiesce/call"

/** Tells the journal which call of the log a call to the registry is. */
export const metadata = (call: Seq): { readonly [metadataKey]: Seq } => ({ [metadataKey]: call })

/** Which call of the log `call` is; `undefined` for one that is not in it. */
export const callOf = (call: ToolCall.Pending): Seq | undefined => {
  const seq = call.metadata[metadataKey]
  return typeof seq === "number" ? seq : undefined
}

const EntryJson = Schema.fromJsonString(Entry)
const encodeLine = Schema.encodeSync(EntryJson)
const decodeLine = Schema.decodeUnknownResult(EntryJson)

const readerOf = (source: Source): Reader => ({
  read: (seq = 1) => entries(source, seq),
  verify: verify(source),
  exported: Stream.map(entries(source, 1), (entry) => encodeLine(entry))
})

/** A log in `storage`, with what was open in it closed. Closing the scope waits for what is being written. */
export const make = Effect.fnUntraced(function*(
  storage: Storage
): Effect.fn.Return<Shape, OpenError | AppendError, Scope.Scope> {
  const writer = new Writer(storage, yield* tail(storage))
  yield* Effect.addFinalizer(() => writer.close)
  /** What is below was open when this writer came, or was imported by it. */
  let inherited = writer.ledger.seq

  const recover = writer.append((ledger) =>
    ledger.turn !== undefined && ledger.turn <= inherited ? closing(ledger) : []
  )
  const recovered = writer.ledger.turn === undefined ? [] : yield* recover

  const importing: Shape["importing"] = Effect.fnUntraced(function*(lines) {
    const imported: Array<Entry> = []
    yield* Stream.runForEach(lines, (line) =>
      Effect.suspend(() => {
        const decoded = decodeLine(line)
        const seq = imported.length + 1
        const problem = decoded._tag === "Failure"
          ? `the line is no entry: ${decoded.failure.message}`
          : decoded.success.seq === seq
          ? undefined
          : `the line is entry ${decoded.success.seq}`
        if (problem !== undefined) return Effect.fail(new LogCorrupt({ log: "the lines to import", seq, problem }))
        if (decoded._tag === "Success") imported.push(decoded.success)
        return Effect.void
      }))
    const written = yield* writer.append(
      (ledger) => ledger.seq > 0 ? "NotEmpty" : imported.map(({ event }) => event),
      (index) => imported[index]!.atMillis
    )
    inherited = written.length
    return written
  })

  return {
    ...readerOf(storage),
    append: (...events) => writer.append(() => events),
    recover,
    recovered,
    importing,
    journal: {
      dispatching: (call) =>
        Effect.suspend(() => {
          const seq = callOf(call)
          // A call that a body makes may carry its caller's metadata: that one is marked already.
          return seq === undefined || writer.ledger.isMarked(seq)
            ? Effect.void
            : writer.append(() => [{ _tag: "tool/dispatched", call: seq }])
        })
    }
  }
})

/** A log that ends with the process. */
export const layerMemory: Layer.Layer<SessionLog> = Layer.effect(
  SessionLog,
  // Nothing is open in an empty log, and memory does not fail.
  Effect.suspend(() => Effect.orDie(make(memory())))
)

/**
 * A log in a file, which is made where there is none. It is written by one process at a time, this one until the scope
 * closes.
 *
 * **Errors**: `LogBusy` names the process that has it. `LogCorrupt`, `LogFromFuture` and `LogFailed` leave it as it is.
 *
 * **Limits**: the file must be on a disk of this machine, since a write-ahead log needs memory that is shared.
 */
export const layerSqlite = (file: string): Layer.Layer<SessionLog, OpenError | AppendError> =>
  Layer.effect(SessionLog, Effect.flatMap(Sqlite.storage(file), make))

/** Opens a log for reading, also while another process writes it. */
export const readSqlite = (file: string): Effect.Effect<Reader, OpenError, Scope.Scope> =>
  Effect.map(Sqlite.source(file), readerOf)
