/**
 * The opaque identity of a call. Only the core can make one, and only the core can see what is behind it.
 */
import type { Call } from "./call.ts"

export class Token {
  readonly #call: Call

  constructor(call: Call) {
    this.#call = call
  }

  static call(token: Token): Call {
    return token.#call
  }
}
