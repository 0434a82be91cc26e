/**
 * One child process as Node gives it: its start, its exit, and its pipes.
 *
 * Besides its output the child inherits a *lifeline*, a pipe nobody writes to. It reads as closed once the last process
 * that inherited it is gone, also one that sent its output elsewhere; so while it is open, somebody may be alive. Who
 * that is shows in an *heirloom*, a file that is known before the child starts.
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as ChildProcess from "node:child_process"
import { type Duplex, type Readable, Writable } from "node:stream"
import type { Command } from "../Command.ts"
import * as Outcome from "../Outcome.ts"
import * as Channel from "./channel.ts"
import { environmentFor } from "./environment.ts"
import * as Heirloom from "./heirloom.ts"
import type { Seen } from "./host.ts"
import * as Lineage from "./lineage.ts"
import { spawnFailed } from "./refusal.ts"
import * as Tap from "./tap.ts"

export interface Child {
  readonly pid: number
  readonly lineage: Lineage.Lineage
  /** The open files by which its descendants can be found. */
  readonly files: ReadonlySet<string>
  /** Completed in the tick in which Node learns of the exit. */
  readonly exited: Deferred.Deferred<Outcome.Exit>
  /** Completed once it has exited and every pipe to it is closed: nothing of it is left in this process. */
  readonly closed: Deferred.Deferred<void>
  readonly stdin: Writable
  readonly stdout: Tap.Tap
  readonly stderr: Tap.Tap
  readonly lifeline: Tap.Tap
  readonly channel: Messages
}

/** The messages of a child that is a program of ours; of any other there are none. */
interface Messages extends Channel.Channel, Pick<Tap.Tap, "closed" | "isClosed" | "destroy"> {}

export interface Options {
  /** By what its processes are known; of no other command. */
  readonly mark: string
  readonly stdin: "closed" | "piped"
  readonly output: Tap.Mode
  readonly channel: "none" | "piped"
  /** Called in the tick in which Node learns of the exit, once it is completed. */
  readonly onExit: (exit: Outcome.Exit) => void
}

/**
 * Starts the program in a session and group of its own.
 *
 * **Errors**: `SpawnFailed`; then nothing was started.
 */
export const start = (host: Seen, command: Command, options: Options): Effect.Effect<Child, Outcome.SpawnFailed> =>
  Effect.flatMap(spawn(host, command, options), tapped(command, options))

/** A child whose output is not read yet. */
interface Spawned extends Omit<Child, "stdout" | "stderr" | "lifeline"> {
  readonly stdout: Readable
  readonly stderr: Readable
  readonly lifeline: Readable
}

/** A stream that nobody reads loses nothing, so this may come a little later. */
const tapped = (command: Command, { output }: Options) =>
  Effect.fnUntraced(function*(spawned: Spawned): Effect.fn.Return<Child> {
    return {
      ...spawned,
      stdout: yield* Tap.make(spawned.stdout, command.maxBytes, output),
      stderr: yield* Tap.make(spawned.stderr, command.maxBytes, output),
      lifeline: yield* Tap.make(spawned.lifeline, 0, "kept")
    }
  })

const spawn = (host: Seen, command: Command, options: Options): Effect.Effect<Spawned, Outcome.SpawnFailed> =>
  Effect.callback((resume) => {
    const failed = (error: unknown) => resume(Effect.fail(spawnFailed(command, error)))
    // A failed start is reported in the next tick; it is over once the pipes made for it are closed. Where no file was
    // free there are none, and no `close` either. A child that was started has errors only for calls we never make.
    const refused = (child: ChildProcess.ChildProcess) => (error: Error) => {
      if (child.stdin === undefined) failed(error)
      else child.on("close", () => failed(error))
    }
    const { mark } = options
    const heirloom = host.heirloom()
    try {
      const child = ChildProcess.spawn(command.program, command.args, {
        cwd: command.cwd,
        env: environmentFor(command, mark, process.env),
        detached: true,
        stdio: [
          options.stdin === "closed" ? "ignore" : "pipe",
          "pipe",
          "pipe",
          "pipe",
          heirloom?.descriptor ?? "ignore",
          ...(options.channel === "piped" ? ["pipe" as const] : [])
        ],
        windowsHide: true
      })
      child.on("error", refused(child))
      if (child.pid !== undefined) resume(connect(host, command, { mark, heirloom }, options, child, child.pid))
    } catch (error) {
      failed(error)
    } finally {
      if (heirloom !== undefined) Heirloom.release(heirloom)
    }
  })

/** Standard output, standard error, the lifeline and the channel, as the child counts them. */
const pipeDescriptors = [1, 2, 3, 5]

/** Stands for the standard input of a child that was given none. */
const closedInput: Writable = new Writable().destroy()

const connect = (
  host: Seen,
  command: Command,
  { heirloom, mark }: { readonly mark: string; readonly heirloom: Heirloom.Heirloom | undefined },
  options: Options,
  child: ChildProcess.ChildProcess,
  pid: number
): Effect.Effect<Spawned, Outcome.SpawnFailed> => {
  const lifeline = child.stdio[3] as Readable
  const channel = child.stdio.at(5) as Duplex | undefined
  for (const stream of [child.stdin, child.stdout, child.stderr, lifeline, channel]) {
    // A pipe that breaks because the child is gone is no event of its own: the exit says it.
    stream?.on("error", () => {})
  }
  // In this tick the child cannot have been reaped, so these are its row and its pipes and not a successor's.
  const row = host.row(pid)
  if (row === undefined) {
    // No file was free to read it. Whom we cannot tell from strangers we could not end later, so it ends now.
    host.kill(-pid, "SIGKILL")
    return Effect.fail(new Outcome.SpawnFailed({ program: command.program, reason: "Exhausted", code: "EMFILE" }))
  }
  const lineage = Lineage.make(row, mark)
  const exited = Deferred.makeUnsafe<Outcome.Exit>()
  child.on("exit", (code, signal) => {
    // In this tick the number cannot be a successor's either. Whoever is in the session now proves later that it is
    // ours still, whatever became of their environment.
    if (host.kill(-pid, 0) !== "Gone") Lineage.remember(lineage, host.inSession(row.session))
    const exit: Outcome.Exit = signal === null ? { _tag: "Code", code: code ?? -1 } : { _tag: "Signal", signal }
    Deferred.doneUnsafe(exited, Exit.succeed(exit))
    options.onExit(exit)
  })
  const closed = Deferred.makeUnsafe<void>()
  child.on("close", () => Deferred.doneUnsafe(closed, Effect.void))
  return Effect.succeed({
    pid,
    lineage,
    files: new Set([...(heirloom === undefined ? [] : [heirloom.name]), ...host.pipes(pid, pipeDescriptors)]),
    exited,
    closed,
    stdin: child.stdin ?? closedInput,
    stdout: child.stdout as Readable,
    stderr: child.stderr as Readable,
    lifeline,
    channel: channel === undefined ? noMessages : messages(channel)
  })
}

const noMessages: Messages = {
  send: () => {},
  listen: () => {},
  closed: Effect.void,
  isClosed: () => true,
  destroy: () => {}
}

const messages = (pipe: Duplex): Messages => {
  const closed = Deferred.makeUnsafe<void>()
  const close = () => Deferred.doneUnsafe(closed, Effect.void)
  // Its end says that nobody holds it any more; what is left to close then is ours, and takes some turns.
  pipe.on("end", close)
  pipe.on("close", close)
  return {
    ...Channel.over(pipe),
    closed: Deferred.await(closed),
    isClosed: () => Deferred.isDoneUnsafe(closed),
    destroy: () => void pipe.destroy()
  }
}
