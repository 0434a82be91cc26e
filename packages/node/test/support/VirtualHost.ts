/**
 * A machine that is not there: a process table in memory, in which processes answer signals as a test wants, and whose
 * exits are told when the test lets them be.
 */
import { type Outcome, Output } from "@quiesce/node"
import { Deferred, Effect, Exit, Stream } from "effect"
import type { Writable } from "node:stream"
import type { Child } from "../../src/internal/child.ts"
import type { Delivery, Host } from "../../src/internal/host.ts"
import * as Lineage from "../../src/internal/lineage.ts"
import type { Tap } from "../../src/internal/tap.ts"

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

/** A child that was started: dead once it has an exit, and a zombie until this is told. */
interface Started {
  readonly child: Child
  readonly onExit: (exit: Outcome.Exit) => void
  exit: Outcome.Exit | undefined
}

const pipe = "socket:[1]"

export class VirtualHost {
  readonly processes = new Map<number, VirtualProcess>()
  /** Every `kill` that was called, as it was called. */
  readonly kills: Array<readonly [target: number, signal: NodeJS.Signals | 0]> = []
  readonly self: VirtualProcess
  isReadable = true
  /** Called for a child of this process that was started, and for one that died and whose exit is not told yet. */
  onStart: (pid: number) => void = () => {}
  onDeath: (pid: number) => void = (pid) => this.tell(pid)

  private readonly children = new Map<number, Started>()
  private readonly taps: Array<Deferred.Deferred<void>> = []

  constructor() {
    this.add({ pid: 1, ppid: 0, pgrp: 1, session: 1, started: 0, name: "init" })
    this.self = this.add({ pid: 100, ppid: 1, pgrp: 100, session: 100, started: 10, name: "host" })
  }

  add(process: Partial<VirtualProcess> & { readonly pid: number }): VirtualProcess {
    const added = { ppid: 1, pgrp: process.pid, session: process.pid, state: "S", started: 20, name: "p", ...process }
    this.processes.set(added.pid, added)
    return added
  }

  /** Takes a process away, as if it had died and been reaped. */
  remove(pid: number): void {
    this.processes.delete(pid)
    for (const other of this.processes.values()) if (other.ppid === pid) other.ppid = 1
    this.closeTaps()
  }

  /** Lets a process die: a child of this process stays a zombie until its exit is told, any other is gone. */
  die(pid: number, exit: Outcome.Exit): void {
    const started = this.children.get(pid)
    if (started === undefined) return this.remove(pid)
    if (started.exit !== undefined) return
    started.exit = exit
    this.processes.get(pid)!.state = "Z"
    for (const other of this.processes.values()) if (other.ppid === pid) other.ppid = 1
    this.closeTaps()
    this.onDeath(pid)
  }

  /** Reaps a dead child, and tells its exit, in one step as Node does. */
  tell(pid: number): void {
    const { child, exit, onExit } = this.children.get(pid)!
    this.processes.delete(pid)
    const heirs = this.rows().filter((row) => row.session === pid)
    Lineage.remember(child.lineage, heirs)
    Deferred.doneUnsafe(child.exited, Exit.succeed(exit!))
    onExit(exit!)
    Deferred.doneUnsafe(child.closed, Effect.void)
  }

  /** A pipe reads as closed once nobody holds it. */
  private closeTaps(): void {
    const isHeld = [...this.processes.values()].some((process) => process.pipe === pipe && process.state !== "Z")
    if (!isHeld) { for (const tap of this.taps) Deferred.doneUnsafe(tap, Effect.void) }
  }

  private readonly tap = (): Tap => {
    const closed = Deferred.makeUnsafe<void>()
    this.taps.push(closed)
    return {
      output: () => ({ ...Output.empty, complete: Deferred.isDoneUnsafe(closed) }),
      closed: Deferred.await(closed),
      isClosed: () => Deferred.isDoneUnsafe(closed),
      release: () => {},
      destroy: () => void Deferred.doneUnsafe(closed, Effect.void),
      stream: Stream.empty
    }
  }

  private readonly start: Host["start"] = (_command, { mark, onExit }) =>
    Effect.sync(() => {
      const pid = 200 + this.children.size * 100
      const leader = this.add({ pid, ppid: this.self.pid, mark, pipe })
      const child: Child = {
        pid,
        lineage: Lineage.make({ ...leader }, mark),
        files: new Set([pipe]),
        exited: Deferred.makeUnsafe(),
        closed: Deferred.makeUnsafe(),
        stdin: { destroy: () => {} } as Writable,
        stdout: this.tap(),
        stderr: this.tap(),
        lifeline: this.tap(),
        channel: { send: () => {}, listen: () => {}, closed: Effect.void, isClosed: () => true, destroy: () => {} }
      }
      this.children.set(pid, { child, onExit, exit: undefined })
      this.onStart(pid)
      return child
    })

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
      else if (signal !== "SIGCONT") this.die(process.pid, { _tag: "Signal", signal })
    }
    return "Sent"
  }

  private readonly rows = (): ReadonlyArray<Lineage.Row> =>
    [...this.processes.values()].map((process) => ({ ...process }))

  private readonly everybody = Effect.sync(() => ({
    rows: this.isReadable ? this.rows() : [],
    restless: false,
    isComplete: this.isReadable
  }))

  readonly host = (): Host => ({
    self: this.self,
    row: (pid) => this.isReadable ? this.rows().find((row) => row.pid === pid) : undefined,
    inSession: (session) => this.rows().filter((row) => row.session === session),
    table: () => this.everybody,
    everybody: this.everybody,
    carriesMark: (row, mark) => this.processes.get(row.pid)?.mark === mark ? "Carries" : "Lacks",
    holds: (row, pipes) => pipes.has(this.processes.get(row.pid)?.pipe ?? "") ? "Carries" : "Lacks",
    pipes: () => new Set(),
    heirloom: () => undefined,
    kill: this.kill,
    nextMark: () => `mark ${this.children.size}`,
    start: this.start
  })
}
