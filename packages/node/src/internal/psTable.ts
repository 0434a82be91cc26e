/**
 * The process table of macOS and other systems without `/proc`, as `ps` prints it.
 *
 * `ps` shows no session that could be compared, so the group stands for it. That is sound: a group is only ever joined
 * from within its session, so everybody in a group that one of ours leads is in a session of ours. It finds fewer:
 * who leaves the group is known by its parent and its mark alone, and not by its open files. Start times are whole seconds.
 *
 * Tested with the `ps` of Linux; not yet on macOS.
 */
import * as Effect from "effect/Effect"
import * as ChildProcess from "node:child_process"
import type { Host, Table } from "./host.ts"
import type { Row } from "./lineage.ts"

/** `lstart` is printed in the language of the environment, and this one can be read. */
const environment = { PATH: "/bin:/usr/bin", LC_ALL: "C" }

/** So much is taken from `ps`: some ten thousand processes with their environments. */
const maxBuffer = 64 * 1024 * 1024

const columns = "pid=,ppid=,pgid=,stat=,lstart=,comm="

/** Parses a line of `ps -o pid=,ppid=,pgid=,stat=,lstart=,comm=`. */
export const parseLine = (line: string): Row | undefined => {
  const match = /^\s*(\d+)\s+(\d+)\s+(\d+)\s+(\S+)\s+(\w{3} \w{3}\s+\d+ [\d:]{8} \d{4})\s(.*)$/.exec(line)
  if (match === null) return undefined
  const [, pid, ppid, pgrp, state, started, name] = match
  return {
    pid: Number(pid),
    ppid: Number(ppid),
    pgrp: Number(pgrp),
    session: Number(pgrp),
    state: state!.charAt(0),
    started: Date.parse(started!),
    name: name!.trim()
  }
}

const ps = (...args: ReadonlyArray<string>): string =>
  ChildProcess.spawnSync("ps", args, { env: environment, encoding: "utf8", maxBuffer }).stdout ?? ""

const rowsOf = (output: string): ReadonlyArray<Row> => output.split("\n").flatMap((line) => parseLine(line) ?? [])

export const row = (pid: number): Row | undefined => {
  try {
    process.kill(pid, 0)
  } catch (error) {
    // Nobody is there; a look that costs no process is enough for that.
    if ((error as NodeJS.ErrnoException).code === "ESRCH") return undefined
  }
  return rowsOf(ps("-o", columns, "-p", String(pid)))[0]
}

const all = (): ReadonlyArray<Row> => rowsOf(ps("-axo", columns))

export const inSession: Host["inSession"] = (session) => all().filter((row) => row.session === session)

export const table: Effect.Effect<Table> = Effect.sync(() => {
  const rows = all()
  // It is read in one step, so nobody can slip through; and it always shows this process.
  return { rows, restless: false, isComplete: rows.some(({ pid }) => pid === process.pid) }
})

export const carriesMark: Host["carriesMark"] = (row, mark) => {
  const args = process.platform === "linux" ? ["eww", "-o", "args="] : ["-Eww", "-o", "command="]
  return ps(...args, "-p", String(row.pid)).includes(mark) ? "Carries" : "Lacks"
}

export const holds: Host["holds"] = () => "Lacks"

export const pipes: Host["pipes"] = () => new Set()
