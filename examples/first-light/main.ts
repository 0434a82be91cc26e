/**
 * Real tools through a registry, some cancelled in mid-flight.
 *
 * For each call a row says what became of it, whether its body was invoked, and how long it took from asking it to stop
 * until it was quiet. Two witnesses who know nothing of Quiesce must agree: the operating system, asked for a process by
 * its pid, and an HTTP server, which writes down when its peer hung up.
 */
import { Abortable, Tool, ToolRegistry, type ToolResult } from "@quiesce/core"
import { Data, Deferred, Effect, Schema } from "effect"
import { type ChildProcess, spawn } from "node:child_process"
import { readdir } from "node:fs/promises"
import { type ClientRequest, createServer, get } from "node:http"
import type { AddressInfo } from "node:net"
import { text } from "node:stream/consumers"

// The body of a tool can be a promise function.
const listFiles = Tool.fromPromise("list_files", {
  description: "List the files of a folder",
  parameters: Schema.Struct({ path: Schema.String }),
  success: Schema.Array(Schema.String),
  execute: ({ path }) => readdir(path)
})

// Or an effect: whatever it acquired is released before the call counts as quiet, however the call ends.
const runScript = Tool.make("run_script", {
  description: "Run a JavaScript program in a process of its own",
  parameters: Schema.Struct({ script: Schema.String }),
  success: Schema.String,
  execute: Effect.fnUntraced(function*({ script }, call) {
    const child = yield* Effect.acquireRelease(start(script), stop)
    call.deferContext({ pid: child.pid! })
    child.stdout!.once("data", () => call.progress({ progress: 0, message: "it prints" }))
    return yield* Effect.callback<string, Error>((resume) => {
      text(child.stdout!).then((output) => resume(Effect.succeed(output)), (error) => resume(Effect.fail(error)))
    })
  })
})

const start = (script: string): Effect.Effect<ChildProcess, Error> =>
  Effect.callback((resume) => {
    const child = spawn(process.execPath, ["--eval", script], { stdio: ["ignore", "pipe", "inherit"] })
    child.once("spawn", () => resume(Effect.succeed(child)))
    child.on("error", (error) => resume(Effect.fail(error)))
  })

/** Asks the process to stop, makes it stop half a second later, and in either case waits until it is gone. */
const stop = (child: ChildProcess): Effect.Effect<void> =>
  Effect.timeoutOrElse(kill(child, "SIGTERM"), { duration: "500 millis", orElse: () => kill(child, "SIGKILL") })

const kill = (child: ChildProcess, signal: NodeJS.Signals): Effect.Effect<void> =>
  Effect.callback((resume) => {
    if (child.exitCode !== null || child.signalCode !== null) return resume(Effect.void)
    child.once("exit", () => resume(Effect.void))
    child.kill(signal)
  })

const fetchPage = Tool.make("fetch_page", {
  description: "Fetch a page",
  parameters: Schema.Struct({ url: Schema.String }),
  success: Schema.String,
  timeout: "1 second",
  execute: Effect.fnUntraced(function*({ url }, call) {
    const request = yield* Effect.acquireRelease(Effect.sync(() => get(url, { agent: false })), hangUp)
    return yield* Effect.callback<string, Error>((resume) => {
      const fail = (error: Error) => resume(Effect.fail(error))
      request.once("error", fail)
      request.once("response", (response) => {
        call.progress({ progress: 0, message: "it answers" })
        text(response).then((body) => resume(Effect.succeed(body)), fail)
      })
    })
  })
})

/** Hangs up and waits until the server has hung up too. (`fetch` does not wait: its server learns of it later.) */
const hangUp = (request: ClientRequest): Effect.Effect<void> =>
  Effect.callback((resume) => {
    if (request.closed) return resume(Effect.void)
    request.on("error", () => {})
    request.once("close", () => resume(Effect.void))
    // A server that does not answer is left after a second.
    request.setTimeout(1000, () => request.destroy())
    if (request.socket?.connecting === false) request.socket.end()
    else request.destroy()
  })

/** A server that answers `/page`, never finishes any other page, and knows when its peer hung up on each. */
const serve = Effect.gen(function*() {
  const hungUpAt = new Map<string, number>()
  const server = createServer(({ socket, url = "" }, response) => {
    socket.once("end", () => hungUpAt.set(url, performance.now()))
    if (url === "/page") response.end("a page")
    else response.write("a page without an e")
  })
  yield* Effect.acquireRelease(
    Effect.callback<void, NoPort>((resume) => {
      server.once("error", ({ message }) => resume(Effect.fail(new NoPort({ reason: message }))))
      server.listen(0, "127.0.0.1", () => resume(Effect.void))
    }),
    () => Effect.callback<void>((resume) => void server.close(() => resume(Effect.void)))
  )
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, hungUpAt }
})

class NoPort extends Data.TaggedError("NoPort")<{ readonly reason: string }> {
  override get message(): string {
    return `This example needs a port on 127.0.0.1 and got none: ${this.reason}.`
  }
}

