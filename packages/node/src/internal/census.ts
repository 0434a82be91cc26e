/**
 * A table of those who could be a command's, without a look at everybody else.
 *
 * A descendant's parent is a descendant, or it is dead and the descendant was given to one of our ancestors or to the
 * first process. So it is enough to follow children: those of the leader, of those known already, and of the orphans.
 * Most processes of a machine are neither, and are not looked at.
 *
 * While it looks, a process may pass itself on: start another one and end. So it looks again until there is nobody new.
 */
import * as Effect from "effect/Effect"
import type { Table } from "./host.ts"
import type { Lineage, Row } from "./lineage.ts"

/** What a census reads; each answer is of that instant. */
export interface Reader {
  readonly self: number
  readonly row: (pid: number) => Row | "Gone" | "Unreadable"
  /** The children of a process: of all its threads, or of its first one, which is the one that orphans are given to. */
  readonly children: (pid: number, of: "every thread" | "the first thread") => Children
}

/** `isCertain` is false where children went while they were listed, which makes the list leave others out. */
export interface Children {
  readonly pids: ReadonlyArray<number>
  readonly isCertain: boolean
}

/** So often newcomers are looked for. Where some appear each time, more would not end it either. */
export const rounds = 5

/** A row takes about 20 µs to read; between slices of so many, others get their turn. */
export const slice = 64

export const take = Effect.fnUntraced(function*(reader: Reader, lineage: Lineage): Effect.fn.Return<Table> {
  const seen = new Map<number, Row | undefined>()
  let isComplete = true
  let isQuiet = false

  const look = (pid: number): Row | undefined => {
    if (seen.has(pid)) return seen.get(pid)
    isQuiet = false
    const found = reader.row(pid)
    if (found === "Unreadable") isComplete = false
    const row = typeof found === "string" ? undefined : found
    seen.set(pid, row)
    return row
  }
  const childrenOf = (pid: number, of: "every thread" | "the first thread"): ReadonlyArray<number> => {
    const { isCertain, pids } = reader.children(pid, of)
    if (!isCertain) isQuiet = false
    return pids
  }

  for (let round = 0; round < rounds && !isQuiet; round++) {
    isQuiet = true
    let count = 0
    const visited = new Set<number>()
    const open = [lineage.leader.pid, ...lineage.known.keys()]
    for (const orphanage of orphanages(reader.self, look)) {
      for (const pid of childrenOf(orphanage, "the first thread")) {
        const row = look(pid)
        if (row !== undefined && row.started >= lineage.leader.started) open.push(pid)
        if (++count % slice === 0) yield* Effect.yieldNow
      }
    }
    for (let pid = open.pop(); pid !== undefined; pid = open.pop()) {
      const row = look(pid)
      if (row === undefined || visited.has(pid)) continue
      visited.add(pid)
      // Whether somebody older is in its session shows in the session's leader, or in an orphan.
      look(row.session)
      open.push(...childrenOf(pid, "every thread"))
      if (++count % slice === 0) yield* Effect.yieldNow
    }
  }
  return { rows: [...seen.values()].filter((row) => row !== undefined), restless: !isQuiet, isComplete }
})

/** This process, its ancestors, and the first process. */
const orphanages = (self: number, look: (pid: number) => Row | undefined): ReadonlySet<number> => {
  const found = new Set<number>()
  for (let pid = self; pid > 0 && !found.has(pid); pid = look(pid)?.ppid ?? 0) found.add(pid)
  look(1)
  return found.add(1)
}
