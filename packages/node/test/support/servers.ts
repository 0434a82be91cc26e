/** Servers of this machine, and what they see of those that come and go. */
import { Deferred, Effect } from "effect"
import * as NodeHttp from "node:http"
import type * as Net from "node:net"

export interface Server {
  readonly url: string
  readonly port: number
  /** The sockets that are open at the server's side. */
  readonly sockets: Set<Net.Socket>
  readonly seen: Array<NodeHttp.IncomingMessage>
  /** Waits until the server has seen every socket close. */
  readonly quiet: Effect.Effect<void>
  /** Waits until so many requests have arrived. */
  readonly received: (count: number) => Effect.Effect<void>
}

export const listen = (server: Net.Server) =>
  Effect.gen(function*() {
    const sockets = new Set<Net.Socket>()
    let onQuiet = () => {}
    server.on("connection", (socket: Net.Socket) => {
      sockets.add(socket)
      socket.on("error", () => {})
      socket.on("close", () => {
        sockets.delete(socket)
        if (sockets.size === 0) onQuiet()
      })
    })
    yield* Effect.acquireRelease(
      Effect.callback<void>((resume) => void server.listen(0, "127.0.0.1", () => resume(Effect.void))),
      () =>
        Effect.callback<void>((resume) => {
          server.close(() => resume(Effect.void))
          for (const socket of sockets) socket.destroy()
        })
    )
    const { port } = server.address() as Net.AddressInfo
    const quiet = Effect.callback<void>((resume) => {
      if (sockets.size === 0) return resume(Effect.void)
      onQuiet = () => resume(Effect.void)
    })
    return { url: `http://127.0.0.1:${port}/`, port, sockets, quiet }
  })

export const serve = (handler: (request: NodeHttp.IncomingMessage, response: NodeHttp.ServerResponse) => void) =>
  Effect.gen(function*() {
    const seen: Array<NodeHttp.IncomingMessage> = []
    const arrivals = new Map<number, Deferred.Deferred<void>>()
    const arrival = (count: number) => {
      const arrival = arrivals.get(count) ?? Deferred.makeUnsafe<void>()
      arrivals.set(count, arrival)
      return arrival
    }
    const server = NodeHttp.createServer((request, response) => {
      seen.push(request)
      handler(request, response)
      Deferred.doneUnsafe(arrival(seen.length), Effect.void)
    })
    const received = (count: number) => Deferred.await(arrival(count))
    return { ...yield* listen(server), seen, received } satisfies Server
  })
