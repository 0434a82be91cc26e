import { assert, it } from "@effect/vitest"
import { Command, Process } from "@quiesce/node"
import { Effect } from "effect"
import { cites } from "../../../../tests/conformance/cites.ts"
import { Host } from "../../src/internal/host.ts"
import { hostNode } from "../../src/internal/hostNode.ts"
import * as PsTable from "../../src/internal/psTable.ts"
import { alive, fingerprint, startedUntil } from "../support/world.ts"

it("a line of ps is a row, whatever the program calls itself", () => {
  assert.deepStrictEqual(PsTable.parseLine("  4711     1  4700 Ss+  Sun Nov  9 10:57:05 2025 /bin/a b) 1"), {
    pid: 4711,
    ppid: 1,
    pgrp: 4700,
    session: 4700,
    state: "S",
    started: Date.parse("2025-11-09T10:57:05"),
    name: "a"
  })
  assert.strictEqual(PsTable.parseLine("1 0 1 Z Sun Nov 30 10:57:05 2025 <defunct>")?.state, "Z")
  for (const line of ["", "PID PPID", "1 0 1 S yesterday sh"]) assert.isUndefined(PsTable.parseLine(line))
})

it.live("this process is in the table of ps", () =>
  Effect.gen(function*() {
    const { isComplete, rows } = yield* PsTable.everybody
    assert.isTrue(isComplete)
    assert.strictEqual(rows.find(({ pid }) => pid === process.pid)?.ppid, process.ppid)
    assert.isUndefined(PsTable.row(2 ** 22 + 1))
  }))

it.live(
  cites("by the table of ps a cancelled command leaves nobody, also none that left its group", "NODE-01", "NODE-02"),
  () =>
    Effect.gen(function*() {
      const host: Host = { ...hostNode(), ...PsTable, self: PsTable.row(process.pid)! }
      const mark = fingerprint()
      const script = `sleep ${mark} & setsid sleep ${mark} & (setsid sleep ${mark} &) ; echo ready; wait; sleep 1000`
      yield* Effect.gen(function*() {
        const { cancel } = yield* startedUntil(Command.shell(script), "ready")
        const outcome = yield* cancel
        assert.deepStrictEqual(alive(mark), [])
        assert.deepStrictEqual(outcome.residue, [])
        assert.strictEqual(yield* Process.text(Command.make("echo", ["hi"])), "hi\n")
      }).pipe(Effect.provideService(Host, host))
    })
)
