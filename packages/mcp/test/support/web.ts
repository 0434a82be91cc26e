/** A client of HTTP that is no SDK: it sends any body with any headers, and reads every event. */
import type { HttpServer } from "@quiesce/mcp"
import { Effect } from "effect"
import { type Frame, initialize, type Revision } from "./peer.ts"

export interface Sending {
  readonly session?: string
  readonly headers?: { readonly [name: string]: string }
  /** The client's connection: aborting it drops that. */
  readonly connection?: AbortSignal
  /** The host's own. */
  readonly signal?: AbortSignal
}

/** A response as it comes. */
export class Reading {
  readonly frames: Array<Frame> = []
  /** Resolves when the response has ended. */
  readonly ended: Promise<void>
  readonly #reader: ReadableStreamDefaultReader<string> | undefined
  readonly #waiting = new Set<() => void>()

  readonly response: Response

  constructor(response: Response) {
    this.response = response
    this.#reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
    this.ended = this.#read()
  }

  async #read(): Promise<void> {
    const json = this.response.headers.get("content-type")?.startsWith("application/json") === true
    let text = ""
    try {
      while (this.#reader !== undefined) {
        const { done, value } = await this.#reader.read()
        text += value ?? ""
        if (!json) {
          const events = text.split("\n\n")
          text = events.pop()!
          for (const event of events) {
            const data = event.split("\n").find((line) => line.startsWith("data: "))
            if (data !== undefined) this.frames.push(JSON.parse(data.slice(6)) as Frame)
          }
          for (const look of this.#waiting) look()
        }
        if (done) break
      }
    } catch {
      // dropped
    }
    if (json) this.frames.push(JSON.parse(text) as Frame)
  }

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

  /** Reads no more, as a client that has gone. */
  drop(): Promise<void> {
    return this.#reader?.cancel() ?? Promise.resolve()
  }
}

export const headersOf = (body: unknown, { headers, session }: Sending): { readonly [name: string]: string } => {
  const one = Array.isArray(body) ? undefined : body as { method?: string; params?: any }
  const version: string = one?.params?._meta?.["io.modelcontextprotocol/protocolVersion"] ?? "2025-11-25"
  return {
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
    "mcp-protocol-version": version,
    ...(version === "2026-07-28" ? { "mcp-method": one!.method!, "mcp-name": one?.params?.name ?? "" } : {}),
    ...(session === undefined ? {} : { "mcp-session-id": session }),
    ...headers
  }
}

export const web = ({ handle }: HttpServer.Shape) => {
  const send = async (method: string, body: unknown, sending: Sending = {}): Promise<Reading> => {
    const { connection, signal } = sending
    const request = new Request("http://localhost/mcp", {
      method,
      headers: headersOf(body, sending),
      ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
      ...(connection === undefined ? {} : { signal: connection })
    })
    return new Reading(await handle(request, signal === undefined ? {} : { signal }))
  }
  const post = (body: unknown, sending?: Sending) => send("POST", body, sending)
  return {
    send,
    post,
    /** Opens a session, where the revision has sessions. */
    open: async (revision: Revision): Promise<{ readonly session?: string }> => {
      if (revision === "2026-07-28") return {}
      const { ended, response } = await post(initialize())
      await ended
      const session = response.headers.get("mcp-session-id")!
      await post({ jsonrpc: "2.0", method: "notifications/initialized" }, { session })
      return { session }
    }
  }
}

export type Web = ReturnType<typeof web>

export const promise = <A>(f: () => Promise<A>): Effect.Effect<A> => Effect.promise(f)
