/** A server that is no SDK, in memory: it keeps every message, and answers what a test tells it to. */
import { InMemoryTransport } from "@modelcontextprotocol/client"
import type { Client } from "@quiesce/mcp"
import { Effect } from "effect"
import type { Frame } from "./peer.ts"

export class Remote {
  /** What the client sent, over all connections. */
  readonly frames: Array<Frame> = []
  /** How many connections were opened, and how many were closed. */
  opened = 0
  closed = 0
  tools: ReadonlyArray<object> = [{ name: "work", description: "works", inputSchema: { type: "object" } }]
  readonly #waiting = new Set<() => void>()
  #far: InMemoryTransport | undefined

  /** The options of a client of this server. */
  options(options: Partial<Client.Options> = {}): Client.Options {
    return {
      name: "client",
      version: "1",
      revision: "legacy",
      transport: Effect.acquireRelease(Effect.sync(() => this.#open()), () => Effect.sync(() => this.closed++)),
      ...options
    }
  }

  #open(): InMemoryTransport {
    this.opened++
    const [near, far] = InMemoryTransport.createLinkedPair()
    this.#far = far
    far.onmessage = (message) => {
      const frame = message as Frame
      this.frames.push(frame)
      if (frame.method === "initialize") {
        this.send({
          id: frame.id,
          result: {
            protocolVersion: "2025-11-25",
            capabilities: { tools: { listChanged: true } },
            serverInfo: { name: "remote", version: "1" }
          }
        })
      }
      if (frame.method === "tools/list") this.send({ id: frame.id, result: { tools: this.tools } })
      for (const look of this.#waiting) look()
    }
    return near
  }

  send(frame: object): void {
    void this.#far?.send({ jsonrpc: "2.0", ...frame } as never)
  }

  /** Ends the connection, as a server that has died. */
  die(): Promise<void> {
    return this.#far!.close()
  }

  answer(id: unknown, text: string): void {
    this.send({ id, result: { content: [{ type: "text", text }] } })
  }

  /** The `nth` frame of that method, among those that came and those to come. */
  frame(method: string, nth = 0): Promise<Frame> {
    return new Promise((resolve) => {
      const look = () => {
        const found = this.sent(method)[nth]
        if (found === undefined) return
        this.#waiting.delete(look)
        resolve(found)
      }
      this.#waiting.add(look)
      look()
    })
  }

  sent(method: string): ReadonlyArray<Frame> {
    return this.frames.filter((frame) => frame.method === method)
  }
}
