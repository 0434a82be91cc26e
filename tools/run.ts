/**
 * Runs a command of this repository and waits until it is gone.
 */
import { spawn } from "node:child_process"
import { constants } from "node:os"
import { delimiter, join } from "node:path"

/** The root of the repository. */
export const root = join(import.meta.dirname, "..")

export interface Outcome {
  /** The exit code, as a shell would give it: 128 + the signal for a command that was killed, 127 if there is none. */
  readonly code: number
  /** What it wrote to its standard output, when that was captured. */
  readonly stdout: string
  /** What it wrote to either, when that was captured. */
  readonly output: string
}

interface Options {
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string | undefined>>
  /** Where its output goes; `capture`: standard output and error, into the outcome. */
  readonly output?: "inherit" | "capture"
}

/** The environment of this process with the tools of the repository first on the path. */
const environment = (env: Options["env"]): NodeJS.ProcessEnv => ({
  ...process.env,
  PATH: join(root, "node_modules", ".bin") + delimiter + (process.env["PATH"] ?? ""),
  ...env
})

/**
 * Runs `command` and resolves when it has ended, whatever became of it. A SIGINT or SIGTERM that arrives meanwhile goes
 * to the command, and we wait for it: nothing is left running behind the prompt.
 */
export const run = (command: string, args: ReadonlyArray<string>, options: Options = {}): Promise<Outcome> =>
  new Promise((resolve) => {
    const stdout: Array<Buffer> = []
    const output: Array<Buffer> = []
    const child = spawn(command, args, {
      cwd: options.cwd ?? root,
      env: environment(options.env),
      stdio: options.output === "capture" ? ["ignore", "pipe", "pipe"] : "inherit"
    })
    const forward = (signal: NodeJS.Signals): void => void child.kill(signal)
    const settle = (code: number): void => {
      process.off("SIGINT", forward).off("SIGTERM", forward)
      resolve({ code, stdout: Buffer.concat(stdout).toString("utf8"), output: Buffer.concat(output).toString("utf8") })
    }
    process.on("SIGINT", forward).on("SIGTERM", forward)
    child.stdout?.on("data", (chunk: Buffer) => {
      stdout.push(chunk)
      output.push(chunk)
    })
    child.stderr?.on("data", (chunk: Buffer) => output.push(chunk))
    child.once("error", (error) => {
      const sentence = `Cannot run ${command} (${error.message}). The tools of this repository come with "npm ci".`
      if (options.output === "capture") output.push(Buffer.from(sentence))
      else console.error(sentence)
      settle(127)
    })
    child.once("close", (code, signal) => settle(code ?? 128 + (signal === null ? 0 : constants.signals[signal])))
  })
