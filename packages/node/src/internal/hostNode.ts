/**
 * The machine this process runs on, through what Node and the platform offer.
 */
import type { Delivery, Host } from "./host.ts"
import * as Procfs from "./procfs.ts"

const kill = (target: number, signal: NodeJS.Signals | 0): Delivery => {
  try {
    process.kill(target, signal)
    return "Sent"
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM" ? "Denied" : "Gone"
  }
}

export const hostNode = (): Host => {
  const self = Procfs.row(process.pid)
  if (self === undefined) throw new Error("the process table cannot be read")
  return { ...Procfs, kill, self }
}
