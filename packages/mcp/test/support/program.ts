/** A program of the fixtures, as a process of its own. */
import { type ChildProcess, spawn } from "node:child_process"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"
import { childEnvironment } from "../../../../tests/child-environment.ts"

export interface Program {
  readonly child: ChildProcess
  /** Resolves with what it has written, once that contains `text`. */
  readonly wrote: (text: string) => Promise<string>
  /** Resolves once it has ended. */
  readonly ended: Promise<{ readonly code: number | null; readonly stdout: string; readonly stderr: string }>
}

export const fixture = (name: string): string => join(import.meta.dirname, "../fixture", name)

export const start = (...args: ReadonlyArray<string>): Program => {
  const child = spawn(process.execPath, args, { env: childEnvironment(), stdio: ["pipe", "pipe", "pipe"] })
  let stdout = ""
  let stderr = ""
  const waiting = new Set<() => void>()
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text
    for (const look of waiting) look()
  })
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text
  })
  // Its end may come before that of what was written to it.
  child.stdin.on("error", () => undefined)
  const ended = new Promise<{ code: number | null; stdout: string; stderr: string }>((resolve) => {
    child.once("close", (code) => resolve({ code, stdout, stderr }))
  })
  return {
    child,
    ended,
    wrote: (text) =>
      new Promise((resolve, reject) => {
        const look = () => {
          if (!stdout.includes(text)) return
          waiting.delete(look)
          resolve(stdout)
        }
        waiting.add(look)
        look()
        void ended.then(() => reject(new Error(`it ended and wrote ${stdout}${stderr}`)))
      })
  }
}

/** The command of a package that is installed for tests. */
export const commandOf = (name: string, path: string): string =>
  join(dirname(createRequire(import.meta.url).resolve(`${name}/package.json`)), path)
