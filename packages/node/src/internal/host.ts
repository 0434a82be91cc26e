/**
 * The machine as commands need it: starting a program, who is alive, and the raw `kill`.
 *
 * The state machines (`supervisor.ts`, `ending.ts`) and the rules of who is ours (`lineage.ts`) and who may be signalled
 * (`signal.ts`) know a machine only through this, so that they can be run against a machine that is not there.
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { Command } from "../Command.ts"
import type * as Outcome from "../Outcome.ts"
import type * as Child from "./child.ts"
import type { Heirloom } from "./heirloom.ts"
import { hostNode } from "./hostNode.ts"
import type { Carries, Lineage, Row } from "./lineage.ts"

/** What `kill` said. `Gone`: nobody is there. `Denied`: it belongs to another user. */
export type Delivery = "Sent" | "Gone" | "Denied"

/** What the machine shows, and its `kill`. */
export interface Seen {
  /** The row of one process at this instant, synchronously; this is what makes a proof "in the same tick" possible. */
  readonly row: (pid: number) => Row | undefined
  /** The members of a session at this instant, synchronously. */
  readonly inSession: (session: number) => ReadonlyArray<Row>
  /**
   * Every process that could be the command's, and whoever it takes to tell. It yields between slices: the table is no
   * snapshot.
   */
  readonly table: (lineage: Lineage) => Effect.Effect<Table>
  /** Every process there is, for when somebody must be somewhere. */
  readonly everybody: Effect.Effect<Table>
  readonly carriesMark: (row: Row, mark: string) => Carries
  readonly holds: (row: Row, files: ReadonlySet<string>) => Carries
  /** A file for the processes of one command, where the process table shows who has it open. */
  readonly heirloom: () => Heirloom | undefined
  /** The names of the pipes `pid` has open as descriptors `fds`, as `holds` compares them. */
  readonly pipes: (pid: number, fds: ReadonlyArray<number>) => ReadonlySet<string>
  /** The system call as it is, without any rule; 0 sends nothing and says whether somebody is there. */
  readonly kill: (target: number, signal: NodeJS.Signals | 0) => Delivery
  /** This process. */
  readonly self: Row
}

export interface Host extends Seen {
  /** A mark that no command ever had: commands with one mark would take each other's processes for their own. */
  readonly nextMark: () => string
  /** Starts the program of `command`, in a session and group of its own. */
  readonly start: (command: Command, options: Child.Options) => Effect.Effect<Child.Child, Outcome.SpawnFailed>
}

export interface Table {
  readonly rows: ReadonlyArray<Row>
  /** New processes appeared as often as it was looked: one that passes itself on may have been missed. */
  readonly restless: boolean
  /** False where the system refused to be read (no file was free): then nobody's absence means anything. */
  readonly isComplete: boolean
}

/** The machine commands run on. */
export const Host: Context.Reference<Host> = Context.Reference<Host>("@quiesce/node/internal/Host", {
  defaultValue: hostNode
})
