/**
 * Which processes of a process table descend from a command, also those that left its group.
 *
 * A descendant can leave the group (`setpgid`), leave the session (`setsid`), lose its parent (a double fork) and
 * clear its environment. It cannot undo all of what it inherited at once without closing every door it uses:
 *
 * 1. *Known.* Pid and start time together name one process for ever; once ours, it stays ours.
 * 2. *Kinship.* A child of one of ours is ours.
 * 3. *Session.* A session is only ever entered by `fork`, so everybody in a session that one of ours leads is ours. The
 *    command's own session stays ours without its leader: while somebody known is in it (a zombie counts), the kernel
 *    does not give its number away. When nobody is, the number proves nothing.
 * 4. *Mark.* The environment of every descendant holds the command's mark, unless it was cleared.
 * 5. *Files.* A descendant holds the command's pipes, unless it closed them.
 *
 * Marks and files can be handed to strangers (a job queue copies an environment, a service manager receives pipes).
 * So a process that has only these is ours if, besides, it is orphaned (its parent is one of the ancestors of this
 * process: orphans go nowhere else) and its session has nobody older than the leader. Otherwise it is a *suspect*: it is
 * reported and never signalled.
 */

/** One line of a process table. */
export interface Row {
  readonly pid: number
  readonly ppid: number
  readonly pgrp: number
  readonly session: number
  /** `Z` and `X` are dead, `T` is stopped; the rest lives. */
  readonly state: string
  /** When it started, in the unit of the host's table: larger is later, and with `pid` it names one process for ever. */
  readonly started: number
  readonly name: string
}

/** What is known of a command's processes; `known` holds those that were there when last looked. */
export interface Lineage {
  readonly mark: string
  readonly leader: Row
  readonly known: Map<number, Row>
}

export const make = (leader: Row, mark: string): Lineage => ({
  mark,
  leader,
  known: new Map([[leader.pid, leader]])
})

/** Adds processes that are proved to be the command's. */
export const remember = (self: Lineage, rows: ReadonlyArray<Row>): void => {
  for (const row of rows) self.known.set(row.pid, row)
}

/** Replaces what is known by all that is there now. */
export const replace = (self: Lineage, rows: ReadonlyArray<Row>): void => {
  self.known.clear()
  remember(self, rows)
}

/**
 * What a row carries of our mark or our files; `Unreadable` is a process that hides it, or is just being replaced by
 * `exec`.
 */
export type Carries = "Carries" | "Lacks" | "Unreadable"

export interface Attribution {
  /** Ours, the dead ones that were not reaped included. */
  readonly ours: ReadonlyArray<Row>
  /** Ours and alive. */
  readonly alive: ReadonlyArray<Row>
  /** Strangers that carry the mark or hold a pipe. */
  readonly suspects: ReadonlyArray<Row>
  /** Some row could not be read: look again before believing that nobody is left. */
  readonly unreadable: boolean
}

export const isAlive = (row: Row): boolean => row.state !== "Z" && row.state !== "X" && row.state !== "x"

export const isSame = (a: Row, b: Row): boolean => a.pid === b.pid && a.started === b.started

/** Whether `row` is the same living process `now`. */
export const isThere = (now: Row | undefined, row: Row): boolean =>
  now !== undefined && isSame(now, row) && isAlive(now)

/**
 * Finds the command's processes in `table`.
 *
 * `carries` is asked only about rows that kinship and session leave open and that are young enough to descend from
 * the leader, since it is the expensive question.
 */
export const attribute = (
  table: ReadonlyArray<Row>,
  lineage: Lineage,
  self: Row,
  carries: (row: Row) => Carries
): Attribution => {
  const { known, leader } = lineage
  const young = table.filter((row) => row.started >= leader.started && row.pid !== self.pid)
  const orphanages = orphanagesOf(table, self)
  const strange = new Set<number>([0, self.session])
  for (const row of table) if (row.started < leader.started) strange.add(row.session)

  const ours = new Map<number, Row>()
  const sessions = new Set<number>()
  const adopt = (row: Row) => {
    ours.set(row.pid, row)
    if (row.pid === row.session) sessions.add(row.session)
  }
  const close = () => {
    for (let before = -1; before !== ours.size;) {
      before = ours.size
      for (const row of young) {
        if (!ours.has(row.pid) && (ours.has(row.ppid) || sessions.has(row.session))) adopt(row)
      }
    }
  }

  for (const row of young) {
    const before = known.get(row.pid)
    if (before === undefined || !isSame(before, row)) continue
    adopt(row)
    if (row.session === leader.session && !strange.has(row.session)) sessions.add(row.session)
  }
  close()

  const suspects: Array<Row> = []
  let unreadable = false
  for (const row of young) {
    if (ours.has(row.pid) || !isAlive(row)) continue
    const answer = carries(row)
    if (answer === "Lacks") continue
    const orphaned = orphanages.has(row.ppid) && !strange.has(row.session)
    if (answer === "Unreadable") unreadable ||= orphaned
    else if (orphaned) adopt(row)
    else suspects.push(row)
  }
  close()

  return {
    ours: [...ours.values()],
    alive: [...ours.values()].filter(isAlive),
    suspects: suspects.filter((row) => !ours.has(row.pid)),
    unreadable
  }
}

/** Who may be given a dead process's children: an ancestor of this process, or the first process of the namespace. */
const orphanagesOf = (table: ReadonlyArray<Row>, self: Row): ReadonlySet<number> => {
  const parents = new Map(table.map((row) => [row.pid, row.ppid]))
  const found = new Set([0, 1])
  for (let pid: number | undefined = self.pid; pid !== undefined && !found.has(pid); pid = parents.get(pid)) {
    found.add(pid)
  }
  return found
}
