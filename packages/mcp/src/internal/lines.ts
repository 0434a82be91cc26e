/** Cuts bytes into lines, of which none is kept that is too long. */
const newline = 0x0a

export class Lines {
  readonly #maxBytes: number
  /** Told of each line, and of each that was too long as `undefined`. */
  readonly #line: (line: string | undefined) => void
  /** The beginning of a line that is not complete: one piece of memory, since lines may come byte by byte. */
  #kept = new Uint8Array(0)
  /** How much of the line was read, of which nothing is kept once it is too long. */
  #length = 0
  #stopped = false

  constructor(maxBytes: number, line: (line: string | undefined) => void) {
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
    if (length > this.#maxBytes) return this.#line(undefined)
    const text = Buffer.from(kept.buffer, 0, length).toString("utf8").trim()
    if (text !== "") this.#line(text)
  }

  #keep(piece: Uint8Array): void {
    const from = this.#length
    this.#length += piece.length
    if (this.#length > this.#maxBytes) {
      this.#kept = new Uint8Array(0)
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
