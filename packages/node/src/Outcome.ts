/**
 * How a command ended, told as data: who or what ended it, what it had written by then, and what may still be alive.
 */
import type * as Duration from "effect/Duration"
import * as Schema from "effect/Schema"
import * as Output from "./Output.ts"

/**
 * Nothing was started: the world is as it was.
 *
 * `NotFound`: there is no such program. `NoDirectory`: the working directory is none. `NotPermitted`: the program may
 * not be run. `TooLarge`: arguments and environment are larger than the system takes. `Exhausted`: no process, no
 * memory or no file is free. `Invalid`: an argument cannot be handed over (it holds a zero byte).
 */
export class SpawnFailed extends Schema.TaggedError<SpawnFailed>("@quiesce/node/Outcome/SpawnFailed")("SpawnFailed", {
  program: Schema.String,
  reason: Schema.Literals(["NotFound", "NoDirectory", "NotPermitted", "TooLarge", "Exhausted", "Invalid", "Other"]),
  /** The system's own word, like `ENOENT`. */
  code: Schema.String
}) {
  override get message(): string {
    return `${this.program} could not be started: ${refusals[this.reason]} (${this.code})`
  }
}

const refusals = {
  NotFound: "there is no such program",
  NoDirectory: "its working directory is none",
  NotPermitted: "it may not be run",
  TooLarge: "its arguments and environment are too large",
  Exhausted: "no process, memory or file is free",
  Invalid: "an argument cannot be handed over",
  Other: "the system refused"
} satisfies { readonly [reason: string]: string }

/** The name of a signal, like `SIGTERM`. */
export type Signal = `SIG${string}`

/** How the program itself ended: with a code, or by a signal. */
export type Exit =
  | { readonly _tag: "Code"; readonly code: number }
  | { readonly _tag: "Signal"; readonly signal: Signal }

/** What may still be alive when a command is over; a tool hands it to its call's `declareResidue` as it is. */
export interface Residue {
  readonly kind: "process"
  readonly detail: string
  /** Absent when somebody is alive whom nobody can find. */
  readonly pid?: number
}

/** What every outcome tells. */
export interface Settled {
  readonly stdout: Output.Output
  readonly stderr: Output.Output
  /** How many processes, besides the program, were still alive and had to be ended. */
  readonly swept: number
  /** Empty when it is proved that nobody is left. */
  readonly residue: ReadonlyArray<Residue>
}

/** The program ended by itself. */
export interface Exited extends Settled {
  readonly _tag: "Exited"
  readonly code: number
}

/** A signal that was not ours ended the program. */
export interface Signalled extends Settled {
  readonly _tag: "Signalled"
  readonly signal: Signal
}

/** The timeout passed first. `exit` says how the program then ended, unless it survived. */
export interface TimedOut extends Settled {
  readonly _tag: "TimedOut"
  readonly timeout: Duration.Duration
  readonly exit: Exit | undefined
}

/** It was stopped first, and so it counts also if the program answered SIGTERM with exit code 0. */
export interface Cancelled extends Settled {
  readonly _tag: "Cancelled"
  readonly exit: Exit | undefined
}

/** Nothing was started. */
export interface NotStarted extends Settled {
  readonly _tag: "SpawnFailed"
  readonly error: SpawnFailed
}

/** The outcome of a command that was started. */
export type Ran = Exited | Signalled | TimedOut | Cancelled

export type Outcome = Ran | NotStarted

export const notStarted = (error: SpawnFailed): NotStarted => ({
  _tag: "SpawnFailed",
  error,
  stdout: Output.empty,
  stderr: Output.empty,
  swept: 0,
  residue: []
})

/** The program ended by itself with exit code 0. */
export const isSuccess = (self: Outcome): self is Exited => self._tag === "Exited" && self.code === 0

/** Says in a few words how the command ended, for a message. */
export const describe = (self: Outcome): string => {
  switch (self._tag) {
    case "Exited":
      return `exited with code ${self.code}`
    case "Signalled":
      return `was ended by ${self.signal}`
    case "TimedOut":
      return "was ended after its timeout"
    case "Cancelled":
      return "was cancelled"
    case "SpawnFailed":
      return "could not be started"
  }
}
