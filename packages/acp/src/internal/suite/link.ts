/**
 * A client that is no SDK, for an agent that can be any program.
 */
import { demand, type Message, RawPeer } from "@quiesce/wire/RawPeer"
import * as RawProgram from "@quiesce/wire/RawProgram"
import { existsSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { cancelRequest } from "../message.ts"

export type Id = string | number

const notification = (method: string, params: object): object => ({ jsonrpc: "2.0", method, params })

export const request = (id: Id, method: string, params: object = {}): object => ({ jsonrpc: "2.0", id, method, params })

export const cancel = (requestId: unknown): object => notification(cancelRequest, { requestId })

export const stop = (sessionId: string): object => notification("session/cancel", { sessionId })

export const result = (id: Message["id"], result: unknown): object => ({ jsonrpc: "2.0", id, result })

export const error = (id: Message["id"], code: number): object => ({
  jsonrpc: "2.0",
  id,
  error: { code, message: "Request cancelled" }
})

/** A program may load for that long before it answers. */
const startMillis = 60_000

export class Link extends RawPeer {
  readonly program: RawProgram.RawProgram
  readonly #folder = mkdtempSync(join(tmpdir(), "quiesce-acp-suite-"))
  #asked = 0

  constructor(command: string, args: ReadonlyArray<string>) {
    super()
    this.program = RawProgram.start(command, args, this)
  }

  /** Sends messages, and texts as they are, in one chunk. */
  send(...messages: ReadonlyArray<object | string>): void {
    this.program.send(...messages)
  }

  /** A file that is not there, for a body to write when it is over: to be seen whatever becomes of the connection. */
  file(name: string): { readonly path: string; readonly isWritten: () => boolean } {
    const path = join(this.#folder, name)
    return { path, isWritten: () => existsSync(path) }
  }

  async initialize(): Promise<void> {
    this.send(request("initialize", "initialize", {
      protocolVersion: 1,
      clientCapabilities: { terminal: true },
      clientInfo: { name: "quiesce-acp-suite", version: "1" }
    }))
    await this.answer("initialize", startMillis)
  }

  async newSession(): Promise<string> {
    const id = `session-${++this.#asked}`
    this.send(request(id, "session/new", { cwd: this.#folder, mcpServers: [] }))
    const { result } = await this.answer(id)
    demand(typeof result?.sessionId === "string", "there is no session")
    return result.sessionId
  }

  /** Begins a request whose handler says that it has begun. */
  async begin(
    id: Id,
    method: string,
    params: { readonly key: string; readonly [name: string]: unknown }
  ): Promise<void> {
    this.send(request(id, method, params))
    await this.began(params.key)
  }

  /** Waits until a body says that it has begun. */
  began(key: string): Promise<Message> {
    return this.message(
      ({ method, params }) => method === "_suite/began" && params?.key === key,
      `${key} did begin: it`
    )
  }

  /** What bodies did, in order: `"+key"` for one that began, `"-key"` for one that is over. */
  async log(): Promise<ReadonlyArray<string>> {
    const id = `log-${++this.#asked}`
    this.send(request(id, "_suite/log"))
    return (await this.answer(id)).result.log
  }

  /** Demands that a request is answered once, as one that was cancelled, and says so when all there was has come. */
  async cancelled(id: Id): Promise<void> {
    const { error } = await this.answer(id)
    demand(error === undefined || error.code === -32800, `it is answered with the error ${error?.code}`)
    await this.log()
    demand(this.answers(id).length === 1, `it is answered ${this.answers(id).length} times`)
  }

  /** Demands that a prompt is answered once, as one that was cancelled, and that nothing of its session comes behind that. */
  async stopped(id: Id, sessionId: string): Promise<void> {
    const { error, result } = await this.answer(id)
    demand(result?.stopReason === "cancelled", `it is answered with ${JSON.stringify(error ?? result)}`)
    await this.log()
    demand(this.answers(id).length === 1, `it is answered ${this.answers(id).length} times`)
    const after = this.received.slice(this.received.indexOf(this.answers(id)[0]!))
    const late = after.find(({ params }) => params?.sessionId === sessionId)
    demand(late === undefined, `behind the answer came ${JSON.stringify(late)}`)
  }

  async served(): Promise<void> {
    const id = `served-${++this.#asked}`
    this.send(request(id, "_suite/echo", { text: id }))
    demand((await this.answer(id)).result?.text === id, "a request that is fit was not served")
  }

  prompt(id: Id, sessionId: string, ...calls: ReadonlyArray<string>): object {
    return request(id, "session/prompt", { sessionId, prompt: [{ type: "text", text: calls.join("\n") }] })
  }

  /** What the agent asks of the client by this method, once `count` of it have come. */
  async asked(method: string, count = 1): Promise<ReadonlyArray<Message>> {
    await this.message(() => this.told(method).length >= count, `${method} was asked ${count} times: it`)
    return this.told(method)
  }

  async close(): Promise<void> {
    await this.program.close()
    rmSync(this.#folder, { recursive: true, force: true })
  }
}
