/**
 * A connection of lines: one JSON-RPC message each, over a pair of streams.
 *
 * 1. A line that is no message is answered with the protocol's error, and the next line is read: the connection lives.
 * 2. A line that is too long is not kept: what is read of it is counted and dropped until it ends.
 * 3. Reading never waits for writing. A peer that does not read its answers can still cancel.
 * 4. Once closed nothing is written.
 */
import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/server"
import type { Readable, Writable } from "node:stream"
import { Lines } from "./lines.ts"
import * as Message from "./message.ts"
import type { Skimmed } from "./skim.ts"

export interface Limits {
  /** The longest line, in bytes. */
  readonly maxFrameBytes: number
  /** How deep arrays and objects of a message may be nested. */
  readonly maxDepth: number
}

/**
 * 10 MiB is what the official SDK takes. The core takes arguments of 512 levels, which are some levels down in their
 * message; what is far deeper only exhausts the stack of whoever validates it.
 */
export const defaultLimits: Limits = { maxFrameBytes: 10 * 1024 * 1024, maxDepth: 1024 }

export class StdioWire implements Transport {
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: NonNullable<Transport["onmessage"]>
  readonly #input: Readable
  readonly #output: Writable
  readonly #limits: Limits
  readonly #lines: Lines
  #closed = false

  constructor(input: Readable, output: Writable, limits: Limits = defaultLimits) {
    this.#input = input
    this.#output = output
    this.#limits = limits
    this.#lines = new Lines(limits.maxFrameBytes, (line, skimmed) => this.#line(line, skimmed))
  }

  async start(): Promise<void> {
    this.#input.on("data", this.#read)
    this.#input.once("end", this.#ended)
    this.#input.once("close", this.#ended)
    this.#input.on("error", this.#failed)
    this.#output.on("error", this.#failed)
    this.#output.once("close", this.#ended)
    if (this.#input.readableEnded || this.#input.destroyed) this.#ended()
  }

  // Its listeners of errors stay: a pipe may break while what was written last is on its way.
  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    this.#input.off("data", this.#read)
    this.#input.off("end", this.#ended)
    this.#input.off("close", this.#ended)
    this.#output.off("close", this.#ended)
    this.#input.pause()
    this.#lines.stop()
    this.onclose?.()
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if (!this.#closed) this.#output.write(`${JSON.stringify(message)}\n`)
  }

  readonly #ended = (): void => {
    this.close().catch(this.#failed)
  }

  readonly #failed = (error: Error): void => {
    if (this.#closed) return
    this.onerror?.(error)
    this.#ended()
  }

  readonly #read = (chunk: Uint8Array): void => this.#lines.read(chunk)

  #line(text: string | undefined, skimmed: Skimmed | undefined): void {
    const { maxDepth, maxFrameBytes } = this.#limits
    if (text === undefined) {
      const id = skimmed?.what === "call" && Message.isId(skimmed.id) ? skimmed.id : null
      return this.#refuse(id, "invalidRequest", `a message has at most ${maxFrameBytes} bytes`)
    }
    let message: unknown
    try {
      message = JSON.parse(text)
    } catch {
      return this.#refuse(null, "parse", "the line is not JSON")
    }
    if (isDeeper(text, maxDepth)) {
      return this.#refuse(
        Message.idOf(message),
        "invalidRequest",
        `a message is nested at most ${maxDepth} levels deep`
      )
    }
    const fault = faultOf(message)
    if (fault !== undefined) return this.#refuse(Message.idOf(message), "invalidRequest", fault)
    this.onmessage?.(message as JSONRPCMessage)
  }

  #refuse(id: Message.Id | null, code: "parse" | "invalidRequest", reason: string): void {
    const title = code === "parse" ? "Parse error" : "Invalid Request"
    this.send(Message.refusal(id, Message.errorCodes[code], `${title}: ${reason}`)).catch(this.#failed)
  }
}

/** What is wrong with a message, before anybody asks what it says. */
export const faultOf = (message: unknown): string | undefined => {
  if (Array.isArray(message)) return "messages come one by one"
  if (typeof message !== "object" || message === null) return "a message is an object"
  const { jsonrpc, params } = message as { readonly jsonrpc?: unknown; readonly params?: unknown }
  if (jsonrpc !== "2.0") return "a message says \"jsonrpc\": \"2.0\""
  if (!Message.isRequest(message) && !Message.isNotification(message) && !Message.isResponse(message)) {
    return "a message is a request, a notification or a response, and an id is a string or a number"
  }
  if (params !== undefined && (typeof params !== "object" || params === null || Array.isArray(params))) {
    return "params is an object"
  }
  return undefined
}

/** Whether arrays and objects in a JSON text are nested deeper than `max`. */
export const isDeeper = (json: string, max: number): boolean => {
  // It takes a bracket to open a level, and one to close it.
  if (json.length < 2 * max) return false
  let depth = 0
  let inText = false
  for (let index = 0; index < json.length; index++) {
    const code = json.charCodeAt(index)
    if (inText) {
      if (code === 0x5c) index++
      else if (code === 0x22) inText = false
    } else if (code === 0x22) inText = true
    else if (code === 0x5b || code === 0x7b) {
      if (++depth > max) return true
    } else if (code === 0x5d || code === 0x7d) depth--
  }
  return false
}
