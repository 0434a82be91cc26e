/**
 * The process table of Linux, read from `/proc`.
 *
 * A process may end between any two reads of it, so every read may find nothing, and none of them throws.
 */
import * as Effect from "effect/Effect"
import * as FileSystem from "node:fs"
import * as Census from "./census.ts"
import * as Heirloom from "./heirloom.ts"
import type { Seen, Table } from "./host.ts"
import type { Carries, Lineage, Row } from "./lineage.ts"

/** Reads the row of one process; where it cannot be read it proves nothing, like one that is not there. */
export const row = (pid: number): Row | undefined => {
  const stat = read(`/proc/${pid}/stat`)
  return typeof stat === "string" ? parseStat(stat) : undefined
}

/**
 * Parses a line of `/proc/<pid>/stat`.
 *
 * The name is whatever the program calls itself, blanks and parentheses included, so the numbers begin behind the last
 * `)`.
 *
 * **Source**: proc_pid_stat(5): state, ppid, pgrp and session are fields 3 to 6, the start time is field 22.
 */
export const parseStat = (stat: string): Row | undefined => {
  const open = stat.indexOf("(")
  const close = stat.lastIndexOf(")")
  const fields = stat.slice(close + 2).split(" ")
  const [state, ppid, pgrp, session] = fields
  const started = fields[19]
  if (open < 0 || close < open || state === undefined || started === undefined) return undefined
  return {
    pid: Number(stat.slice(0, open - 1)),
    ppid: Number(ppid),
    pgrp: Number(pgrp),
    session: Number(session),
    state,
    started: Number(started),
    name: stat.slice(open + 1, close)
  }
}

/** Who could be a command's, by their parents. */
export const table = (lineage: Lineage): Effect.Effect<Table> => Census.take(reader, lineage)

const reader: Census.Reader = {
  self: process.pid,
  row: (pid) => {
    const found = readRow(String(pid))
    return found === gone ? "Gone" : found === unreadable ? "Unreadable" : found
  },
  children: (pid, of) => {
    const threads = of === "every thread" ? list(`/proc/${pid}/task`) : [String(pid)]
    if (threads === gone) return { pids: [], isCertain: true }
    if (threads === unreadable) return { pids: [], isCertain: false }
    const lists = threads.map((thread) => listChildren(`/proc/${pid}/task/${thread}/children`))
    return { pids: lists.flatMap(({ pids }) => pids), isCertain: lists.every(({ isCertain }) => isCertain) }
  }
}

/** Whether this kernel lists children (`CONFIG_PROC_CHILDREN`). */
export const hasChildren = (): boolean => typeof read(`/proc/${process.pid}/task/${process.pid}/children`) === "string"

/**
 * Lists the children of a thread.
 *
 * **Source**: proc_tid_children(5): when a child is reaped while they are listed, others can be left out. Two lists that
 * are equal say that none was: it would be in the first and not in the second.
 */
const listChildren = (path: string): Census.Children => {
  let before = read(path)
  for (let tries = 0; tries < Census.rounds && before !== unreadable; tries++) {
    if (before === gone) return { pids: [], isCertain: true }
    const again = read(path)
    if (again === before) return { pids: pidsIn(before), isCertain: true }
    before = again
  }
  return { pids: typeof before === "string" ? pidsIn(before) : [], isCertain: false }
}

const pidsIn = (line: string): ReadonlyArray<number> => line.split(" ").filter((pid) => pid !== "").map(Number)

/**
 * Reads every process.
 *
 * The list of `/proc` and the rows are read one after the other, and meanwhile a process may pass itself on: start
 * another one and end. So newcomers are read too, until there are none.
 */
export const everybody: Effect.Effect<Table> = Effect.gen(function*() {
  const rows: Array<Row> = []
  const seen = new Set<string>()
  let isComplete = true
  let count = 0
  for (let round = 0; round < Census.rounds; round++) {
    const entries = list("/proc")
    if (entries === gone || entries === unreadable) return { rows, restless: false, isComplete: false }
    const fresh = entries.filter((entry) => isPid(entry) && !seen.has(entry))
    if (fresh.length === 0) return { rows, restless: false, isComplete }
    for (const pid of fresh) {
      seen.add(pid)
      const found = readRow(pid)
      if (found === unreadable) isComplete = false
      else if (found !== gone) rows.push(found)
      if (++count % Census.slice === 0) yield* Effect.yieldNow
    }
  }
  return { rows, restless: true, isComplete }
})

const isPid = (entry: string): boolean => {
  const first = entry.charCodeAt(0)
  return first >= 48 && first <= 57
}

const readRow = (pid: string): Row | typeof gone | typeof unreadable => {
  const stat = read(`/proc/${pid}/stat`)
  return typeof stat === "string" ? parseStat(stat) ?? unreadable : stat
}

/** The members of a session at this instant. */
export const inSession = (session: number): ReadonlyArray<Row> => {
  const entries = list("/proc")
  if (entries === gone || entries === unreadable) return []
  return entries.filter(isPid).flatMap((pid) => {
    const found = readRow(pid)
    return typeof found === "object" && found.session === session ? [found] : []
  })
}

/** Whether the environment `pid` was started with holds the mark. */
export const carriesMark = (row: Row, mark: string): Carries => {
  const environment = read(`/proc/${row.pid}/environ`)
  if (environment === gone) return "Lacks"
  // While `exec` replaces a program its environment reads as empty for an instant; so does a cleared one, for ever.
  if (environment === unreadable || environment.length === 0) return "Unreadable"
  return environment.includes(mark) ? "Carries" : "Lacks"
}

/** Whether `pid` has one of `files` open. */
export const holds = (row: Row, files: ReadonlySet<string>): Carries => {
  const fds = list(`/proc/${row.pid}/fd`)
  if (fds === gone) return "Lacks"
  if (fds === unreadable) return "Unreadable"
  return fds.some((fd) => files.has(link(`/proc/${row.pid}/fd/${fd}`))) ? "Carries" : "Lacks"
}

/**
 * The pipes `pid` has open as the descriptors `fds`: Node's are sockets, and `socket:[4711]` is one socket of this
 * machine. What a quick child put in their place (`/dev/null`) is everybody's and no sign of descent.
 */
export const pipes = (pid: number, fds: ReadonlyArray<number>): ReadonlySet<string> =>
  new Set(fds.map((fd) => link(`/proc/${pid}/fd/${fd}`)).filter((file) => file.startsWith("socket:")))

export const heirloom: Seen["heirloom"] = Heirloom.make

/** There is no such process any more, or it is none of our business. */
const gone = Symbol("gone")
/** The system had no file or no memory free: nothing is known. */
const unreadable = Symbol("unreadable")

const attempt = <A>(f: () => A): A | typeof gone | typeof unreadable => {
  try {
    return f()
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code
    return code === "ENOENT" || code === "ESRCH" || code === "EACCES" || code === "EPERM" ? gone : unreadable
  }
}

const read = (path: string) => attempt(() => FileSystem.readFileSync(path, "utf8"))

const list = (path: string) => attempt<ReadonlyArray<string>>(() => FileSystem.readdirSync(path))

const link = (path: string): string => {
  const file = attempt(() => FileSystem.readlinkSync(path))
  return typeof file === "string" ? file : ""
}
