/**
 * Windows: `taskkill /T` ends a process with its children as long as it lives.
 *
 * There is no group to ask and no table that is cheap to read, so of a command only its leader is seen. Whoever is
 * left when the leader is gone shows by the lifeline: while it is open the outcome has a residue.
 *
 * Not tested.
 */
import * as Effect from "effect/Effect"
import * as ChildProcess from "node:child_process"
import type { Delivery, Seen } from "./host.ts"
import type { Row } from "./lineage.ts"

const rowFor = (pid: number): Row => ({
  pid,
  ppid: process.pid,
  // Negative for this process, so that no child is ever in its session.
  pgrp: pid === process.pid ? -1 : pid,
  session: pid === process.pid ? -1 : pid,
  state: "R",
  started: 1,
  name: "process"
})

const isThere = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

const kill: Seen["kill"] = (target, signal): Delivery => {
  const pid = Math.abs(target)
  if (!isThere(pid)) return "Gone"
  if (signal === 0) return "Sent"
  const force = signal === "SIGKILL" ? ["/f"] : []
  const { status } = ChildProcess.spawnSync("taskkill", ["/pid", String(pid), "/t", ...force], { windowsHide: true })
  return status === 0 ? "Sent" : "Denied"
}

/** A host per process: it knows the children it was asked about. */
export const make = (): Seen => {
  const children = new Set<number>()
  const row = (pid: number): Row | undefined => {
    if (!isThere(pid)) {
      children.delete(pid)
      return undefined
    }
    if (pid !== process.pid) children.add(pid)
    return rowFor(pid)
  }
  const everybody = Effect.sync(() => ({
    rows: [...children].flatMap((pid) => row(pid) ?? []),
    restless: false,
    isComplete: true
  }))
  return {
    self: rowFor(process.pid),
    row,
    inSession: () => [],
    table: () => everybody,
    everybody,
    carriesMark: () => "Lacks",
    holds: () => "Lacks",
    pipes: () => new Set(),
    heirloom: () => undefined,
    kill
  }
}
