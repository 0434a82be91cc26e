/** Cuts bytes into lines, of which none is kept that is too long: it is passed over, and told whose it was. */
import { Skim, type Skimmed } from "./skim.ts"

const newline = 0x0a

/** Told of each line, and of each that was too long as `undefined`, with what can be said of it. */
export type Listen = (line: string | undefined, skimmed?: Skimmed) => void

export class Lines {
  readonly #maxBytes: number
  readonly #line: Listen
  /** The beginning of a line that is not complete: one piece of memory, since lines may come byte by byte. */
  #kept = new Uint8Array(0)
  #length = 0
  /** In a line that is too long. */
  #skim: Skim | undefined
  #stopped = false

  constructor(maxBytes: number, line: Listen) {
    this.#maxBytes = maxBytes
    this.#line = line
  }

  read(chunk: Uint8Array): void {
    let from = 0
    for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, from)) {
      this.#keep(chunk.subarray(from, end))
      from = end + 1
      this.#end()
      // What a line led to may have been the end: the rest is nobody's.
      if (this.#stopped) return
    }
    this.#keep(chunk.subarray(from))
  }

  stop(): void {
    this.#stopped = true
    this.#kept = new Uint8Array(0)
  }

  #end(): void {
    const [kept, length] = [this.#kept, this.#length]
    this.#kept = new Uint8Array(0)
    this.#length = 0
    const skim = this.#skim
    this.#skim = undefined
    if (skim !== undefined) return this.#line(undefined, skim.result)
    const text = Buffer.from(kept.buffer, 0, length).toString("utf8").trim()
    if (text !== "") this.#line(text)
  }

  #keep(piece: Uint8Array): void {
    if (this.#skim !== undefined) return this.#skim.push(piece)
    const from = this.#length
    this.#length += piece.length
    if (this.#length > this.#maxBytes) {
      this.#skim = new Skim()
      this.#skim.push(this.#kept.subarray(0, from))
      this.#skim.push(piece)
      this.#kept = new Uint8Array(0)
      this.#length = 0
      return
    }
    if (this.#length > this.#kept.length) {
      // Twice as much each time: a line is copied twice, into however many pieces it is cut.
      const grown = new Uint8Array(Math.min(this.#maxBytes, Math.max(this.#length, 2 * this.#kept.length)))
      grown.set(this.#kept.subarray(0, from))
      this.#kept = grown
    }
    this.#kept.set(piece, from)
  }
}
