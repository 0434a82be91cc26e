import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { cites } from "../../../../tests/conformance/cites.ts"
import * as Census from "../../src/internal/census.ts"
import * as Lineage from "../../src/internal/lineage.ts"
import { row } from "../support/rows.ts"

/** A machine with an init, a service, a shell in it, this process in that, the leader and its child. */
const machine = () => {
  const rows = new Map(
    [
      row({ pid: 1, ppid: 0, started: 0 }),
      row({ pid: 50, started: 5 }),
      row({ pid: 51, ppid: 50, started: 25 }),
      row({ pid: 90, started: 6 }),
      row({ pid: 100, ppid: 90, started: 10 }),
      row({ pid: 200, ppid: 100 }),
      row({ pid: 201, ppid: 200 })
    ].map((row) => [row.pid, row])
  )
  const asked: Array<number> = []
  const reader: Census.Reader = {
    self: 100,
    row: (pid) => {
      asked.push(pid)
      return rows.get(pid) ?? "Gone"
    },
    children: (pid) => ({
      pids: [...rows.values()].filter(({ ppid }) => ppid === pid).map(({ pid }) => pid),
      isCertain: true
    })
  }
  const take = (changed: Partial<Census.Reader> = {}) =>
    Effect.map(
      Census.take({ ...reader, ...changed }, Lineage.make(rows.get(200)!, "mark")),
      (table) => ({ ...table, pids: table.rows.map(({ pid }) => pid).sort((a, b) => a - b) })
    )
  return { rows, reader, take, asked }
}

describe("a census", () => {
  it.effect("looks at the leader's descendants, at our ancestors and at orphans, and not at what a service runs", () =>
    Effect.gen(function*() {
      const { asked, take } = machine()
      const { isComplete, pids, restless } = yield* take()
      assert.deepStrictEqual(pids, [1, 50, 90, 100, 200, 201])
      assert.isTrue(isComplete && !restless)
      assert.notInclude(asked, 51)
    }))

  it.effect(cites("looks again while somebody passes itself on", "NODE-02"), () =>
    Effect.gen(function*() {
      const { reader, rows, take } = machine()
      // Whoever is looked at has just started its successor, and ended: five times.
      let last = 300
      rows.set(last, row({ pid: last }))
      const { pids } = yield* take({
        row: (pid) => {
          if (pid === last && last < 302) {
            rows.delete(last)
            rows.set(++last, row({ pid: last }))
          }
          return reader.row(pid)
        }
      })
      assert.include(pids, 302)
    }))

  it.effect(
    cites("says so where it never comes to rest, or where a list of children is not to be trusted", "NODE-02"),
    () =>
      Effect.gen(function*() {
        const { reader, rows, take } = machine()
        let next = 300
        const endless = yield* take({
          children: (pid) => {
            if (pid === 1) rows.set(++next, row({ pid: next }))
            return reader.children(pid, "the first thread")
          }
        })
        assert.isTrue(endless.restless)
        const doubtful = yield* take({ children: (pid, of) => ({ ...reader.children(pid, of), isCertain: false }) })
        assert.isTrue(doubtful.restless)
      })
  )

  it.effect(cites("is not complete where somebody cannot be read", "NODE-02"), () =>
    Effect.gen(function*() {
      const { reader, take } = machine()
      const { isComplete } = yield* take({ row: (pid) => pid === 201 ? "Unreadable" : reader.row(pid) })
      assert.isFalse(isComplete)
    }))

  it.effect(
    cites("finds the descendants of somebody known whose parent is gone", "NODE-02"),
    () =>
      Effect.gen(function*() {
        const { reader, rows } = machine()
        const lineage = Lineage.make(rows.get(200)!, "mark")
        rows.delete(200)
        rows.set(201, row({ pid: 201, ppid: 50 }))
        rows.set(202, row({ pid: 202, ppid: 201 }))
        Lineage.remember(lineage, [rows.get(201)!])
        const table = yield* Census.take(reader, lineage)
        assert.includeMembers(table.rows.map(({ pid }) => pid), [201, 202])
      })
  )
})
