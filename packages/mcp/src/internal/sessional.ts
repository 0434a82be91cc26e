/** A session of HTTP, and how long nobody has used it: what counts as use lasts until its response was read to the end. */
import type * as Fiber from "effect/Fiber"
import type { Session } from "./session.ts"

export class Sessional {
  readonly session: Session
  readonly #expire: () => Fiber.Fiber<unknown>
  #users = 0
  #timer: Fiber.Fiber<unknown> | undefined
  #stopped = false

  constructor(session: Session, expire: () => Fiber.Fiber<unknown>) {
    this.session = session
    this.#expire = expire
  }

  /** It is in use until `over` is called: until the response was read to its end. */
  async during(f: (over: () => void) => Promise<Response>): Promise<Response> {
    this.#users++
    this.#timer?.interruptUnsafe()
    let counted = true
    const over = () => {
      if (!counted) return
      counted = false
      if (--this.#users === 0 && !this.#stopped) this.#timer = this.#expire()
    }
    try {
      const response = await f(over)
      if (response.body === null || response.status >= 400) over()
      return response
    } catch (error) {
      over()
      throw error
    }
  }

  stop(): void {
    this.#stopped = true
    this.#timer?.interruptUnsafe()
  }
}
