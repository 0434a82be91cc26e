/**
 * A client that is no SDK: it writes lines as they are and keeps every line it reads, so that a test can send what no
 * client would, and see what no client shows.
 */
import { StdioServer } from "@quiesce/mcp"
import { Effect, Fiber } from "effect"
import { PassThrough } from "node:stream"

export type Frame = {
  readonly id?: number | string | null
  readonly method?: string
  readonly params?: any
  readonly result?: any
  readonly error?: { readonly code: number; readonly message: string }
}

export class Peer {
  readonly frames: Array<Frame> = []
  readonly input = new PassThrough()
  readonly output = new PassThrough()
  #rest = ""
  readonly #waiting = new Set<() => void>()
  #pings = 0

  constructor() {
    this.output.setEncoding("utf8")
    this.output.on("data", (text: string) => {
      const lines = (this.#rest + text).split("\n")
      this.#rest = lines.pop()!
      for (const line of lines) this.frames.push(JSON.parse(line) as Frame)
      for (const look of this.#waiting) look()
    })
  }

  /** All in one chunk. */
  send(...frames: ReadonlyArray<object | string>): void {
    this.input.write(frames.map((frame) => (typeof frame === "string" ? frame : JSON.stringify(frame)) + "\n").join(""))
  }

  /** Waits for a frame, among those that came and those to come. */
  frame(is: (frame: Frame) => boolean): Promise<Frame> {
    return new Promise((resolve) => {
      const look = () => {
        const found = this.frames.find(is)
        if (found === undefined) return
        this.#waiting.delete(look)
        resolve(found)
      }
      this.#waiting.add(look)
      look()
    })
  }

  answer(id: number | string): Promise<Frame> {
    return this.frame((frame) => frame.id === id && frame.method === undefined)
  }

  about(id: number | string): ReadonlyArray<Frame> {
    return this.frames.filter((frame) => frame.id === id || frame.params?.progressToken === id)
  }

  /** Once it is answered, whatever was written before has been read. */
  async settled(revision: Revision = "2025-11-25"): Promise<void> {
    const id = `barrier-${++this.#pings}`
    this.send(request(revision, id, "tools/list"))
    await this.answer(id)
  }
}

export type Revision = "2025-11-25" | "2026-07-28"
export const revisions: ReadonlyArray<Revision> = ["2025-11-25", "2026-07-28"]

export const request = (revision: Revision, id: unknown, method: string, params: object = {}) => ({
  jsonrpc: "2.0",
  id,
  method,
  params: revision === "2025-11-25" ? params : {
    ...params,
    _meta: {
      ...(params as { readonly _meta?: object })._meta,
      "io.modelcontextprotocol/protocolVersion": revision,
      "io.modelcontextprotocol/clientInfo": { name: "peer", version: "1" },
      "io.modelcontextprotocol/clientCapabilities": {}
    }
  }
})

export const call = (revision: Revision, id: unknown, name: string, args: object = {}, meta: object = {}) =>
  request(revision, id, "tools/call", { name, arguments: args, _meta: { progressToken: id, ...meta } })

export const cancel = (requestId: unknown, reason?: string) => ({
  jsonrpc: "2.0",
  method: "notifications/cancelled",
  params: reason === undefined ? { requestId } : { requestId, reason }
})

export const initialize = (id: unknown = "init") => ({
  jsonrpc: "2.0",
  id,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "peer", version: "1" } }
})

/** A server that is served to a raw peer, with the handshake of its revision behind it. */
export const open = Effect.fnUntraced(function*(
  revision: Revision,
  options: Partial<StdioServer.Options> = {}
) {
  const peer = new Peer()
  const streams = { input: peer.input, output: peer.output }
  const server = yield* Effect.forkScoped(
    StdioServer.serve({ name: "fixture", version: "1", streams, ...options }),
    { startImmediately: true }
  )
  if (revision === "2025-11-25") {
    peer.send(initialize(), { jsonrpc: "2.0", method: "notifications/initialized" })
    yield* Effect.promise(() => peer.answer("init"))
  }
  return { peer, server, exit: Fiber.await(server) }
})
