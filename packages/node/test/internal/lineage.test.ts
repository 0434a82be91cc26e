import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Effect, Schema } from "effect"
import { cites } from "../../../../tests/conformance/cites.ts"
import * as Census from "../../src/internal/census.ts"
import * as Lineage from "../../src/internal/lineage.ts"
import { row } from "../support/rows.ts"

/**
 * What processes can do to hide from whoever started them, and to be mistaken for somebody's: `hand` is a process
 * starting another one with the mark and the pipes of the command, as a job queue does that was handed them.
 */
const deeds = ["fork", "hand", "exit", "reap", "setpgid", "setsid", "clear", "close", "look"] as const

interface Deed {
  readonly who: number
  readonly what: typeof deeds[number]
}

interface Living extends Lineage.Row {
  /** The truth, which no table shows: it descends from the leader. */
  isOurs: boolean
  /** It descends from somebody who was handed what is the command's. */
  isHanded: boolean
  marked: boolean
  piped: boolean
  ppid: number
  pgrp: number
  session: number
  state: string
}

/** A machine with an init, a host, another service, and the command's leader, played forward by deeds. */
const play = (history: ReadonlyArray<Deed>, pidMax: number) => {
  const table = new Map<number, Living>()
  let clock = 10
  let cursor = 0
  const born = (row: Partial<Living>): Living | undefined => {
    // Pids are given in a circle, and never one that is in use as a pid, a group or a session: this is the kernel's rule.
    const used = new Set([...table.values()].flatMap((row) => [row.pid, row.pgrp, row.session]))
    for (let tries = 0; tries < pidMax; tries++) {
      cursor = cursor % pidMax + 1
      if (used.has(cursor)) continue
      const living: Living = {
        pid: cursor,
        ppid: 1,
        pgrp: cursor,
        session: cursor,
        state: "S",
        started: clock++,
        name: "p",
        isOurs: false,
        isHanded: false,
        marked: false,
        piped: false,
        ...row
      }
      table.set(cursor, living)
      return living
    }
    return undefined
  }
  const init = born({ ppid: 0 })!
  const host = born({})!
  const service = born({})!
  born({ ppid: service.pid, pgrp: service.pid, session: service.pid })
  const leader = born({ ppid: host.pid, isOurs: true, marked: true, piped: true })!
  const lineage = Lineage.make({ ...leader }, "mark")
  const carries = (row: Lineage.Row, by: "marked" | "piped") => table.get(row.pid)![by] ? "Carries" : "Lacks"
  const look = (by: "marked" | "piped" = "marked") => {
    const seen = Lineage.attribute(
      [...table.values()].map((row) => ({ ...row })),
      lineage,
      { ...host },
      (row) => carries(row, by)
    )
    Lineage.replace(lineage, seen.ours)
    return seen
  }
  const bury = (pid: number) => {
    table.delete(pid)
    if (pid === leader.pid && leader.state === "Z") {
      // What the parent does in the tick in which it learns of the exit.
      Lineage.remember(lineage, [...table.values()].filter((row) => row.session === pid).map((row) => ({ ...row })))
    }
  }

  for (const { what, who } of history) {
    const actors = [...table.values()].filter((row) => row !== init && row !== host)
    const actor = actors[who % actors.length]
    if (actor === undefined) continue
    if (what === "look") {
      look()
      continue
    }
    if (what === "reap") {
      for (const row of table.values()) if (row.state === "Z") bury(row.pid)
      continue
    }
    if (actor.state === "Z") continue
    switch (what) {
      case "fork":
      case "hand":
        born({
          ppid: actor.pid,
          pgrp: actor.pgrp,
          session: actor.session,
          isOurs: actor.isOurs,
          isHanded: actor.isHanded || what === "hand",
          marked: actor.marked || what === "hand",
          piped: actor.piped || what === "hand"
        })
        break
      case "exit":
        actor.state = "Z"
        for (const child of table.values()) if (child.ppid === actor.pid) child.ppid = init.pid
        break
      case "setpgid":
        if (actor.session !== actor.pid) actor.pgrp = actor.pid
        break
      case "setsid":
        if (actor.pgrp !== actor.pid) actor.pgrp = actor.session = actor.pid
        break
      case "clear":
        actor.marked = false
        break
      case "close":
        actor.piped = false
        break
    }
  }
  /** The same by a census, which looks only at those who could be ours. */
  const sparse = (by: "marked" | "piped") => {
    const reader: Census.Reader = {
      self: host.pid,
      row: (pid) => table.has(pid) ? { ...table.get(pid)! } : "Gone",
      children: (pid) => ({
        pids: [...table.values()].filter((row) => row.ppid === pid).map((row) => row.pid),
        isCertain: true
      })
    }
    const { isComplete, restless, rows } = Effect.runSync(Census.take(reader, lineage))
    assert.isTrue(isComplete && !restless)
    return Lineage.attribute(rows, lineage, { ...host }, (row) => carries(row, by))
  }
  return { table, lineage, look, sparse }
}

const history = Arbitrary.array(
  Arbitrary.schema(Schema.Struct({
    who: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 40 })),
    what: Schema.Literals(deeds)
  })),
  { minLength: 10, maxLength: 120 }
)

const without = (history: ReadonlyArray<Deed>, ...deeds: ReadonlyArray<Deed["what"]>) =>
  history.filter(({ what }) => !deeds.includes(what))

const pids = (rows: ReadonlyArray<Lineage.Row>) => rows.map(({ pid }) => pid).sort((a, b) => a - b)

const truly = (table: ReadonlyMap<number, Living>) =>
  pids([...table.values()].filter((row) => row.isOurs && row.state !== "Z"))

