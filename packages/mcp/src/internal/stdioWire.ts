/**
 * A connection of lines: one JSON-RPC message each, over a pair of streams.
 *
 * 1. A line that is no message is answered with the protocol's error, and the next line is read: the connection lives.
 * 2. A line that is too long is not kept: what is read of it is counted and dropped until it ends.
 * 3. What a peer leaves unread is bounded by `maxUnreadBytes`, and it can cancel all the same: the wire is `full` then, new
 *    requests are held back behind it, reports of progress are dropped, and everything else is read and heard. What is
 *    read meanwhile is bounded by as much again; beyond it nothing is read, and a peer that does not take a message
 *    within the `stall` counts as gone. So a slow peer is waited for, and one that is stuck does not keep its calls.
 * 4. Once closed nothing is written.
 */
import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/server"
import * as Frames from "@quiesce/wire/Frames"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import type { Readable, Writable } from "node:stream"
import type { Flow } from "./flow.ts"
import * as Message from "./message.ts"

export interface Limits {
  /** The longest line, in bytes. */
  readonly maxFrameBytes: number
  /** What may be written and not be read. */
  readonly maxUnreadBytes: number
  /** How long a peer may take for one message, when so much is unread that nothing more is read of it. */
  readonly stall: Duration.Duration
}

/**
 * 10 MiB is what the official SDK takes. 16 MiB unread are one answer of the longest that official clients take, and some
 * more beside it. A minute is what a client may be busy or swapped out, and what the longest answer takes over 200 KB a
 * second.
 */
export const defaultLimits: Limits = {
  maxFrameBytes: 10 * 1024 * 1024,
  maxUnreadBytes: 16 * 1024 * 1024,
  stall: Duration.minutes(1)
}

/** Starts what waits for time. */
export type Fork = (effect: Effect.Effect<void>) => Fiber.Fiber<void>

export class StdioWire implements Transport, Flow {
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: NonNullable<Transport["onmessage"]>
  onroom?: () => void
  readonly #input: Readable
  readonly #output: Writable
  readonly #limits: Limits
  readonly #frames: Frames.Decoder
  readonly #fork: Fork
  #closed = false
  #holding = false
  /** What was read since it was full, until it is not and nothing is held back. */
  #backlog = 0
  /** Runs while nothing is read. */
  #stall: Fiber.Fiber<void> | undefined

  constructor(input: Readable, output: Writable, limits: Limits, fork: Fork) {
    this.#fork = fork
    this.#input = input
    this.#output = output
    this.#limits = limits
    this.#frames = Frames.make({ maxBytes: limits.maxFrameBytes, maxDepth: Message.maxDepth })
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
    this.#stall?.interruptUnsafe()
    this.onclose?.()
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if (this.#closed) return
    // The next report says all that this one does.
    if (this.full && Message.isProgress(message)) return
    this.#output.write(`${JSON.stringify(message)}\n`, this.#written)
  }

  get full(): boolean {
    return this.#output.writableLength > this.#limits.maxUnreadBytes
  }

  holding(held: boolean): void {
    this.#holding = held
    this.#settle()
  }

  /** The peer has taken something. */
  readonly #written = (): void => {
    if (this.#closed) return
    if (this.#stall !== undefined) this.#stop()
    if (!this.full) this.onroom?.()
    this.#settle()
  }

  /** Reads on, once nothing is in the way. */
  #settle(): void {
    if (this.#closed || this.full || this.#holding) return
    this.#backlog = 0
    if (this.#stall === undefined) return
    this.#stall.interruptUnsafe()
    this.#stall = undefined
    this.#input.resume()
  }

  /** Reads nothing more, and for so long only. */
  #stop(): void {
    this.#input.pause()
    this.#stall?.interruptUnsafe()
    this.#stall = this.#fork(Effect.andThen(
      Effect.sleep(this.#limits.stall),
      Effect.sync(() => this.#failed(new Error("the peer does not read")))
    ))
  }

  /** What is read is bounded while the peer does not read, and so is what it leads to: what is no message is answered. */
  #count(bytes: number): void {
    const { maxUnreadBytes } = this.#limits
    if (this.#closed || !(this.full || this.#holding)) return
    this.#backlog += bytes
    if (this.#backlog > maxUnreadBytes || this.#output.writableLength > 2 * maxUnreadBytes) this.#stop()
  }

  readonly #ended = (): void => {
    this.close().catch(this.#failed)
  }

  readonly #failed = (error: Error): void => {
    if (this.#closed) return
    this.onerror?.(error)
    this.#ended()
  }

  readonly #read = (chunk: Uint8Array): void => {
    for (const frame of this.#frames.push(chunk)) {
      // What a frame led to may have been the end: the rest is nobody's.
      if (this.#closed) return
      this.#take(frame)
    }
    this.#count(chunk.length)
  }

  #take(frame: Frames.Frame): void {
    const { maxFrameBytes } = this.#limits
    switch (frame._tag) {
      case "NotJson":
        return this.#refuse(null, "parse", "the line is not JSON")
      case "TooLong":
        return this.#refuse(Message.asker(frame), "invalidRequest", `a message has at most ${maxFrameBytes} bytes`)
      case "TooDeep":
        return this.#refuse(
          Message.asker(frame),
          "invalidRequest",
          `a message is nested at most ${Message.maxDepth} levels deep`
        )
      case "Json": {
        const fault = Message.faultOf(frame.value)
        if (fault !== undefined) return this.#refuse(Message.idOf(frame.value), "invalidRequest", fault)
        this.onmessage?.(frame.value as JSONRPCMessage)
      }
    }
  }

  #refuse(id: Message.Id | null, code: "parse" | "invalidRequest", reason: string): void {
    const title = code === "parse" ? "Parse error" : "Invalid Request"
    this.send(Message.refusal(id, Message.errorCodes[code], `${title}: ${reason}`)).catch(this.#failed)
  }
}
