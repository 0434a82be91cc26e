/**
 * A machine that is not there: a process table in memory, in which processes answer signals as a test wants.
 */
import { Effect } from "effect"
import type { Delivery, Host } from "../../src/internal/host.ts"
import type { Row } from "../../src/internal/lineage.ts"

export interface VirtualProcess {
  pid: number
  ppid: number
  pgrp: number
  session: number
  state: string
  started: number
  name: string
  mark?: string | undefined
  pipe?: string | undefined
  owner?: "other" | undefined
  /** What it does on a signal; default: it dies of it. */
  answer?: ((signal: NodeJS.Signals) => void) | undefined
}

export class VirtualHost {
  readonly processes = new Map<number, VirtualProcess>()
  /** Every `kill` that was called, as it was called. */
  readonly kills: Array<readonly [target: number, signal: NodeJS.Signals | 0]> = []
  readonly self: VirtualProcess
  isReadable = true

  constructor() {
    this.add({ pid: 1, ppid: 0, pgrp: 1, session: 1, started: 0, name: "init" })
    this.self = this.add({ pid: 100, ppid: 1, pgrp: 100, session: 100, started: 10, name: "host" })
  }

  add(process: Partial<VirtualProcess> & { readonly pid: number }): VirtualProcess {
    const added = { ppid: 1, pgrp: process.pid, session: process.pid, state: "S", started: 20, name: "p", ...process }
    this.processes.set(added.pid, added)
    return added
  }

  remove(pid: number): void {
    this.processes.delete(pid)
    for (const other of this.processes.values()) if (other.ppid === pid) other.ppid = 1
  }

  /** What `kill` of the system does: 0 and -1 are taken literally, so that a test sees what they would hit. */
  private readonly kill = (target: number, signal: NodeJS.Signals | 0): Delivery => {
    this.kills.push([target, signal])
    const hit = [...this.processes.values()].filter((process) =>
      target > 0
        ? process.pid === target
        : target === -1
        ? true
        : process.pgrp === (target === 0 ? this.self.pgrp : -target)
    )
    if (hit.length === 0) return "Gone"
    const mine = hit.filter(({ owner }) => owner === undefined)
    if (mine.length === 0) return "Denied"
    if (signal === 0) return "Sent"
    for (const process of mine) {
      if (process.state === "Z") continue
      if (process.answer !== undefined && signal !== "SIGKILL") process.answer(signal)
      else if (signal !== "SIGCONT") this.remove(process.pid)
    }
    return "Sent"
  }

  private readonly rows = (): ReadonlyArray<Row> => [...this.processes.values()].map((process) => ({ ...process }))

  readonly host = (): Host => ({
    self: this.self,
    row: (pid) => this.isReadable ? this.rows().find((row) => row.pid === pid) : undefined,
    inSession: (session) => this.rows().filter((row) => row.session === session),
    table: Effect.sync(() => ({
      rows: this.isReadable ? this.rows() : [],
      restless: false,
      isComplete: this.isReadable
    })),
    carriesMark: (row, mark) => this.processes.get(row.pid)?.mark === mark ? "Carries" : "Lacks",
    holds: (row, pipes) => pipes.has(this.processes.get(row.pid)?.pipe ?? "") ? "Carries" : "Lacks",
    pipes: () => new Set(),
    kill: this.kill
  })
}
