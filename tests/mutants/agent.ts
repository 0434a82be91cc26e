/** The mutants of `packages/agent`. */
import type { Mutant } from "./Mutant.ts"

const src = "packages/agent/src"
const test = "packages/agent/test"
const turns = `${test}/Turn.test.ts`
const sessions = `${test}/Session.test.ts`
const logs = `${test}/SessionLog.test.ts`
const files = `${test}/SessionLog.sqlite.test.ts`
const agents = `${test}/Agent.test.ts`
const damage = `${test}/SessionLog.damage.test.ts`

const scheduling: ReadonlyArray<Mutant> = [
  {
    name: "the pool has no bound",
    clause: "TURN-01",
    file: `${src}/internal/step.ts`,
    find: "running < this.#host.maxParallel",
    replace: "running >= 0",
    test: { file: turns, title: "and never more than `maxParallel` at once" }
  },
  {
    name: "an exclusive call starts beside others",
    clause: "TURN-01",
    file: `${src}/internal/step.ts`,
    find: "running === 0",
    replace: "running >= 0",
    test: { file: turns, title: "is empty before an exclusive call starts" }
  },
  {
    name: "the mode is read once",
    clause: "TURN-01",
    file: `${src}/internal/step.ts`,
    find: `  readonly #room = Effect.fnUntraced({ self: this }, function*(this: Step, slot: Slot) {
    while (true) {
      const seen = this.#changes
      // Each time: the tool may have been replaced by another one while its call waited.
      const mode = yield* this.#mode(slot)`,
    replace: `  readonly #room = Effect.fnUntraced({ self: this }, function*(this: Step, slot: Slot) {
    const mode = yield* this.#mode(slot)
    while (true) {
      const seen = this.#changes`,
    test: { file: turns, title: "when a tool became exclusive meanwhile" }
  },
  {
    name: "a later call is asked about while the one before still is",
    clause: "TURN-02",
    file: `${src}/internal/step.ts`,
    find: "yield* call.admitted",
    replace: "yield* Effect.void",
    test: { file: turns, title: "none is asked before the call before is past its approval" }
  },
  {
    name: "results are shown as they come",
    clause: "TURN-02",
    file: `${src}/internal/step.ts`,
    find: "    publish({ _tag: \"Settled\", ...of(slot), result })",
    replace:
      "    publish({ _tag: \"Settled\", ...of(slot), result })\n    publish({ _tag: \"Committed\", ...of(slot), result })",
    test: { file: turns, title: "of what can be seen is the model's" }
  },
  {
    name: "a cancelled turn goes on starting",
    clause: "TURN-03",
    file: `${src}/internal/step.ts`,
    find: "if (this.#host.reason() !== undefined) return",
    replace: "if (false) return",
    test: { file: turns, title: "and runs none of it" }
  },
  {
    name: "what runs is not cancelled with its turn",
    clause: ["TURN-03", "TURN-06"],
    file: `${src}/internal/driver.ts`,
    find: "return Effect.andThen(step.cancel(reason), Effect.sync(() => step.wake()))",
    replace: "return Effect.sync(() => step.wake())",
    test: { file: sessions, title: "is disposed with its scope" }
  },
  {
    name: "a call that cancels its turn while it starts is not cancelled",
    clause: "TURN-03",
    file: `${src}/internal/step.ts`,
    find: "if (cancelled !== undefined) yield* call.cancel(cancelled)",
    replace: "",
    test: { file: turns, title: "one that cancels from within its policy" }
  },
  {
    name: "a denial fails the siblings",
    clause: "TURN-04",
    file: `${src}/internal/step.ts`,
    find: "new Set([\"DENIED\", \"ABORTED\"",
    replace: "new Set([\"ABORTED\"",
    test: { file: turns, title: "goes on behind a call that was denied" }
  },
  {
    name: "a cancelled call is looked for by its label alone",
    clause: "TURN-04",
    file: `${src}/internal/driver.ts`,
    find: "typeof call === \"number\" ? seq === call : request.callId === call",
    replace: "typeof call === \"number\" ? seq <= call : request.callId === call",
    test: { file: turns, title: "is told from another one of the same label by its number" }
  },
  {
    name: "after a fault the others are started all the same",
    clause: "TURN-05",
    file: `${src}/internal/step.ts`,
    find: "if (slot.state !== \"waiting\" || this.#fault !== undefined) return\n",
    replace: "if (slot.state !== \"waiting\") return\n",
    test: { file: turns, title: "while a result is written stops new starts" }
  },
  {
    name: "the cause of a session's end does not outrank the user's",
    clause: "TURN-06",
    file: `${src}/internal/driver.ts`,
    find: "cause !== \"disposed\"",
    replace: "true",
    test: { file: turns, title: "counts the first cause unless the turn is disposed" }
  },
  {
    name: "a cancellation that comes while a turn begins is lost",
    clause: "TURN-06",
    file: `${src}/internal/line.ts`,
    find: "if (current.cause !== undefined) yield* this.#pass(current, current.cause)",
    replace: "",
    test: { file: sessions, title: "a turn that is only beginning" }
  },
  {
    name: "what waits when a session is disposed hears nothing",
    clause: "TURN-06",
    file: `${src}/internal/line.ts`,
    find: "for (const { ended, text } of this.#waiting.splice(0)) {",
    replace: "for (const { ended, text } of this.#waiting.slice(0, 0)) {",
    test: { file: sessions, title: "refuses what waits and what comes" }
  },
  {
    name: "an input is stored between a call and its result",
    clause: "TURN-06",
    file: `${src}/internal/driver.ts`,
    find: "this.#exclusively(Effect.asVoid(this.#settings.log.append({ _tag: \"input\", turn: this.seq, text })))",
    replace: "Effect.asVoid(this.#settings.log.append({ _tag: \"input\", turn: this.seq, text }))",
    test: { file: turns, title: "in the middle of a step behind its results" }
  },
  {
    name: "incomplete arguments run",
    clause: "TURN-10",
    file: `${src}/internal/step.ts`,
    find: "case \"Incomplete\":\n        return",
    replace: "case \"Incomplete\":\n        if (args.text === \"\") return",
    test: { file: turns, title: "are recorded as they came, and never run" }
  },
  {
    name: "a turn does not wait for its calls when it is interrupted",
    clause: ["TURN-03", "TURN-06"],
    file: `${src}/internal/driver.ts`,
    find: "() => Effect.andThen(this.cancel(\"parent\"), Fiber.await(fiber))",
    replace: "() => Effect.void",
    test: { file: turns, title: "by interrupting whoever waits for a step" }
  },
  {
    name: "a step that runs when the turn ends is not cancelled",
    clause: "TURN-06",
    file: `${src}/internal/driver.ts`,
    find: "isCut || this.#steps > 0 ? this.cancel(\"parent\")",
    replace: "isCut ? this.cancel(\"parent\")",
    test: { file: turns, title: "by closing its scope drains a step that runs" }
  },
  {
    name: "a failure skips nothing",
    clause: "TURN-04",
    file: `${src}/internal/step.ts`,
    find: "return this.#failed && aborted(",
    replace: "return false && aborted(",
    test: { file: turns, title: "what `onFailure: skip` says" }
  },
  {
    name: "a failure cancels nothing",
    clause: "TURN-04",
    file: `${src}/internal/step.ts`,
    find: "failing && this.#host.onFailure === \"cancel\"",
    replace: "false",
    test: { file: turns, title: "what `onFailure: cancel` says" }
  },
  {
    name: "any number of calls is a bound",
    clause: "TURN-01",
    file: `${src}/Turn.ts`,
    find: "!Number.isInteger(maxParallel) || maxParallel < 1",
    replace: "false",
    test: { file: turns, title: "of 0 is refused" }
  },
  {
    name: "what nobody listened to is told nothing",
    clause: "TURN-06",
    file: `${src}/internal/line.ts`,
    find: "for (const { stored } of current.said.splice(0)) Deferred.doneUnsafe(stored, Effect.succeed(false))",
    replace: "",
    test: { file: sessions, title: "that nobody listened to is told so" }
  },
  {
    name: "a turn leaves a listener on its signal",
    clause: "TURN-06",
    file: `${src}/Agent.ts`,
    find: "(listener) => Effect.sync(() => signal.removeEventListener(\"abort\", listener))",
    replace: "() => Effect.void",
    test: { file: agents, title: "runs turns, tells their events and shows their history" }
  },
  {
    name: "a signal that is aborted already cancels nothing",
    clause: "TURN-06",
    file: `${src}/Agent.ts`,
    find: "if (signal.aborted) listener()\n",
    replace: "",
    test: { file: agents, title: "cancels a turn by its signal" }
  },
  {
    name: "a closed agent leaves its turns running",
    clause: "TURN-06",
    file: `${src}/Agent.ts`,
    find: "(turn) => turn.cancel(\"disposed\"), { discard: true }",
    replace: "() => Effect.void, { discard: true }",
    test: { file: agents, title: "closes when its turn is quiet" }
  },
  {
    name: "a stage is told of whichever call comes first",
    clause: "TURN-02",
    file: `${src}/internal/driver.ts`,
    find: "call?.token === token",
    replace: "call !== undefined",
    test: { file: turns, title: "tell each stage of each call once" }
  }
]

