import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Procfs from "../../src/internal/procfs.ts"

const rest = "S 10 11 12 0 -1 4194304 112 0 0 0 0 0 0 0 20 0 1 0 73024 2990080 394"

it("a name may be anything, parentheses, blanks and newlines included", () => {
  for (const name of ["sleep", "a) R 1 (b", "((", "))", "\n", "", "x y"]) {
    assert.deepStrictEqual(Procfs.parseStat(`4711 (${name}) ${rest}`), {
      pid: 4711,
      ppid: 10,
      pgrp: 11,
      session: 12,
      state: "S",
      started: 73024,
      name
    })
  }
})

it("what is no row is none", () => {
  for (const text of ["", "4711", "4711 (a", "4711 (a) S 1", ")("]) assert.isUndefined(Procfs.parseStat(text))
})

it.live("this process is in the table", () =>
  Effect.gen(function*() {
    const { isComplete, rows } = yield* Procfs.everybody
    assert.isTrue(isComplete)
    assert.deepStrictEqual(rows.find(({ pid }) => pid === process.pid)?.ppid, process.ppid)
    assert.isTrue(Procfs.inSession(Procfs.row(process.pid)!.session).some(({ pid }) => pid === process.pid))
  }))
