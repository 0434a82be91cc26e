import { assert, describe, it } from "@effect/vitest"
import { SessionLog } from "@quiesce/agent"
import { Abortable } from "@quiesce/core"
import { Effect, Exit, Scope, Stream } from "effect"
import { execFileSync, spawn, spawnSync } from "node:child_process"
import { once } from "node:events"
import { chmodSync, existsSync, readFileSync, truncateSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import type { Duplex } from "node:stream"
import { text } from "node:stream/consumers"
import { cites } from "../../../tests/conformance/cites.ts"
import * as Sqlite from "../src/internal/sqlite.ts"
import { asked, oneTurn, openFile, tempFile, turnStart } from "./support/logs.ts"

const seqs = (reader: SessionLog.Reader) =>
  Effect.map(Stream.runCollect(reader.read()), (entries) => entries.map(({ seq }) => seq))

/** Writes a turn and closes the log. */
const written = Effect.gen(function*() {
  const file = yield* tempFile
  yield* Effect.scoped(Effect.flatMap(openFile(file), (log) => log.append(...oneTurn)))
  return file
})

const sql = (file: string, text: string) =>
  Effect.sync(() => {
    const db = new DatabaseSync(file)
    db.exec(text)
    db.close()
  })

describe("a log in a file", () => {
  it.live(
    cites("is there when it is opened again, and goes on", "TURN-07"),
    () =>
      Effect.gen(function*() {
        const file = yield* written
        const log = yield* openFile(file)
        assert.deepStrictEqual(log.recovered, [])
        assert.strictEqual((yield* log.append(turnStart))[0]?.seq, 8)
        assert.deepStrictEqual(yield* seqs(log), [1, 2, 3, 4, 5, 6, 7, 8])
        assert.deepStrictEqual((yield* log.verify).violations, [])
      }).pipe(Effect.scoped)
  )

  it.live(
    cites("is read while it is written, and the writer is not kept waiting", "TURN-08"),
    () =>
      Effect.gen(function*() {
        const file = yield* written
        const log = yield* openFile(file)
        const reader = yield* SessionLog.readSqlite(file)
        // A reader in the middle of a transaction of its own, for as long as it likes.
        const db = yield* Effect.acquireRelease(
          Effect.sync(() => new DatabaseSync(file, { readOnly: true })),
          (db) => Effect.sync(() => db.close())
        )
        db.exec("BEGIN")
        assert.deepStrictEqual(db.prepare("SELECT count(*) AS n FROM event").get(), { n: 7 } as never)
        yield* log.append(turnStart)
        assert.deepStrictEqual(yield* seqs(reader), [1, 2, 3, 4, 5, 6, 7, 8])
        assert.deepStrictEqual(db.prepare("SELECT count(*) AS n FROM event").get(), { n: 7 } as never)
        assert.strictEqual((yield* reader.verify).turn, 8)
      }).pipe(Effect.scoped)
  )
})

// Who lives, and since when, these tests say in Linux's words.
describe.skipIf(process.platform !== "linux")("the lease", () => {
  it.live(
    cites("is refused to a second writer, of this process too, and names its holder", "TURN-08"),
    () =>
      Effect.gen(function*() {
        const file = yield* tempFile
        const scope = yield* Scope.make()
        const log = yield* Scope.provide(openFile(file), scope)
        const busy = yield* Effect.flip(openFile(file))
        assert(busy._tag === "LogBusy")
        assert.strictEqual(busy.holder.pid, process.pid)
        // And the refused one took nothing away.
        yield* log.append(...oneTurn)
        yield* Scope.close(scope, Exit.void)
        assert.strictEqual((yield* Effect.flatMap(openFile(file), (log) => log.verify)).events, 7)
      }).pipe(Effect.scoped)
  )

  it.live(
    cites("of a living process is respected, and that of a killed one is not", "TURN-08"),
    () =>
      Effect.gen(function*() {
        const file = yield* written
        const child = yield* Effect.acquireRelease(
          Effect.sync(() => spawn("sleep", ["60"], { stdio: "ignore" })),
          (child) => Effect.sync(() => child.kill("SIGKILL"))
        )
        const stat = readFileSync(`/proc/${child.pid}/stat`, "utf8")
        const started = stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19]
        const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim()
        yield* sql(file, `INSERT INTO lease VALUES (1, ${child.pid}, '${started}', '${boot}', 'theirs')`)
        const busy = yield* Effect.flip(Effect.scoped(openFile(file)))
        assert.deepInclude(busy, { _tag: "LogBusy" })
        assert(busy._tag === "LogBusy" && busy.holder.pid === child.pid)
        const exit = once(child, "exit")
        child.kill("SIGKILL")
        yield* Effect.callback<void>((resume) => void exit.then(() => resume(Effect.void)))
        yield* Effect.scoped(openFile(file))
      }).pipe(Effect.scoped)
  )

  /** The lease of this process, in the hands of somebody else. */
  const lease = () => {
    const stat = readFileSync("/proc/self/stat", "utf8")
    return {
      started: stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19]!,
      boot: readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim()
    }
  }
  const put = (file: string, { boot, started }: ReturnType<typeof lease>) =>
    sql(file, `INSERT OR REPLACE INTO lease VALUES (1, ${process.pid}, '${started}', '${boot}', 'theirs')`)

  const gone: ReadonlyArray<readonly [who: string, change: Partial<ReturnType<typeof lease>>]> = [
    ["another process with the same id", { started: "1" }],
    ["a process of an earlier boot", { boot: "earlier" }]
  ]
  it.live.each(gone)(
    cites("of %s is taken over", "TURN-08"),
    ([, change]) =>
      Effect.gen(function*() {
        const file = yield* written
        yield* put(file, lease())
        assert.strictEqual((yield* Effect.flip(Effect.scoped(openFile(file))))._tag, "LogBusy")
        yield* put(file, { ...lease(), ...change })
        yield* Effect.scoped(openFile(file))
      }).pipe(Effect.scoped)
  )

  const untold: ReadonlyArray<readonly [what: string, change: Partial<ReturnType<typeof lease>>]> = [
    ["when it began", { started: "" }],
    ["in which boot", { boot: "" }]
  ]
  it.live.each(untold)(
    cites("of a process that runs, and could not read %s, is not taken over", "TURN-08"),
    ([, change]) =>
      Effect.gen(function*() {
        const file = yield* written
        yield* put(file, { ...lease(), ...change })
        assert.strictEqual((yield* Effect.flip(Effect.scoped(openFile(file))))._tag, "LogBusy")
      }).pipe(Effect.scoped)
  )

  it.live(
    cites("of a process that has ended and was not collected is taken over", "TURN-08"),
    () =>
      Effect.gen(function*() {
        const file = yield* written
        // It ends when its input does. Its parent has become a program by then that collects nobody: that closes its output.
        const script = "cat <&3 >/dev/null & echo $!; exec sleep 60 >&-"
        const parent = yield* Effect.acquireRelease(
          Effect.sync(() => spawn("/bin/sh", ["-c", script], { stdio: ["ignore", "pipe", "ignore", "pipe"] })),
          (parent) => Effect.sync(() => parent.kill("SIGKILL"))
        )
        const pid = Number(yield* Abortable.promise(() => text(parent.stdout!)))
        const input = parent.stdio[3] as Duplex
        input.destroy()
        // There is no event for the end of a process that is not ours.
        const fields = yield* Effect.repeat(
          Effect.andThen(
            Effect.yieldNow,
            Effect.sync(() => {
              const stat = readFileSync(`/proc/${pid}/stat`, "utf8")
              return stat.slice(stat.lastIndexOf(")") + 2).split(" ")
            })
          ),
          { until: ([state]) => state === "Z" }
        )
        const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim()
        yield* sql(file, `INSERT INTO lease VALUES (1, ${pid}, '${fields[19]}', '${boot}', 'theirs')`)
        yield* Effect.scoped(openFile(file))
      }).pipe(Effect.scoped)
  )

  it.live(
    cites("that was lost, by whatever mistake, lets its writer write nothing more", "TURN-08"),
    () =>
      Effect.gen(function*() {
        const file = yield* written
        const log = yield* openFile(file)
        yield* sql(file, "UPDATE lease SET token = 'theirs', pid = 42")
        const error = yield* Effect.flip(log.append(turnStart))
        assert(error._tag === "LogBusy")
        assert.strictEqual(error.holder.pid, 42)
        assert.strictEqual((yield* log.verify).events, 7)
      }).pipe(Effect.scoped)
  )
})

