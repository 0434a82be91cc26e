/**
 * Frames: lines of JSON, cut out of bytes as they come.
 *
 * A frame that is too long is passed over to its end and costs no memory; one that is nested too deeply is parsed for its
 * id alone. Whatever a frame is, the next one is read.
 */
import { classify, type Inbound } from "./message.ts"

export type Frame = Inbound | { readonly _tag: "Unreadable"; readonly problem: string }

export interface Limits {
  /** Frames longer than this are refused. */
  readonly maxFrameBytes: number
}

/**
 * Deeper frames are refused: what walks them (a schema, a tool, `JSON.stringify`) does so on the stack, of which some
 * thousands of levels are left when it is ours. No message of ACP needs more than a dozen, and a tool's arguments may be
 * nested as deeply as the core takes them.
 */
const maxDepth = 512

const newline = 0x0a

export class Decoder {
  readonly #maxFrameBytes: number
  #pending: Array<Uint8Array> = []
  #bytes = 0
  /** In a frame that is too long: passing over it. */
  #skipping = false

  constructor({ maxFrameBytes }: Limits) {
    this.#maxFrameBytes = maxFrameBytes
  }

  /** All frames that end in `chunk`, in order. */
  push(chunk: Uint8Array): ReadonlyArray<Frame> {
    const frames: Array<Frame> = []
    let start = 0
    for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, start)) {
      const frame = this.#end(chunk.subarray(start, end))
      if (frame !== undefined) frames.push(frame)
      start = end + 1
    }
    this.#keep(chunk.subarray(start))
    return frames
  }

  /** The frame that the end of the input ends, if it does. */
  flush(): ReadonlyArray<Frame> {
    const frame = this.#end(new Uint8Array(0))
    return frame === undefined ? [] : [frame]
  }

  #keep(part: Uint8Array): void {
    if (part.length === 0 || this.#skipping) return
    if (this.#bytes + part.length > this.#maxFrameBytes) {
      this.#skipping = true
      this.#pending = []
      this.#bytes = 0
      return
    }
    // A copy: the chunk is its sender's, who may write into it again.
    this.#pending.push(part.slice())
    this.#bytes += part.length
  }

  #end(tail: Uint8Array): Frame | undefined {
    this.#keep(tail)
    const isTooLong = this.#skipping
    const parts = this.#pending
    this.#skipping = false
    this.#pending = []
    this.#bytes = 0
    if (isTooLong) {
      return { _tag: "Invalid", id: undefined, problem: `longer than ${this.#maxFrameBytes} bytes` }
    }
    const text = parts.length === 1 ? decode(parts[0]!) : decode(Buffer.concat(parts))
    return text.trim() === "" ? undefined : read(text)
  }
}

const decoder = new TextDecoder()

const decode = (bytes: Uint8Array): string => decoder.decode(bytes)

const read = (text: string): Frame => {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return { _tag: "Unreadable", problem: "not JSON" }
  }
  const frame = classify(value)
  if (!isTooDeep(text)) return frame
  const problem = `nested more than ${maxDepth} levels deep`
  switch (frame._tag) {
    case "Request":
    case "Response":
      return frame._tag === "Request"
        ? { _tag: "Invalid", id: frame.message.id, problem }
        : { _tag: "InvalidResponse", id: frame.message.id }
    case "Notification":
      return { _tag: "Invalid", id: undefined, problem }
    case "Invalid":
    case "InvalidResponse":
      return frame
  }
}

/** Whether JSON is nested too deeply, told from its text: it opens more than it closes outside of its strings. */
const isTooDeep = (text: string): boolean => {
  // Each level takes two characters.
  if (text.length <= 2 * maxDepth) return false
  let depth = 0
  let inString = false
  for (let index = 0; index < text.length; index++) {
    switch (text.charCodeAt(index)) {
      case 0x22:
        inString = !inString
        break
      case 0x5c:
        // The next character is escaped; outside of a string there is none in JSON.
        index++
        break
      case 0x5b:
      case 0x7b:
        if (!inString && ++depth > maxDepth) return true
        break
      case 0x5d:
      case 0x7d:
        if (!inString) depth--
    }
  }
  return false
}
