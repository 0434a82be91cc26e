/**
 * Those who know nothing of Quiesce and are asked whether it tells the truth: a server that notices when its peer hangs
 * up, the operating system, and this process's own list of what keeps it alive.
 */
import { Deferred, Effect, type Scope } from "effect"
import { readFileSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { setImmediate } from "node:timers/promises"

export interface Server {
  readonly url: string
  /** Waits until somebody asks for `/endless`. */
  readonly asked: Effect.Effect<void>
  /** Whether the peer who asked for `path` hung up; `undefined` if nobody asked. Gives the news a second to arrive. */
  readonly hungUp: (path: string) => Effect.Effect<boolean | undefined>
}

/** A server on this machine. It begins an answer to `/endless` that it never finishes, and never begins one to `/slow`. */
export const serve: Effect.Effect<Server, Error, Scope.Scope> = Effect.gen(function*() {
  const asked = new Map<string, Deferred.Deferred<void>>()
  const begun = Deferred.makeUnsafe<void>()
  const server = createServer(({ socket, url = "" }, response) => {
    const left = Deferred.makeUnsafe<void>()
    asked.set(url, left)
    socket.once("close", () => Deferred.doneUnsafe(left, Effect.void))
    if (url !== "/endless") return
    response.write("once upon a time")
    Deferred.doneUnsafe(begun, Effect.void)
  })
  yield* Effect.acquireRelease(
    Effect.callback<void, Error>((resume) => {
      server.once("error", (error) => resume(Effect.fail(error)))
      server.listen(0, "127.0.0.1", () => resume(Effect.void))
    }),
    () => Effect.callback<void>((resume) => void server.close(() => resume(Effect.void)))
  )
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked: Deferred.await(begun),
    hungUp: (path) =>
      Effect.suspend(() => {
        const left = asked.get(path)
        if (left === undefined) return Effect.succeed(undefined)
        return Effect.map(Effect.timeoutOption(Deferred.await(left), "1 second"), (option) => option._tag === "Some")
      })
  }
})

/** Whether a process runs. One that has ended and that nobody has collected yet (a zombie) does not. */
export const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
  } catch {
    return false
  }
  if (process.platform !== "linux") return true
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1")
    return !["Z", "X"].includes(stat[stat.lastIndexOf(")") + 2]!)
  } catch {
    return false
  }
}

/**
 * What is left of a run, counted once everything is closed: all of it should be 0. Node's own list still has what was
 * closed in this turn of the event loop, so two of them are let go by; what is left then stays.
 */
export const census = async (processes: ReadonlyArray<number>) => {
  await setImmediate()
  await setImmediate()
  const resources = process.getActiveResourcesInfo()
  const count = (...kinds: ReadonlyArray<string>) => resources.filter((kind) => kinds.includes(kind)).length
  return {
    processes: Math.max(processes.filter(isAlive).length, count("ProcessWrap")),
    listeners: process.listenerCount("SIGINT"),
    sockets: count("TCPSocketWrap", "TCPServerWrap", "TCPConnectWrap")
  }
}