const main = Effect.gen(function*() {
  const registry = yield* ToolRegistry.ToolRegistry
  const server = yield* serve

  const call = Effect.fnUntraced(function*(callId: string, name: string, args: Arguments) {
    const result = yield* registry.execute({ callId, name, arguments: args })
    return { result, settledAt: performance.now() }
  })

  /** Asks the call to stop as soon as its body reports progress. */
  const callAndCancel = Effect.fnUntraced(function*(callId: string, name: string, args: Arguments) {
    const reported = yield* Deferred.make<void>()
    yield* registry.observe({
      progress: (call) => call.callId === callId ? Effect.asVoid(Deferred.succeed(reported, undefined)) : Effect.void
    })
    const started = yield* registry.start({ callId, name, arguments: args })
    yield* Effect.raceFirst(Deferred.await(reported), started.result)
    const askedAt = performance.now()
    yield* started.cancel()
    const result = yield* started.result
    return { result, settledAt: performance.now(), askedAt }
  }, Effect.scoped)

  /** Promise code owns a call by an AbortSignal. This one is aborted before the call is made. */
  const callAborted = (callId: string, name: string, args: Arguments) =>
    Abortable.promise(async () => {
      const result = await registry.executePromise({ callId, name, arguments: args, signal: AbortSignal.abort() })
      return { result, settledAt: performance.now() }
    })

  const byServer = (page: string, { settledAt }: Ended): Witness => {
    const lead = settledAt - (server.hungUpAt.get(page) ?? Number.POSITIVE_INFINITY)
    return lead >= 0
      ? { agrees: true, says: `the server saw it hang up ${lead.toFixed(1)} ms before` }
      : { agrees: false, says: "the server has not seen it hang up" }
  }

  row("call", "outcome", "dispatched", "asked → quiet", "witness")

  const list = yield* call("list_files", "list_files", { path: import.meta.dirname })
  show(list, "Success", byContent(list))

  const script = yield* call("run_script", "run_script", { script: "console.log(6 * 7)" })
  show(script, "Success", byPid(script))

  const page = yield* call("fetch_page", "fetch_page", { url: `${server.url}/page` })
  show(page, "Success", byContent(page))

  const unwanted = yield* callAborted("run_script, aborted on entry", "run_script", { script: "console.log(6 * 7)" })
  show(unwanted, "ABORTED_BEFORE_DISPATCH", byPid(unwanted))

  const orderly = yield* callAndCancel("run_script, needs 100 ms to stop", "run_script", { script: orderlyScript })
  show(orderly, "ABORTED", byPid(orderly))

  const deaf = yield* callAndCancel("run_script, does not listen", "run_script", { script: deafScript })
  show(deaf, "ABORTED", byPid(deaf))

  const endless = yield* callAndCancel("fetch_page, never ends", "fetch_page", { url: `${server.url}/endless` })
  show(endless, "ABORTED", byServer("/endless", endless))

  const late = yield* call("fetch_page, over its budget of 1 s", "fetch_page", { url: `${server.url}/late` })
  show(late, "TOOL_TIMEOUT", byServer("/late", late))

  const left = yield* registry.inFlight
  if (left.length > 0) faults.push(`still in flight: ${left.map(({ callId }) => callId).join("; ")}`)
})

type Arguments = { readonly [name: string]: string }

const orderlyScript = `
  process.on("SIGTERM", () => setTimeout(process.exit, 100))
  setInterval(() => console.log("at work"), 10)`

const deafScript = `
  process.on("SIGTERM", () => {})
  setInterval(() => console.log("at work"), 10)`

/** A call that has settled, and had been asked to stop if `askedAt` says when. */
interface Ended {
  readonly result: ToolResult.ToolResult
  readonly settledAt: number
  readonly askedAt?: number
}

interface Witness {
  readonly agrees: boolean
  readonly says: string
}

const byContent = ({ result }: Ended): Witness => ({ agrees: true, says: result.content[0]!.text })

const pidOf = ({ result }: Ended): number | undefined =>
  (result.contexts[0] as { readonly pid: number } | undefined)?.pid

const byPid = (ended: Ended): Witness => {
  const pid = pidOf(ended)
  if (pid === undefined) return { agrees: !ended.result.dispatched, says: "no process was started" }
  return isAlive(pid)
    ? { agrees: false, says: `process ${pid} is alive` }
    : { agrees: true, says: `process ${pid} is gone` }
}

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

const faults: Array<string> = []

const show = ({ askedAt, result, settledAt }: Ended, expected: string, witness: Witness): void => {
  const outcome = result._tag === "Success" ? "Success" : result.error.code
  const dispatched = expected !== "ABORTED_BEFORE_DISPATCH"
  if (outcome !== expected) {
    faults.push(`${result.callId}: ${outcome} instead of ${expected}, ${result.content[0]?.text}`)
  }
  if (result.dispatched !== dispatched) faults.push(`${result.callId}: dispatched is ${result.dispatched}`)
  if (!witness.agrees) faults.push(`${result.callId}: ${witness.says}`)
  const quietAfter = askedAt === undefined ? "" : `${(settledAt - askedAt).toFixed(1)} ms`
  row(result.callId, outcome, result.dispatched ? "yes" : "no", quietAfter, witness.says)
}

const row = (call: string, outcome: string, dispatched: string, quietAfter: string, witness: string): void =>
  console.log(`${call.padEnd(36)}${outcome.padEnd(25)}${dispatched.padEnd(12)}${quietAfter.padStart(13)}   ${witness}`)

// Ctrl-C cancels it all, and is heard when it is quiet.
const terminal = new AbortController()
process.once("SIGINT", () => terminal.abort(new Error("Interrupted: whatever was running has been ended.")))

try {
  const tools = ToolRegistry.layer([listFiles, runScript, fetchPage])
  await Abortable.runPromise(main.pipe(Effect.scoped, Effect.provide(tools)), { signal: terminal.signal })
} catch (error) {
  faults.push((error as Error).message)
}
if (faults.length > 0) {
  console.error(`\n${faults.join("\n")}`)
  process.exit(1)
}
// No exit here: the process ends by itself, since nothing is left that could keep it.
console.log("\nEvery call ended as it should, and nothing is left running.")
