/**
 * Messages between this process and a program of ours in another one: JSON, one message a line.
 *
 * The program runs code that is not ours, and that code can write to the pipe too. So what comes in is either a message
 * or the end of the channel. Node's own channel throws where nobody catches when a line is no JSON, and waits for the
 * end of a line of any length.
 */
import type { Duplex } from "node:stream"

export interface Channel {
  /** Sends a message, or nothing when nobody is there: whoever waits for an answer sees the other side end. */
  readonly send: (message: object) => void
  /** Hears every message; `onBroken` once, when something came that is none. The channel is closed then. */
  readonly listen: (onMessage: (message: unknown) => void, onBroken: () => void) => void
}

/** The longest message: more than a model could ever read, and what any machine has left in memory. */
const maxBytes = 64 * 1024 * 1024

const newline = 10

/**
 * Makes a channel of a pipe.
 *
 * `send` throws a TypeError for what is no JSON.
 */
export const over = (pipe: Duplex): Channel => ({
  send: (message) => {
    const line = `${JSON.stringify(message)}\n`
    if (pipe.writable) pipe.write(line)
  },
  listen: (onMessage, onBroken) => {
    let pieces: Array<Buffer> = []
    let length = 0
    const take = (piece: Buffer) => {
      pieces.push(piece)
      length += piece.length
      return length <= maxBytes
    }
    const next = (): unknown => {
      const line = Buffer.concat(pieces, length).toString()
      pieces = []
      length = 0
      return parse(line)
    }
    const broken = () => {
      pipe.off("data", read)
      pipe.destroy()
      onBroken()
    }
    const read = (chunk: Buffer) => {
      let from = 0
      for (let to = chunk.indexOf(newline); to >= 0; to = chunk.indexOf(newline, from)) {
        const message = take(chunk.subarray(from, to)) ? next() : undefined
        if (message === undefined) return broken()
        onMessage(message)
        from = to + 1
      }
      if (!take(chunk.subarray(from))) broken()
    }
    pipe.on("data", read)
  }
})

/** Undefined for what is no JSON; no JSON is. */
const parse = (line: string): unknown => {
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}
