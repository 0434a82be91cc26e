/**
 * The error of a command that could not be started.
 */
import * as Schema from "effect/Schema"
import * as FileSystem from "node:fs"
import type { Command } from "./Command.ts"

/**
 * Nothing was started: the world is as it was.
 *
 * `NotFound`: there is no such program. `NoDirectory`: the working directory is none. `NotPermitted`: the program may
 * not be run. `TooLarge`: arguments and environment are larger than the system takes. `Exhausted`: no process, no
 * memory or no file is free. `Invalid`: an argument cannot be handed over (it holds a zero byte).
 */
export class SpawnFailed extends Schema.TaggedError<SpawnFailed>("@quiesce/node/SpawnFailed")("SpawnFailed", {
  program: Schema.String,
  reason: Schema.Literals(["NotFound", "NoDirectory", "NotPermitted", "TooLarge", "Exhausted", "Invalid", "Other"]),
  /** The system's own word, like `ENOENT`. */
  code: Schema.String
}) {
  override get message(): string {
    return `${this.program} could not be started: ${texts[this.reason]} (${this.code})`
  }

  /** Reads what Node's `spawn` threw or emitted. */
  static from(command: Command, error: unknown): SpawnFailed {
    const code = String((error as NodeJS.ErrnoException | undefined)?.code ?? error)
    return new SpawnFailed({ program: command.program, reason: reasonFor(command, code), code })
  }
}

const texts = {
  NotFound: "there is no such program",
  NoDirectory: "its working directory is none",
  NotPermitted: "it may not be run",
  TooLarge: "its arguments and environment are too large",
  Exhausted: "no process, memory or file is free",
  Invalid: "an argument cannot be handed over",
  Other: "the system refused"
} satisfies { readonly [reason: string]: string }

const reasonFor = (command: Command, code: string): SpawnFailed["reason"] => {
  switch (code) {
    // The system says ENOENT and ENOTDIR for the program and for the directory alike.
    case "ENOENT":
    case "ENOTDIR":
      return command.cwd !== undefined && !isDirectory(command.cwd) ? "NoDirectory" : "NotFound"
    case "EACCES":
    case "EPERM":
    case "ENOEXEC":
      return "NotPermitted"
    case "E2BIG":
      return "TooLarge"
    case "EAGAIN":
    case "EMFILE":
    case "ENFILE":
    case "ENOMEM":
      return "Exhausted"
    case "ERR_INVALID_ARG_VALUE":
    case "ERR_INVALID_ARG_TYPE":
      return "Invalid"
    default:
      return "Other"
  }
}

const isDirectory = (path: string): boolean => {
  try {
    return FileSystem.statSync(path).isDirectory()
  } catch {
    return false
  }
}
