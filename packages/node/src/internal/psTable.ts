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
import * as Path from "node:path"
import type { Seen, Table } from "./host.ts"
import type { Row } from "./lineage.ts"

/** `lstart` is printed in the language of the environment, and this one can be read. */
const environment = { PATH: "/bin:/usr/bin", LC_ALL: "C" }

/** So much is taken from `ps`: some ten thousand processes with their environments. */
const maxBuffer = 64 * 1024 * 1024

/** All processes, and behind the command of each its environment, where it is one of this user. */
const everything = process.platform === "linux" ? "axeww" : "-axEww"
const columns = "pid=,ppid=,pgid=,stat=,lstart=,command="

/** What was printed of the command and the environment of a row. */
const commands = new WeakMap<Row, string>()

/** Parses a line of `ps` with these columns. */
export const parseLine = (line: string): Row | undefined => {
  const match = /^\s*(\d+)\s+(\d+)\s+(\d+)\s+(\S+)\s+(\w{3} \w{3}\s+\d+ [\d:]{8} \d{4})\s(.*)$/.exec(line)
  if (match === null) return undefined
  const [, pid, ppid, pgrp, state, started, command] = match
  const row: Row = {
    pid: Number(pid),
    ppid: Number(ppid),
    pgrp: Number(pgrp),
    session: Number(pgrp),
    state: state!.charAt(0),
    started: Date.parse(started!),
    name: Path.basename(command!.trim().split(" ")[0]!)
  }
  commands.set(row, command!)
  return row
}

const ps = (...args: ReadonlyArray<string>): ReadonlyArray<Row> => {
  const { stdout } = ChildProcess.spawnSync("ps", args, { env: environment, encoding: "utf8", maxBuffer })
  return (stdout ?? "").split("\n").flatMap((line) => parseLine(line) ?? [])
}

export const row = (pid: number): Row | undefined => {
  try {
    process.kill(pid, 0)
  } catch (error) {
    // Nobody is there; a look that costs no process is enough for that.
    if ((error as NodeJS.ErrnoException).code === "ESRCH") return undefined
  }
  return ps("-o", columns, "-p", String(pid))[0]
}

export const inSession: Seen["inSession"] = (session) => ps("-axo", columns).filter((row) => row.session === session)

export const everybody: Effect.Effect<Table> = Effect.sync(() => {
  const rows = ps(everything, "-o", columns)
  // It is read in one step, so nobody can slip through; and it always shows this process.
  return { rows, restless: false, isComplete: rows.some(({ pid }) => pid === process.pid) }
})

export const table: Seen["table"] = () => everybody

export const carriesMark: Seen["carriesMark"] = (row, mark) =>
  commands.get(row)?.includes(mark) === true ? "Carries" : "Lacks"

export const holds: Seen["holds"] = () => "Lacks"

export const pipes: Seen["pipes"] = () => new Set()

export const heirloom: Seen["heirloom"] = () => undefined