describe("attribution", () => {
  const self = row({ pid: 100, started: 10 })
  const leader = row({ pid: 200, ppid: 100 })
  const attribute = (...rows: ReadonlyArray<Lineage.Row>) => {
    const seen = Lineage.attribute([self, leader, ...rows], Lineage.make(leader, "mark"), self, () => "Carries")
    return { alive: pids(seen.alive), suspects: pids(seen.suspects) }
  }

  it(cites("who carries the mark is ours if it is orphaned, in a session as young as the command", "NODE-02"), () => {
    assert.deepStrictEqual(attribute(row({ pid: 300 })), { alive: [200, 300], suspects: [] })
  })

  it(cites("who carries the mark but has a parent that is a stranger is a suspect", "NODE-04"), () => {
    const service = row({ pid: 50, started: 5 })
    assert.deepStrictEqual(attribute(service, row({ pid: 300, ppid: 50 })), { alive: [200], suspects: [300] })
  })

  it(cites("who carries the mark in a session with somebody older than the command is a suspect", "NODE-04"), () => {
    const service = row({ pid: 50, started: 5 })
    assert.deepStrictEqual(attribute(service, row({ pid: 300, session: 50 })), { alive: [200], suspects: [300] })
  })

  it(cites("who is older than the command is not even asked for its mark", "NODE-04"), () => {
    assert.deepStrictEqual(attribute(row({ pid: 300, started: 19 })), { alive: [200], suspects: [] })
  })

  it(cites("the number of the command's session proves nothing once nobody known is in it", "NODE-04"), () => {
    const successor = [row({ pid: 200, started: 30 }), row({ pid: 300, session: 200, started: 31 })]
    const lacks = () => "Lacks" as const
    const found = Lineage.attribute([self, ...successor], Lineage.make(leader, "mark"), self, lacks)
    assert.deepStrictEqual(found.ours, [])
    const lineage = Lineage.make(leader, "mark")
    const heir = row({ pid: 299, session: 200 })
    Lineage.remember(lineage, [heir])
    assert.deepStrictEqual(
      pids(Lineage.attribute([self, heir, row({ pid: 300, session: 200 })], lineage, self, lacks).ours),
      [299, 300]
    )
  })

  it(cites("a pid that was given away again is somebody else", "NODE-04"), () => {
    const lineage = Lineage.make(leader, "mark")
    Lineage.remember(lineage, [row({ pid: 300 })])
    const found = Lineage.attribute([self, row({ pid: 300, started: 99 })], lineage, self, () => "Lacks")
    assert.deepStrictEqual(found.ours, [])
  })

  it(
    cites("an orphan is given to an ancestor of this process, to the first process, or to this process", "NODE-02"),
    () => {
      const parents = [row({ pid: 70, ppid: 60, started: 1 }), row({ pid: 60, ppid: 0, started: 1 })]
      const found = Lineage.attribute(
        [...parents, { ...self, ppid: 70 }, leader, ...[60, 70, 100, 0].map((ppid, i) => row({ pid: 300 + i, ppid }))],
        Lineage.make(leader, "mark"),
        { ...self, ppid: 70 },
        () => "Carries"
      )
      assert.deepStrictEqual(pids(found.alive), [200, 300, 301, 302, 303])
    }
  )

  it.prop(
    cites("law: a census of those who could be ours finds the same as a look at everybody", "NODE-02", "NODE-04"),
    { history, pidMax: Schema.Int.check(Schema.isBetween({ minimum: 8, maximum: 60 })) },
    ({ history, pidMax }) => {
      const { look, sparse } = play(history, pidMax)
      for (const by of ["marked", "piped"] as const) {
        const found = sparse(by)
        const all = look(by)
        assert.deepStrictEqual(pids(found.ours), pids(all.ours))
        assert.deepStrictEqual(pids(found.alive), pids(all.alive))
      }
    },
    { arbitrary: { runs: 1500 } }
  )

  it.prop(
    cites(
      "law: takes nobody for one of ours who neither descends from it nor was handed what is the command's, also where pids are given away again",
      "NODE-04"
    ),
    { history, pidMax: Schema.Int.check(Schema.isBetween({ minimum: 7, maximum: 14 })) },
    ({ history, pidMax }) => {
      const { look, table } = play(history, pidMax)
      for (const by of ["marked", "piped"] as const) {
        for (const { pid } of look(by).ours) {
          const { isHanded, isOurs } = table.get(pid)!
          assert.isTrue(isOurs || isHanded, `${pid} is a stranger`)
        }
      }
    },
    { arbitrary: { runs: 1500 } }
  )

  it.prop(
    cites("law: finds every living descendant that did not clear its environment", "NODE-02"),
    { history },
    ({ history }) => {
      const { look, table } = play(without(history, "hand", "clear"), 1000)
      assert.deepStrictEqual(pids(look().alive), truly(table))
    },
    { arbitrary: { runs: 1500 } }
  )

  it.prop(
    cites("law: finds every living descendant that did not close its files", "NODE-02"),
    { history },
    ({ history }) => {
      const { look, table } = play(without(history, "hand", "close"), 1000)
      assert.deepStrictEqual(pids(look("piped").alive), truly(table))
    },
    { arbitrary: { runs: 1500 } }
  )

  it.prop(
    cites("law: finds whoever stays in the session or keeps its parent, whatever it clears and closes", "NODE-02"),
    { history },
    ({ history }) => {
      const { look, table } = play(without(history, "hand", "setsid"), 1000)
      assert.deepStrictEqual(pids(look().alive), truly(table))
    },
    { arbitrary: { runs: 1500 } }
  )
})
