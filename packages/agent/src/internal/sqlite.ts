/**
 * A log in a file of `node:sqlite`.
 *
 * 1. The file is a log by its application id, and which one by its version; both are read before anything is written.
 * 2. Every commit is one immediate transaction that first finds the lease of its writer, so that whoever lost it, by
 *    whatever mistake, writes nothing more.
 * 3. With a write-ahead log readers and the writer never wait for each other, and what a killed process has committed
 *    is there. `synchronous` decides only what a machine that loses its power keeps.
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { randomUUID } from "node:crypto"
import type { DatabaseSync, StatementSync } from "node:sqlite"
import {
  type Holder,
  LogBusy,
  LogCorrupt,
  LogFailed,
  LogFromFuture,
  type OpenError,
  type ReadError,
  type WriteError
} from "../LogError.ts"
import * as Lease from "./lease.ts"
import type { Row } from "./record.ts"
import type { Source, Storage } from "./storage.ts"

/** "Qlog" in ASCII. */
const applicationId = 0x516c6f67

/** How a version of the schema becomes the next one. The version of a file is how many of them it has seen. */
export const migrations: ReadonlyArray<string> = [
  `CREATE TABLE event (seq INTEGER PRIMARY KEY, at REAL NOT NULL, sum INTEGER NOT NULL, event TEXT NOT NULL) STRICT;
   CREATE TABLE lease (
     one INTEGER PRIMARY KEY CHECK (one = 1),
     pid INTEGER NOT NULL, started TEXT NOT NULL, boot TEXT NOT NULL, token TEXT NOT NULL
   ) STRICT;`
]

/** A lock is held for one transaction, some milliseconds; while we wait for it this process does nothing else. */
const lockTimeoutMillis = 1_000

/** A connection that reads. */
export const source = (file: string): Effect.Effect<Source, OpenError, Scope.Scope> =>
  Effect.flatMap(open(file, "read"), (db) => prepare(file, () => sourceOf(file, db)))

/** A connection that writes, and the lease: released with the scope. */
export const storage = Effect.fnUntraced(function*(
  file: string,
  steps: ReadonlyArray<string> = migrations
): Effect.fn.Return<Storage, OpenError, Scope.Scope> {
  const db = yield* open(file, "write")
  yield* attempt(file, () => migrate(file, db, steps))
  const { held, insert, read } = yield* prepare(file, () => ({
    held: db.prepare("SELECT pid, started, boot, token FROM lease"),
    insert: db.prepare("INSERT INTO event (seq, at, sum, event) VALUES (?, ?, ?, ?)"),
    read: sourceOf(file, db)
  }))
  const token = randomUUID()
  yield* Effect.acquireRelease(
    attempt(file, () => acquire(file, db, held, token)),
    // A lease that cannot be given back is that of a process that will be gone.
    () => Effect.ignore(attempt(file, () => void db.prepare("DELETE FROM lease WHERE token = ?").run(token)))
  )

  let synchronous: "FULL" | "NORMAL" | undefined
  return {
    ...read,
    commit: (rows, durable) =>
      attempt(file, () => {
        const wanted = durable ? "FULL" : "NORMAL"
        if (synchronous !== wanted) db.exec(`PRAGMA synchronous = ${wanted}`)
        synchronous = wanted
        transaction(db, () => {
          const lease = held.get() as LeaseRow | undefined
          if (lease?.token !== token) throw new LogBusy({ log: file, holder: holderOf(lease) })
          for (const { at, event, seq, sum } of rows) insert.run(seq, at, sum, event)
        })
      }) as Effect.Effect<void, WriteError>
  }
})

interface LeaseRow extends Holder {
  readonly token: string
}

const holderOf = (lease: LeaseRow | undefined): Holder =>
  lease === undefined ? { pid: 0, started: "", boot: "" } : { pid: lease.pid, started: lease.started, boot: lease.boot }

/** `held` finds the lease: there is one, or none. */
const acquire = (file: string, db: DatabaseSync, held: StatementSync, token: string): void => {
  const { boot, pid, started } = Lease.self()
  transaction(db, () => {
    const lease = held.get() as LeaseRow | undefined
    if (lease !== undefined && Lease.isAlive(lease)) throw new LogBusy({ log: file, holder: holderOf(lease) })
    db.prepare("INSERT OR REPLACE INTO lease (one, pid, started, boot, token) VALUES (1, ?, ?, ?, ?)")
      .run(pid, started, boot, token)
  })
}

