/**
 * Whose a frame is that is too long to be kept: its id, told while it is passed over, in memory that does not grow.
 *
 * Only the members of the outermost object count, wherever in the frame they are. It reads what is JSON, and makes nothing
 * of what is none.
 */

/** What can be told of a frame: `id` is any value that JSON can say in so many bytes, `undefined` where it is longer. */
export interface Skimmed {
  readonly id: unknown
  readonly kind: "call" | "answer" | "neither"
}

/** Longer than any id that is a number or a UUID, and short enough to be kept for nothing. */
const maxTokenBytes = 256

const decoder = new TextDecoder()
const quote = 0x22
const backslash = 0x5c

export class Skimming {
  #depth = 0
  #inString = false
  #escaped = false
  /** The bytes of what is being read on the first level: the name of a member, then its value. */
  #token: Array<number> = []
  #name: unknown
  #id: unknown
  #kind: Skimmed["kind"] = "neither"

  push(bytes: Uint8Array): void {
    for (const byte of bytes) this.#read(byte)
  }

  get skimmed(): Skimmed {
    return { id: this.#id, kind: this.#kind }
  }

  #read(byte: number): void {
    if (this.#inString) {
      this.#keep(byte)
      if (this.#escaped) this.#escaped = false
      else if (byte === backslash) this.#escaped = true
      else if (byte === quote) this.#inString = false
      return
    }
    switch (byte) {
      case quote:
        this.#inString = true
        return this.#keep(byte)
      // { [
      case 0x7b:
      case 0x5b:
        this.#keep(byte)
        if (++this.#depth === 1) this.#token = []
        return
      // } ]
      case 0x7d:
      case 0x5d:
        if (this.#depth-- === 1) this.#member()
        return this.#keep(byte)
      // :
      case 0x3a:
        if (this.#depth !== 1) return this.#keep(byte)
        this.#name = this.#value()
        this.#token = []
        return
      // ,
      case 0x2c:
        return this.#depth === 1 ? this.#member() : this.#keep(byte)
      default:
        return this.#keep(byte)
    }
  }

  #keep(byte: number): void {
    // One more than may be read tells what is too long from what is not.
    if (this.#token.length <= maxTokenBytes) this.#token.push(byte)
  }

  #member(): void {
    switch (this.#name) {
      case "id":
        this.#id = this.#value()
        break
      case "method":
        this.#kind = "call"
        break
      case "result":
      case "error":
        if (this.#kind === "neither") this.#kind = "answer"
    }
    this.#name = undefined
    this.#token = []
  }

  #value(): unknown {
    if (this.#token.length > maxTokenBytes) return undefined
    try {
      return JSON.parse(decoder.decode(Uint8Array.from(this.#token)))
    } catch {
      return undefined
    }
  }
}