describe("a file that is not as it should be", () => {
  const refused = (file: string) => Effect.flip(Effect.scoped(openFile(file)))

  it.live(
    cites("of a later version is refused, to readers and writers, and not touched", "TURN-09"),
    () =>
      Effect.gen(function*() {
        const file = yield* written
        yield* sql(file, "PRAGMA user_version = 99")
        const before = readFileSync(file)
        for (const error of [yield* refused(file), yield* Effect.flip(SessionLog.readSqlite(file))]) {
          assert.deepInclude(error, { _tag: "LogFromFuture", found: 99, supported: 1 })
        }
        assert.isTrue(before.equals(readFileSync(file)))
      }).pipe(Effect.scoped)
  )

  it.live(
    cites("because it is another program's database, or no database, is refused and not touched", "TURN-09"),
    () =>
      Effect.gen(function*() {
        const file = yield* tempFile
        yield* sql(file, "CREATE TABLE other (x)")
        const before = readFileSync(file)
        assert.strictEqual((yield* refused(file))._tag, "LogCorrupt")
        assert.isTrue(before.equals(readFileSync(file)))
        writeFileSync(file, "Dear diary, ".repeat(500))
        assert.strictEqual((yield* refused(file))._tag, "LogCorrupt")
        assert.isTrue(readFileSync(file, "utf8").startsWith("Dear diary"))
        assert.strictEqual((yield* refused(join(file, "..", "nowhere", "log")))._tag, "LogFailed")
        assert.deepInclude(yield* Effect.flip(SessionLog.readSqlite(`${file}.none`)), { reason: "NotOpened" })
        assert.isFalse(existsSync(`${file}.none`))
      }).pipe(Effect.scoped)
  )

  it.live(
    cites("because a table of it is gone is refused, to readers and writers", "TURN-09"),
    () =>
      Effect.gen(function*() {
        for (const table of ["event", "lease"]) {
          const file = yield* written
          yield* sql(file, `DROP TABLE ${table}`)
          assert.strictEqual((yield* refused(file))._tag, "LogCorrupt", table)
          if (table === "lease") continue
          assert.strictEqual((yield* Effect.flip(SessionLog.readSqlite(file)))._tag, "LogCorrupt")
        }
      }).pipe(Effect.scoped)
  )

  it.live(
    cites("with a record that was changed names it, and what is before it is read", "TURN-09"),
    () =>
      Effect.gen(function*() {
        const file = yield* written
        yield* sql(file, `UPDATE event SET event = replace(event, 'do it', 'do is') WHERE seq = 2`)
        const reader = yield* SessionLog.readSqlite(file)
        const { violations } = yield* reader.verify
        assert.deepStrictEqual(violations.map(({ problem, seq }) => [seq, problem]), [[2, "Corrupt"]])
        const error = yield* Effect.flip(seqs(reader))
        assert.deepInclude(error, { _tag: "LogCorrupt", seq: 2 })
        assert.deepInclude(yield* refused(file), { _tag: "LogCorrupt", seq: 2 })
      }).pipe(Effect.scoped)
  )

  /** A log of some pages. */
  const large = Effect.gen(function*() {
    const file = yield* tempFile
    yield* Effect.scoped(
      Effect.flatMap(
        openFile(file),
        (log) => log.append(turnStart, ...Array.from({ length: 200 }, (_, index) => asked(1, `${index} `.repeat(99))))
      )
    )
    return file
  })

  it.live(
    cites("because it was cut off is reported, by whoever opens or verifies it", "TURN-09"),
    () =>
      Effect.gen(function*() {
        const file = yield* large
        truncateSync(file, 4096 * 5)
        assert.strictEqual((yield* refused(file))._tag, "LogCorrupt")
        const found = yield* Effect.exit(
          Effect.flatMap(SessionLog.readSqlite(file), (reader) => reader.verify)
        )
        assert.isTrue(Exit.isFailure(found) || found.value.violations.length > 0)
      }).pipe(Effect.scoped)
  )

  it.live(
    cites("because a page is torn is reported, by whoever verifies it", "TURN-09"),
    () =>
      Effect.gen(function*() {
        const file = yield* large
        const bytes = readFileSync(file)
        // Half a page in the middle of the table.
        bytes.fill(0, 4096 * 7, 4096 * 7 + 2048)
        writeFileSync(file, bytes)
        const found = yield* Effect.exit(
          Effect.flatMap(SessionLog.readSqlite(file), (reader) => reader.verify)
        )
        assert.isTrue(Exit.isFailure(found) || found.value.violations.length > 0)
        assert.strictEqual((yield* Effect.flip(Effect.flatMap(SessionLog.readSqlite(file), seqs)))._tag, "LogCorrupt")
      }).pipe(Effect.scoped)
  )

  it.live.skipIf(process.getuid?.() === 0)(
    cites("because it may not be written is refused", "TURN-09"),
    () =>
      Effect.gen(function*() {
        const file = yield* written
        chmodSync(file, 0o400)
        assert.deepInclude(yield* refused(file), { _tag: "LogFailed", reason: "ReadOnly" })
      }).pipe(Effect.scoped)
  )

  // A file system of its own that is full after some pages: a mount namespace of a user namespace needs no privilege.
  const canMount = spawnSync("unshare", ["-rm", "mount", "-t", "tmpfs", "none", "/mnt"]).status === 0
  it.live.skipIf(!canMount)(
    cites("because its disk is full or read-only says so, and keeps what was acknowledged", "TURN-09"),
    () =>
      Effect.gen(function*() {
        const file = yield* tempFile
        const directory = join(file, "..")
        const out = execFileSync("unshare", [
          "-rm",
          "sh",
          "-c",
          `mount -t tmpfs -o size=300k none ${directory} && exec "$0" "$@"`,
          process.execPath,
          "--conditions=@quiesce/source",
          join(import.meta.dirname, "support/fill.ts"),
          file
        ], { encoding: "utf8" })
        const { acknowledged, errors, read, readOnly, violations } = JSON.parse(out)
        assert.deepStrictEqual(errors, ["Full"])
        assert.isAbove(acknowledged, 10)
        assert.strictEqual(read, acknowledged)
        assert.deepStrictEqual(violations, [])
        assert.strictEqual(readOnly, "ReadOnly")
      }).pipe(Effect.scoped)
  )

  it.live(
    cites("because it is of an earlier version becomes one of this, step by step", "TURN-09"),
    () =>
      Effect.gen(function*() {
        const file = yield* written
        const steps = [...Sqlite.migrations, "ALTER TABLE event ADD COLUMN note TEXT", "CREATE TABLE more (x)"]
        yield* Effect.scoped(Sqlite.storage(file, steps))
        const db = new DatabaseSync(file, { readOnly: true })
        assert.strictEqual(db.prepare("PRAGMA user_version").get()!["user_version"], 3)
        assert.strictEqual(db.prepare("SELECT count(note) AS n, count(*) AS events FROM event").get()!["events"], 7)
        db.close()
      }).pipe(Effect.scoped)
  )

  it.live(
    cites("because a step towards this version failed stays at the last one that did not", "TURN-09"),
    () =>
      Effect.gen(function*() {
        const file = yield* written
        const steps = [...Sqlite.migrations, "CREATE TABLE more (x)", "CREATE TABLE half (x); CREATE TABLE more (x)"]
        assert.strictEqual((yield* Effect.flip(Effect.scoped(Sqlite.storage(file, steps))))._tag, "LogFailed")
        const db = new DatabaseSync(file, { readOnly: true })
        assert.strictEqual(db.prepare("PRAGMA user_version").get()!["user_version"], 2)
        assert.isUndefined(db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'half'").get())
        db.close()
      }).pipe(Effect.scoped)
  )
})