const open = (file: string, to: "read" | "write"): Effect.Effect<DatabaseSync, OpenError, Scope.Scope> =>
  Effect.acquireRelease(
    attempt(file, () => {
      // Here and not above: whoever keeps logs in memory does not load it, nor hears that Node 22 calls it experimental.
      const { DatabaseSync } = process.getBuiltinModule("node:sqlite")
      const db = new DatabaseSync(file, { readOnly: to === "read", timeout: lockTimeoutMillis })
      try {
        identify(file, db, to)
        if (to === "write") db.exec("PRAGMA journal_mode = WAL")
        return db
      } catch (error) {
        db.close()
        throw error
      }
    }),
    (db) => Effect.ignore(attempt(file, () => db.close()))
  )

const pragma = (db: DatabaseSync, name: "application_id" | "user_version"): number =>
  Number(db.prepare(`PRAGMA ${name}`).get()![name])

/** Refuses what is no log, or one of a later version. An empty file may become one. */
const identify = (file: string, db: DatabaseSync, to: "read" | "write", supported = migrations.length): void => {
  const id = pragma(db, "application_id")
  const found = pragma(db, "user_version")
  const isEmpty = Number(db.prepare("SELECT count(*) AS n FROM sqlite_schema").get()!["n"]) === 0
  if (to === "write" && isEmpty && id === 0 && found === 0) return
  if (id !== applicationId) throw new LogCorrupt({ log: file, problem: "it is not the log of a session" })
  if (found > supported) throw new LogFromFuture({ log: file, found, supported })
}

/** Each step in one transaction with the version it leads to. */
const migrate = (file: string, db: DatabaseSync, steps: ReadonlyArray<string>): void => {
  for (let version = pragma(db, "user_version"); version < steps.length; version++) {
    transaction(db, () => {
      // Another process may have been here first.
      if (pragma(db, "user_version") !== version) return
      identify(file, db, "write", steps.length)
      db.exec(steps[version]!)
      db.exec(`PRAGMA application_id = ${applicationId}; PRAGMA user_version = ${version + 1}`)
    })
  }
}

const transaction = (db: DatabaseSync, work: () => void): void => {
  db.exec("BEGIN IMMEDIATE")
  try {
    work()
    db.exec("COMMIT")
  } catch (error) {
    // A full disk has rolled back already.
    if (db.isTransaction) db.exec("ROLLBACK")
    throw error
  }
}

const sourceOf = (file: string, db: DatabaseSync): Source => {
  const from = db.prepare("SELECT seq, at, sum, event FROM event WHERE seq >= ? ORDER BY seq LIMIT ?")
  const below = db.prepare("SELECT seq, at, sum, event FROM event WHERE seq < ? ORDER BY seq DESC LIMIT ?")
  const read = <A>(work: () => A) => attempt(file, work) as Effect.Effect<A, ReadError>
  return {
    name: file,
    from: (seq, limit) => read(() => from.all(seq, limit) as unknown as ReadonlyArray<Row>),
    below: (seq, limit) => read(() => below.all(seq, limit) as unknown as ReadonlyArray<Row>),
    faults: read(() =>
      db.prepare("PRAGMA integrity_check").all().map((row) => String(row["integrity_check"])).filter((it) =>
        it !== "ok"
      )
    )
  }
}

const attempt = <A>(
  file: string,
  work: () => A,
  read: (file: string, error: unknown) => OpenError = failure
): Effect.Effect<A, OpenError> => Effect.try({ try: work, catch: (error) => read(file, error) })

/** Makes statements. Ours are right: one that makes no sense to the file names a table that is gone from it. */
const prepare = <A>(file: string, make: () => A): Effect.Effect<A, OpenError> =>
  attempt(file, make, (file, error) =>
    (error as SqliteError).errcode === 1
      ? new LogCorrupt({ log: file, problem: (error as SqliteError).message })
      : failure(file, error))

interface SqliteError extends Error {
  readonly code?: string
  readonly errcode?: number
}

/** **Source**: sqlite.org/rescode.html; the low byte of an extended code is the primary one. */
const failure = (file: string, error: unknown): OpenError => {
  if (error instanceof LogBusy || error instanceof LogCorrupt || error instanceof LogFromFuture) return error
  const { code, errcode, message } = error as SqliteError
  if (code === "ERR_INVALID_STATE") return new LogFailed({ log: file, reason: "Closed" })
  switch ((errcode ?? 0) & 0xff) {
    case 5:
    case 6:
      return new LogFailed({ log: file, reason: "Locked", cause: error })
    case 8:
      return new LogFailed({ log: file, reason: "ReadOnly", cause: error })
    case 11:
    case 26:
      return new LogCorrupt({ log: file, problem: message })
    case 13:
      return new LogFailed({ log: file, reason: "Full", cause: error })
    case 14:
      return new LogFailed({ log: file, reason: "NotOpened", cause: error })
    default:
      return new LogFailed({ log: file, reason: "Io", cause: error })
  }
}
