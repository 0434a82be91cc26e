/**
 * What a connection reads: frames, by what they are to it.
 */
import * as Frames from "@quiesce/wire/Frames"
import { classify, type Inbound, isId } from "./message.ts"

export type Frame = Inbound | { readonly _tag: "Unreadable"; readonly problem: string }

export interface Limits {
  /** Frames longer than this are refused. */
  readonly maxFrameBytes: number
}

/**
 * Of the stack, which is what a deep frame costs, some thousands of levels are left when it is ours. No message of ACP needs
 * more than a dozen, and in it are a tool's arguments, which the core takes with 512 levels of their own.
 */
const maxDepth = 1024

export class Decoder {
  readonly #maxFrameBytes: number
  readonly #frames: Frames.Decoder

  constructor({ maxFrameBytes }: Limits) {
    this.#maxFrameBytes = maxFrameBytes
    this.#frames = Frames.make({ maxBytes: maxFrameBytes, maxDepth })
  }

  /** All frames that end in `chunk`, in order. */
  push(chunk: Uint8Array): ReadonlyArray<Frame> {
    return this.#frames.push(chunk).map((frame) => this.#read(frame))
  }

  /** The frame that the end of the input ends, if it does. */
  flush(): ReadonlyArray<Frame> {
    return this.#frames.flush().map((frame) => this.#read(frame))
  }

  #read(frame: Frames.Frame): Frame {
    switch (frame._tag) {
      case "Json":
        return classify(frame.value)
      case "NotJson":
        return { _tag: "Unreadable", problem: "not JSON" }
      case "TooLong":
        return refused(frame, `longer than ${this.#maxFrameBytes} bytes`)
      case "TooDeep":
        return refused(frame, `nested more than ${maxDepth} levels deep`)
    }
  }
}

/** Whoever waits for its answer, or for it as an answer, is told that there is none. */
const refused = ({ id, kind }: Frames.Refused, problem: string): Frame => ({
  _tag: kind === "answer" ? "InvalidResponse" : "Invalid",
  id: isId(id) ? id : undefined,
  problem
})
