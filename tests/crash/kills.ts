/**
 * Kills a writer with SIGKILL, at an instant or at a write boundary, opens its log again, and says what is wrong with it.
 */
import { SessionLog } from "@quiesce/agent"
import { Context, Effect, Layer, Stream } from "effect"
import { spawn } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

/** How a writer is killed: so many milliseconds after its first event, or at so many statements from its start. */
export type Kill = { readonly _tag: "Instant"; readonly millis: number } | {
  readonly _tag: "Boundary"
  readonly at: number
}

export interface Killed {
  /** The writer got to its end before it was killed: there are no boundaries behind. */
  readonly finished: boolean
  readonly acknowledged: number
  /** The calls that were open when it was killed: those whose body may have run, and those whose body had not. */
  readonly marked: number
  readonly unmarked: number
  readonly faults: ReadonlyArray<string>
}

/** Runs a writer until it is dead, and returns what it printed. */
const write = (
  file: string,
  seed: number,
  kill: Kill,
  compiled: string | undefined
): Promise<{ readonly printed: string; readonly finished: boolean }> =>
  new Promise((resolve, reject) => {
    const boundary = kill._tag === "Boundary" ? [String(kill.at)] : []
    const child = spawn(
      process.execPath,
      ["--conditions=@quiesce/source", join(import.meta.dirname, "writer.ts"), file, String(seed), ...boundary],
      {
        stdio: ["ignore", "pipe", "pipe"],
        env: { PATH: process.env["PATH"], ...(compiled === undefined ? {} : { NODE_COMPILE_CACHE: compiled }) }
      }
    )
    let printed = ""
    let complaints = ""
    let timer: NodeJS.Timeout | undefined
    child.stdout.on("data", (data) => {
      printed += data
      if (kill._tag === "Instant") timer ??= setTimeout(() => child.kill("SIGKILL"), kill.millis)
    })
    child.stderr.on("data", (data) => complaints += data)
    child.on("error", reject)
    child.on("close", (code, signal) => {
      if (signal === "SIGKILL" || code === 0) resolve({ printed, finished: code === 0 })
      else reject(new Error(`the writer ended with ${code ?? signal}: ${complaints}`))
    })
  })

type Acknowledged = readonly [seq: number, tag: string, call: number]

const lines = (printed: string): ReadonlyArray<Acknowledged> =>
  // The last line may be cut off.
  printed.split("\n").slice(0, -1).map((line) => JSON.parse(line) as Acknowledged)

/**
 * Kills a writer, and checks the log it leaves. `compiled` is a folder where a writer that gets to its end leaves the code of
 * all modules as compiled, which halves the time the next ones take to start.
 */
export const run = async (seed: number, kill: Kill, compiled?: string): Promise<Killed> => {
  const directory = mkdtempSync(join(tmpdir(), "quiesce-crash-"))
  const file = join(directory, "session.log")
  try {
    const { finished, printed } = await write(file, seed, kill, compiled)
    const acknowledged = lines(printed)
    const found = await Effect.runPromise(Effect.scoped(check(file, acknowledged)))
    return { finished, acknowledged: acknowledged.length, ...found }
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

const check = Effect.fnUntraced(function*(file: string, acknowledged: ReadonlyArray<Acknowledged>) {
  const faults: Array<string> = []
  const opened = yield* Effect.result(Layer.build(SessionLog.layerSqlite(file)))
  if (opened._tag === "Failure") {
    return { marked: 0, unmarked: 0, faults: [`it does not open: ${opened.failure.message}`] }
  }
  const log = Context.get(opened.success, SessionLog.SessionLog)
  const entries = yield* Stream.runCollect(log.read())
  for (const [seq, tag] of acknowledged) {
    if (entries[seq - 1]?.event._tag !== tag) faults.push(`${tag}, number ${seq}, was acknowledged and is lost`)
  }
  // A call whose body may have run has a mark, and recovery says so of it and of no other.
  const marks = new Set(entries.flatMap(({ event }) => event._tag === "tool/dispatched" ? [event.call] : []))
  const closed = log.recovered.flatMap(({ event }) => event._tag === "tool/result" ? [event] : [])
  for (const { call, result } of closed) {
    if (result.dispatched !== marks.has(call)) faults.push(`call ${call} was closed against its mark`)
  }
  const marked = closed.filter(({ call }) => marks.has(call)).length
  const report = yield* log.verify
  if (!SessionLog.isBalanced(report)) faults.push(JSON.stringify(report))
  if ((yield* log.recover).length > 0) faults.push("it was recovered twice")
  return { marked, unmarked: closed.length - marked, faults }
})