const log: ReadonlyArray<Mutant> = [
  {
    name: "a second result is taken",
    clause: ["TURN-07", "TURN-10"],
    file: `${src}/internal/ledger.ts`,
    find: "if (call.state === \"answered\") return \"Answered\"\n",
    replace: "",
    test: { file: logs, title: "is refused and named: a second result" }
  },
  {
    name: "a turn ends with calls that have no result",
    clause: "TURN-07",
    file: `${src}/internal/ledger.ts`,
    find: "return this.#unanswered === 0 ? undefined : \"Unanswered\"",
    replace: "return undefined",
    test: { file: logs, title: "the end of a turn with calls that have no result" }
  },
  {
    name: "a mark is not synced",
    clause: ["TURN-07", "TURN-09"],
    file: `${src}/LogEvent.ts`,
    find: "_tag === \"tool/dispatched\" || _tag === \"tool/result\"",
    replace: "_tag === \"tool/result\"",
    test: { file: logs, title: "and is synced for a mark or a result" }
  },
  {
    name: "every mark has a commit of its own",
    clause: "TURN-07",
    file: `${src}/internal/writer.ts`,
    find: "const batch = this.#waiting\n",
    replace: "const batch = this.#waiting.slice(0, 1)\n",
    test: { file: logs, title: "is shared by all marks that come due" }
  },
  {
    name: "the ledger runs ahead of the disk",
    clause: "TURN-07",
    file: `${src}/internal/writer.ts`,
    find: "        if (Exit.isSuccess(exit)) {\n",
    replace: "        if (accepted.length <= 1) {\n",
    test: { file: logs, title: "that fails leaves the log where it was" }
  },
  {
    name: "a call that a body makes is marked with its caller's number",
    clause: "TURN-07",
    file: `${src}/SessionLog.ts`,
    find: "seq === undefined || writer.ledger.isMarked(seq)",
    replace: "seq === undefined",
    test: { file: turns, title: "has nothing of the calls that a body makes" }
  },
  {
    name: "whoever joins the line is interrupted before it is served",
    clause: "TURN-07",
    file: `${src}/internal/writer.ts`,
    find: "return Effect.uninterruptibleMask((restore) =>",
    replace:
      "return ((f: (restore: <A>(effect: A) => A) => Effect.Effect<ReadonlyArray<Entry>, AppendError>) => f((it) => it))((restore) =>",
    test: { file: "tests/races/races.test.ts", title: "two writers of one log, and one that is interrupted" }
  },
  {
    name: "every call that a crash left open counts as run",
    clause: "TURN-08",
    file: `${src}/internal/closing.ts`,
    find: "const isMarked = call.state === \"marked\"",
    replace: "const isMarked = call.state !== \"answered\"",
    test: { file: logs, title: "aborts marked calls, and those without a mark before dispatch" }
  },
  {
    name: "recovery closes what its own writer has open",
    clause: "TURN-08",
    file: `${src}/SessionLog.ts`,
    find: "ledger.turn !== undefined && ledger.turn <= inherited",
    replace: "ledger.turn !== undefined",
    test: { file: logs, title: "nor to a turn of this writer's own" }
  },
  {
    name: "a lease is taken whoever holds it",
    clause: "TURN-08",
    file: `${src}/internal/sqlite.ts`,
    find: "lease !== undefined && Lease.isAlive(lease)",
    replace: "false",
    test: { file: files, title: "is refused to a second writer" }
  },
  {
    name: "a process is known by its id alone",
    clause: "TURN-08",
    file: `${src}/internal/lease.ts`,
    find: "return !differ(holder.started, found?.started ?? unknown)",
    replace: "return true",
    test: { file: files, title: "of another process with the same id is taken over" }
  },
  {
    name: "a process that has ended holds its lease until somebody collects it",
    clause: "TURN-08",
    file: `${src}/internal/lease.ts`,
    find: "if (found?.isZombie === true) return false\n",
    replace: "",
    test: { file: files, title: "of a process that has ended and was not collected" }
  },
  {
    name: "a writer that lost its lease goes on",
    clause: "TURN-08",
    file: `${src}/internal/sqlite.ts`,
    find: "if (lease?.token !== token) throw",
    replace: "if (false) throw",
    test: { file: files, title: "that was lost, by whatever mistake" }
  },
  {
    name: "a sum is not looked at",
    clause: "TURN-09",
    file: `${src}/internal/record.ts`,
    find: "if (!isNext) return corrupt",
    replace: "if (false) return corrupt",
    test: { file: logs, title: "names the record that was changed" }
  },
  {
    name: "a gap is passed over",
    clause: "TURN-09",
    file: `${src}/internal/record.ts`,
    find: "if (row.seq > seq) return corrupt",
    replace: "if (row.seq > seq + 1_000) return corrupt",
    test: { file: logs, title: "names a record that is gone" }
  },
  {
    name: "the sum of a damaged row is gone on from",
    clause: "TURN-09",
    file: `${src}/internal/record.ts`,
    find: "(isSum(previous) && row.sum ===",
    replace: "(row.sum ===",
    test: { file: damage, title: "by no sum say so" }
  },
  {
    name: "a reader follows a damaged index back",
    clause: "TURN-09",
    file: `${src}/internal/reader.ts`,
    find: "if (row.seq < next.seq) continue",
    replace: "",
    test: { file: damage, title: "that leads back are read to an end" }
  },
  {
    name: "a log of a later version is opened",
    clause: "TURN-09",
    file: `${src}/internal/sqlite.ts`,
    find: "if (found > supported) throw",
    replace: "if (false) throw",
    test: { file: files, title: "of a later version is refused" }
  },
  {
    name: "a step of a migration is not undone when it fails",
    clause: "TURN-09",
    file: `${src}/internal/sqlite.ts`,
    find: "      db.exec(steps[version]!)\n",
    replace:
      "      db.exec(\"COMMIT; BEGIN\")\n      for (const one of steps[version]!.split(\";\")) db.exec(`${one}; COMMIT; BEGIN`)\n",
    test: { file: files, title: "a step towards this version failed" }
  },
  {
    name: "a second mark is taken",
    clause: "TURN-07",
    file: `${src}/internal/ledger.ts`,
    find: "  marked: \"Marked\",",
    replace: "  marked: undefined,",
    test: { file: logs, title: "is refused and named: a second mark" }
  },
  {
    name: "a result says that a body ran, and no mark does",
    clause: "TURN-07",
    file: `${src}/internal/ledger.ts`,
    find: "return event.result.dispatched && call.state === \"open\" ? \"Unmarked\" : undefined",
    replace: "return undefined",
    test: { file: logs, title: "a result that says the body ran, without a mark" }
  },
  {
    name: "the result of another call is taken",
    clause: "TURN-10",
    file: `${src}/internal/ledger.ts`,
    find: "if (event.result.callId !== call.callId || event.result.name !== call.name) return \"OtherCall\"\n",
    replace: "",
    test: { file: logs, title: "is refused and named: a result under another label" }
  },
  {
    name: "a call joins a step that runs",
    clause: "TURN-07",
    file: `${src}/internal/ledger.ts`,
    find: "return this.#speaking ? undefined : \"OutOfOrder\"",
    replace: "return undefined",
    test: { file: logs, title: "is refused and named: a call behind the marks of its step" }
  },
  {
    name: "a turn begins inside a turn",
    clause: "TURN-07",
    file: `${src}/internal/ledger.ts`,
    find: "return this.turn === undefined ? undefined : \"TurnOpen\"",
    replace: "return undefined",
    test: { file: logs, title: "is refused and named: a turn inside a turn" }
  },
  {
    name: "the end of another turn ends this one",
    clause: "TURN-10",
    file: `${src}/internal/ledger.ts`,
    find: "if (event.turn !== this.turn) return \"NoTurn\"\n        return this.#unanswered",
    replace: "return this.#unanswered",
    test: { file: logs, title: "is refused and named: the end of another turn" }
  },
  {
    name: "a closed log goes on taking events",
    clause: "TURN-07",
    file: `${src}/internal/writer.ts`,
    find: "if (this.#closed) return",
    replace: "if (false) return",
    test: { file: logs, title: "is awaited by whoever closes the log, and nothing is written afterwards" }
  },
  {
    name: "a log is closed while it is written",
    clause: "TURN-07",
    file: `${src}/internal/writer.ts`,
    find: "return this.#idle === undefined ? Effect.void : Deferred.await(this.#idle)",
    replace: "return Effect.void",
    test: { file: logs, title: "is awaited by whoever closes the log" }
  },
  {
    name: "one that the disk does not take takes others with it",
    clause: "TURN-07",
    file: `${src}/internal/writer.ts`,
    find: "} else if (accepted.length > 1) {",
    replace: "} else if (accepted.length > 1_000) {",
    test: { file: logs, title: "that fails for several is tried for each alone" }
  },
  {
    name: "lines are imported out of order",
    clause: "TURN-09",
    file: `${src}/SessionLog.ts`,
    find: "decoded.success.seq === seq\n",
    replace: "decoded.success.seq > 0\n",
    test: { file: logs, title: "a log in memory > imports nothing where a line is damaged" }
  },
  {
    name: "a log is imported into one that has events",
    clause: "TURN-07",
    file: `${src}/SessionLog.ts`,
    find: "ledger.seq > 0 ? \"NotEmpty\"",
    replace: "ledger.seq > 1_000 ? \"NotEmpty\"",
    test: { file: logs, title: "a log in memory > becomes lines, and of the lines the same log" }
  },
  {
    name: "a process of an earlier boot holds its lease",
    clause: "TURN-08",
    file: `${src}/internal/lease.ts`,
    find: "if (differ(holder.boot, boot())) return false\n",
    replace: "",
    test: { file: files, title: "of a process of an earlier boot is taken over" }
  },
  {
    name: "a process that could not read who it is has lost its lease",
    clause: "TURN-08",
    file: `${src}/internal/lease.ts`,
    find: "one !== unknown && other !== unknown && one !== other",
    replace: "one !== other",
    test: { file: files, title: "of a process that runs, and could not read in which boot, is not taken over" }
  },
  {
    name: "a log without its tables is a defect",
    clause: "TURN-09",
    file: `${src}/internal/sqlite.ts`,
    find: "Effect.flatMap(open(file, \"read\"), (db) => prepare(file, () => sourceOf(file, db)))",
    replace: "Effect.map(open(file, \"read\"), (db) => sourceOf(file, db))",
    test: { file: files, title: "because a table of it is gone is refused" }
  },
  {
    name: "another program's database becomes a log",
    clause: "TURN-09",
    file: `${src}/internal/sqlite.ts`,
    find: "if (id !== applicationId) throw",
    replace: "if (false) throw",
    test: { file: files, title: "because it is another program's database" }
  }
]

export const agent: ReadonlyArray<Mutant> = [...scheduling, ...log]
