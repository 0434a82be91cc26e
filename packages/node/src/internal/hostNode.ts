/**
 * The machine this process runs on, through what Node and the platform offer.
 */
import * as Crypto from "node:crypto"
import * as Child from "./child.ts"
import type { Delivery, Host, Seen } from "./host.ts"
import * as HostWindows from "./hostWindows.ts"
import * as Procfs from "./procfs.ts"
import * as PsTable from "./psTable.ts"

const kill = (target: number, signal: NodeJS.Signals | 0): Delivery => {
  try {
    process.kill(target, signal)
    return "Sent"
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM" ? "Denied" : "Gone"
  }
}

export const hostNode = (): Host => {
  const seen = machine()
  return {
    ...seen,
    // Not Effect's `Random`, which a test may seed.
    nextMark: () => Crypto.randomUUID(),
    start: (command, options) => Child.start(seen, command, options)
  }
}

/** The machine with the first process table that shows this process. */
export const machine = (): Seen => {
  if (process.platform === "win32") return HostWindows.make()
  const procfs = Procfs.hasChildren() ? Procfs : { ...Procfs, table: () => Procfs.everybody }
  for (const table of process.platform === "linux" ? [procfs, PsTable] : [PsTable]) {
    const self = table.row(process.pid)
    if (self !== undefined) return { ...table, kill, self }
  }
  throw new Error("commands need a process table: neither /proc nor ps can be read")
}
