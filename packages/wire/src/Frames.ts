/**
 * Frames: lines of JSON, cut out of bytes as they come, none of which costs more than it may.
 *
 * A frame that is too long is passed over to its end and kept nowhere, and one that is nested too deeply is parsed: both for
 * whose they are alone, so that whoever waits can be told. Whatever a frame is, the next one is read.
 */
import { type Skimmed, Skimming } from "./internal/skim.ts"

export interface Limits {
  /** The longest frame, in bytes. */
  readonly maxBytes: number
  /** How deep its arrays and objects may be nested: what walks them, a schema or `JSON.stringify`, does so on the stack. */
  readonly maxDepth: number
}

/**
 * A frame that is refused, and whose it is. `id` is any JSON value, as the peer wrote it, and `undefined` where there is none
 * or none that can be kept; `kind`: a `call` has a method, an `answer` a result or an error.
 */
export interface Refused extends Skimmed {
  readonly _tag: "TooLong" | "TooDeep"
}

export type Frame = { readonly _tag: "Json"; readonly value: unknown } | { readonly _tag: "NotJson" } | Refused

export interface Decoder {
  /** All frames that end in `chunk`, in order. Blank lines are none. */
  readonly push: (chunk: Uint8Array) => ReadonlyArray<Frame>
  /** The frame that the end of the input ends, if it does. */
  readonly flush: () => ReadonlyArray<Frame>
}

const newline = 0x0a
const nothing = new Uint8Array(0)

/** Decodes one input. */
export const make = (limits: Limits): Decoder => {
  const { maxBytes } = limits
  const text = new TextDecoder()
  /** What is there of the frame that has not ended, in `bytes` bytes: it may come in pieces of one byte each. */
  let kept = nothing
  let bytes = 0
  /** In a frame that is too long: what is passed over tells whose it is. */
  let skimming: Skimming | undefined

  const forget = (): void => {
    kept = nothing
    bytes = 0
  }

  const keep = (part: Uint8Array): void => {
    if (skimming !== undefined) return skimming.push(part)
    const size = bytes + part.length
    if (size > maxBytes) {
      skimming = new Skimming()
      skimming.push(kept.subarray(0, bytes))
      skimming.push(part)
      return forget()
    }
    if (size > kept.length) {
      // Twice as much each time: a frame is copied twice, into however many pieces it is cut.
      const grown = new Uint8Array(Math.min(maxBytes, Math.max(size, 2 * kept.length)))
      grown.set(kept.subarray(0, bytes))
      kept = grown
    }
    // A copy: the chunk is its sender's, who may write into it again.
    kept.set(part, bytes)
    bytes = size
  }

  const end = (): ReadonlyArray<Frame> => {
    if (skimming !== undefined) {
      const { skimmed } = skimming
      skimming = undefined
      return [{ _tag: "TooLong", ...skimmed }]
    }
    const line = text.decode(kept.subarray(0, bytes))
    forget()
    return line.trim() === "" ? [] : [read(line, limits)]
  }

  return {
    push: (chunk) => {
      const frames: Array<Frame> = []
      let start = 0
      for (let at = chunk.indexOf(newline); at >= 0; at = chunk.indexOf(newline, start)) {
        keep(chunk.subarray(start, at))
        frames.push(...end())
        start = at + 1
      }
      if (start < chunk.length) keep(chunk.subarray(start))
      return frames
    },
    flush: end
  }
}

/** Reads the text of one frame, whose length somebody else has seen to. */
export const read = (text: string, { maxDepth }: Pick<Limits, "maxDepth">): Frame => {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return { _tag: "NotJson" }
  }
  return isDeeper(text, maxDepth) ? { _tag: "TooDeep", ...whoseIs(value) } : { _tag: "Json", value }
}

const whoseIs = (value: unknown): Skimmed => {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return { id: undefined, kind: "neither" }
  const has = (name: string): boolean => Object.hasOwn(value, name)
  return {
    id: has("id") ? (value as { readonly id: unknown }).id : undefined,
    kind: has("method") ? "call" : has("result") || has("error") ? "answer" : "neither"
  }
}

/** Whether JSON is nested deeper than `max`, told from its text: it opens more than it closes outside of its strings. */
const isDeeper = (text: string, max: number): boolean => {
  // Each level takes two characters.
  if (text.length <= 2 * max) return false
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
        if (!inString && ++depth > max) return true
        break
      case 0x5d:
      case 0x7d:
        if (!inString) depth--
    }
  }
  return false
}
