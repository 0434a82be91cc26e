/**
 * A program on the other side, spoken to through its standard input and output, a message per line.
 */
import { type ChildProcess, spawn } from "node:child_process"
import * as Frames from "./Frames.ts"
import type { Message, RawPeer } from "./RawPeer.ts"

export interface RawProgram {
  readonly child: ChildProcess
  /** Its exit code, once it has ended and all of its output has come. */
  readonly exited: Promise<number | null>
  /** Writes messages, and texts as they are, each with the end of a line: all in one chunk. */
  readonly send: (...messages: ReadonlyArray<object | string>) => void
  /** Kills it, and waits. */
  readonly close: () => Promise<void>
}

/** More than any program under test says in a line; a nesting is what whoever looks at it makes of it. */
const limits: Frames.Limits = { maxBytes: 64 * 1024 * 1024, maxDepth: Number.MAX_SAFE_INTEGER }

/** What stands for a line that is no message: nothing else has that code. */
const notJson: Message = { error: { code: 0, message: "a line that is no JSON" } }

/** Starts a program. `peer` is told of every line that it writes, and of its end. */
export const start = (
  command: string,
  args: ReadonlyArray<string>,
  peer: Pick<RawPeer, "came" | "end">
): RawProgram => {
  const child = spawn(command, args, { stdio: ["pipe", "pipe", "ignore"] })
  const frames = Frames.make(limits)
  child.stdout.on("data", (chunk: Uint8Array) => {
    for (const frame of frames.push(chunk)) peer.came(frame._tag === "Json" ? frame.value as Message : notJson)
  })
  // A program that has ended reads nothing more, and says so by its exit.
  child.stdin.on("error", () => undefined)
  const exited = new Promise<number | null>((resolve, reject) => {
    child.once("close", resolve)
    child.once("error", reject)
  })
  exited.then(
    (code) => peer.end(`the program has ended with ${code ?? child.signalCode}`),
    (error: Error) => peer.end(error.message)
  )
  return {
    child,
    exited,
    send: (...messages) => {
      const lines = messages.map((message) => `${typeof message === "string" ? message : JSON.stringify(message)}\n`)
      child.stdin.write(lines.join(""))
    },
    close: async () => {
      child.kill("SIGKILL")
      await exited.catch(() => undefined)
    }
  }
}
