/**
 * A client that is no SDK, for a server that can be any: it sends frames as they are, and keeps every frame that comes.
 *
 * Over stdio a link is a process; over HTTP it is a session, or, in the stateless revisions, nothing but its requests.
 */
import { Fault, type Message as Frame, patienceMillis, RawPeer } from "@quiesce/wire/RawPeer"
import * as RawProgram from "@quiesce/wire/RawProgram"
import * as Effect from "effect/Effect"

export type Revision = "2025-11-25" | "2026-07-28"

export type Target =
  | { readonly _tag: "Command"; readonly command: string; readonly args: ReadonlyArray<string> }
  | { readonly _tag: "Url"; readonly url: string }

/** A program may load for that long before it reads. */
const startMillis = 60_000

export abstract class Link extends RawPeer {
  readonly revision: Revision
  /** What tells the bodies of one case from those of others that the same server has run. */
  readonly #mark: string
  #asked = 0

  constructor(revision: Revision, mark: string) {
    super()
    this.revision = revision
    this.#mark = mark
  }

  /** Has the handshake behind it when this returns, where there is one. */
  abstract start(): Promise<void>
  /** Sends frames, over stdio all in one chunk. */
  abstract send(...frames: ReadonlyArray<object | string>): Promise<void>
  abstract close(): Promise<void>

  /** What was sent about a request, which has its own id as its progress token. */
  about(id: string | number): ReadonlyArray<Frame> {
    return this.received.filter((frame) => frame.id === id || frame.params?.progressToken === id)
  }

  request(id: string | number, method: string, params: object = {}): object {
    const { _meta, ...rest } = params as { readonly _meta?: object }
    const envelope = this.revision === "2025-11-25" ? {} : {
      "io.modelcontextprotocol/protocolVersion": this.revision,
      "io.modelcontextprotocol/clientInfo": { name: "quiesce-mcp-suite", version: "1" },
      "io.modelcontextprotocol/clientCapabilities": {}
    }
    return { jsonrpc: "2.0", id, method, params: { ...rest, _meta: { ..._meta, ...envelope } } }
  }

