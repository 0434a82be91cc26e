/**
 * Reads why the system did not start a program.
 */
import * as FileSystem from "node:fs"
import type { Command } from "../Command.ts"
import * as Outcome from "../Outcome.ts"

/** Makes the error from what Node's `spawn` threw or emitted. */
export const spawnFailed = (command: Command, error: unknown): Outcome.SpawnFailed => {
  const code = String((error as NodeJS.ErrnoException | undefined)?.code ?? error)
  return new Outcome.SpawnFailed({ program: command.program, reason: reasonFor(command, code), code })
}

const reasonFor = (command: Command, code: string): Outcome.SpawnFailed["reason"] => {
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
