/** Cuts bytes into lines, of which none is kept that is too long. */
const newline = 0x0a

export class Lines {
  readonly #maxBytes: number
  /** Told of each line, and of each that was too long as `undefined`. */
  readonly #line: (line: string | undefined) => void
  /** The beginning of a line that is not complete, in pieces. */
  #pieces: Array<Uint8Array> = []
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
      const [pieces, length] = [this.#pieces, this.#length]
      this.#pieces = []
      this.#length = 0
      if (length > this.#maxBytes) this.#line(undefined)
      else {
        const text = Buffer.concat(pieces).toString("utf8").trim()
        if (text !== "") this.#line(text)
      }
      // What a line led to may have been the end: the rest is nobody's.
      if (this.#stopped) return
    }
    this.#keep(chunk.subarray(from))
  }

  stop(): void {
    this.#stopped = true
    this.#pieces = []
  }

  #keep(piece: Uint8Array): void {
    this.#length += piece.length
    if (this.#length <= this.#maxBytes) this.#pieces.push(piece)
    else this.#pieces = []
  }
}
