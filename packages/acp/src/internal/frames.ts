/**
 * Frames: lines of JSON, cut out of bytes as they come.
 *
 * A frame that is too long is passed over to its end and costs no memory, and one that is nested too deeply is parsed: both
 * for their ids alone. Whatever a frame is, the next one is read.
 */
import { classify, type Inbound, isId } from "./message.ts"
import { Skim } from "./skim.ts"

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
  /** What is there of the frame that has not ended, in `#bytes` bytes: it may come in pieces of one byte each. */
  #kept = new Uint8Array(0)
  #bytes = 0
  /** In a frame that is too long: what is passed over tells whose it is. */
  #skim: Skim | undefined

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
    if (part.length === 0) return
    if (this.#skim !== undefined) return this.#skim.push(part)
    const bytes = this.#bytes + part.length
    if (bytes > this.#maxFrameBytes) {
      this.#skim = new Skim()
      this.#skim.push(this.#kept.subarray(0, this.#bytes))
      this.#skim.push(part)
      this.#forget()
      return
    }
    if (bytes > this.#kept.length) {
      // Twice as much each time: a frame is copied twice, into however many pieces it is cut.
      const kept = new Uint8Array(Math.min(this.#maxFrameBytes, Math.max(bytes, 2 * this.#kept.length)))
      kept.set(this.#kept.subarray(0, this.#bytes))
      this.#kept = kept
    }
    // A copy: the chunk is its sender's, who may write into it again.
    this.#kept.set(part, this.#bytes)
    this.#bytes = bytes
  }

  #forget(): void {
    this.#kept = new Uint8Array(0)
    this.#bytes = 0
  }

  #end(tail: Uint8Array): Frame | undefined {
    this.#keep(tail)
    const skim = this.#skim
    if (skim !== undefined) {
      this.#skim = undefined
      return tooLong(skim, this.#maxFrameBytes)
    }
    const text = decoder.decode(this.#kept.subarray(0, this.#bytes))
    this.#forget()
    return text.trim() === "" ? undefined : read(text)
  }
}

/** A frame that was passed over. Whoever waits for its answer, or for it as an answer, is told that there is none. */
const tooLong = (skim: Skim, maxFrameBytes: number): Frame => {
  const { id, what } = skim.result
  const told = { id: isId(id) ? id : undefined, problem: `longer than ${maxFrameBytes} bytes` }
  return what === "answer" ? { _tag: "InvalidResponse", ...told } : { _tag: "Invalid", ...told }
}

const decoder = new TextDecoder()

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
        : { _tag: "InvalidResponse", id: frame.message.id, problem }
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