  call(
    id: string | number,
    name: string,
    args: { readonly key?: string; readonly [name: string]: unknown } = {}
  ): object {
    const marked = args.key === undefined ? args : { ...args, key: args.key + this.#mark }
    return this.request(id, "tools/call", { name, arguments: marked, _meta: { progressToken: id } })
  }

  /** What the server says of its bodies: which have begun, and which are over. */
  async bodies(): Promise<{ readonly began: ReadonlyArray<string>; readonly over: ReadonlyArray<string> }> {
    const id = `suite-${++this.#asked}`
    await this.send(this.call(id, "suite_bodies"))
    const { result } = await this.answer(id)
    const { began, over } = JSON.parse(result.content[0].text) as {
      readonly began: ReadonlyArray<string>
      readonly over: ReadonlyArray<string>
    }
    const ours = (keys: ReadonlyArray<string>) =>
      keys.filter((key) => key.endsWith(this.#mark)).map((key) => key.slice(0, -this.#mark.length))
    return { began: ours(began), over: ours(over) }
  }

  /** Waits until the body with this key has begun. */
  began(id: string | number): Promise<Frame> {
    return this.message(({ params }) => params?.progressToken === id, `the first progress of ${JSON.stringify(id)}`)
  }

  /** Asks again and again until the body with this key is over: there is no other way to hear of it from outside. */
  async over(key: string): Promise<void> {
    for (let asked = 0; asked < 50; asked++) {
      if ((await this.bodies()).over.includes(key)) return
      await Effect.runPromise(Effect.sleep(patienceMillis / 50))
    }
    throw new Fault(`the body ${key} did not end within ${patienceMillis} ms of its cancel`)
  }
}

export const cancel = (requestId: unknown, reason?: string): object => ({
  jsonrpc: "2.0",
  method: "notifications/cancelled",
  params: reason === undefined ? { requestId } : { requestId, reason }
})

const initialize = {
  jsonrpc: "2.0",
  id: "suite-initialize",
  method: "initialize",
  params: {
    protocolVersion: "2025-11-25",
    capabilities: {},
    clientInfo: { name: "quiesce-mcp-suite", version: "1" }
  }
}

const initialized = { jsonrpc: "2.0", method: "notifications/initialized" }

export class StdioLink extends Link {
  readonly program: RawProgram.RawProgram

  constructor(revision: Revision, mark: string, command: string, args: ReadonlyArray<string>) {
    super(revision, mark)
    this.program = RawProgram.start(command, args, this)
  }

  async start(): Promise<void> {
    if (this.revision === "2025-11-25") {
      await this.send(initialize)
      await this.answer(initialize.id, startMillis)
      return this.send(initialized)
    }
    await this.send(this.request("suite-start", "tools/list"))
    await this.answer("suite-start", startMillis)
  }

  async send(...frames: ReadonlyArray<object | string>): Promise<void> {
    this.program.send(...frames)
  }

  close(): Promise<void> {
    return this.program.close()
  }
}

export class HttpLink extends Link {
  readonly #url: string
  #session: string | undefined
  readonly #requests = new Set<AbortController>()
  /** The responses that have not ended, by the id of their request. */
  readonly streams = new Map<string | number, { readonly controller: AbortController; readonly ended: Promise<void> }>()

  constructor(revision: Revision, mark: string, url: string) {
    super(revision, mark)
    this.#url = url
  }

  async start(): Promise<void> {
    if (this.revision === "2026-07-28") return
    const { headers } = await this.#request(initialize)
    await this.answer(initialize.id, startMillis)
    this.#session = headers.get("mcp-session-id") ?? undefined
    await this.send(initialized)
  }

  /** Each frame is a POST of its own; returns when each has its status. */
  async send(...frames: ReadonlyArray<object | string>): Promise<void> {
    await Promise.all(frames.map((frame) => this.post(frame)))
  }

  async post(frame: object | string): Promise<number> {
    return (await this.#request(frame)).status
  }

  async #request(frame: object | string): Promise<Response> {
    const { id, method, params } = (typeof frame === "string" ? {} : frame) as Frame
    const controller = new AbortController()
    this.#requests.add(controller)
    const response = await fetch(this.#url, {
      method: "POST",
      signal: controller.signal,
      body: typeof frame === "string" ? frame : JSON.stringify(frame),
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        // It is what the handshake is about.
        ...(method === initialize.method ? {} : { "mcp-protocol-version": this.revision }),
        ...(this.#session === undefined ? {} : { "mcp-session-id": this.#session }),
        ...(this.revision === "2025-11-25" || method === undefined
          ? {}
          : { "mcp-method": method, ...(params?.name === undefined ? {} : { "mcp-name": params.name }) })
      }
    })
    const ended = this.#read(response)
    if (id !== undefined && id !== null && method !== undefined) this.streams.set(id, { controller, ended })
    return response
  }

  async #read(response: Response): Promise<void> {
    const isStream = response.headers.get("content-type")?.startsWith("text/event-stream") === true
    let text = ""
    try {
      for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
        text += chunk
        if (!isStream) continue
        const events = text.split("\n\n")
        text = events.pop()!
        for (const event of events) {
          const data = event.split("\n").find((line) => line.startsWith("data:"))?.slice(5).trim()
          if (data) this.came(JSON.parse(data) as Frame)
        }
      }
      if (!isStream && text.startsWith("{")) this.came(JSON.parse(text) as Frame)
    } catch {
      // dropped, by us
    }
  }

  async close(): Promise<void> {
    for (const controller of this.#requests) controller.abort()
    if (this.#session === undefined) return
    await fetch(this.#url, {
      method: "DELETE",
      headers: { "mcp-session-id": this.#session, "mcp-protocol-version": this.revision }
    })
  }
}

/** A link that is to be started, and closed whether it was or not. */
export const make = (target: Target, revision: Revision, mark: string): Link =>
  target._tag === "Command"
    ? new StdioLink(revision, mark, target.command, target.args)
    : new HttpLink(revision, mark, target.url)
