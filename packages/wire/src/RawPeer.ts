/**
 * A peer that is no SDK, to ask anything of whatever is on the other side: it keeps every message that comes, as it came.
 *
 * How messages come and go is its owner's: a program (`RawProgram`), a request of HTTP, a wire in memory.
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"

/** A message as it came: nobody has checked it. */
export interface Message {
  readonly id?: string | number | null
  readonly method?: string
  readonly params?: any
  readonly result?: any
  readonly error?: { readonly code: number; readonly message: string; readonly data?: any }
}

/** What the other side did that it must not do, or did not do in time. */
export class Fault extends Error {
  override readonly name = "Fault"
}

/** Demands what the other side must do: where it does not hold, that is a `Fault`. */
export const demand = (holds: boolean, fault: string): void => {
  if (!holds) throw new Fault(fault)
}

/** Long for anything that is done at once, also on a machine that is busy. */
export const patienceMillis = 10_000

/** Waits for `promise`, and for as long as the other side may take: then `what` did not happen, which is a `Fault`. */
export const within = async <A>(promise: Promise<A>, what: string, millis = patienceMillis): Promise<A> => {
  const settled = Effect.callback<A>((resume) => {
    promise.then((value) => resume(Effect.succeed(value)), (error: unknown) => resume(Effect.die(error)))
  })
  const outcome = await Effect.runPromise(Effect.timeoutOption(settled, millis))
  if (Option.isNone(outcome)) throw new Fault(`${what} within ${millis} ms`)
  return outcome.value
}

/** What has come, and what is waited for. */
export class RawPeer {
  readonly received: Array<Message> = []
  readonly #waiting = new Set<() => void>()
  /** Why nothing more comes, once that is known. */
  #ended: string | undefined

  /** Tells it of a message that has come. */
  readonly came = (message: Message): void => {
    this.received.push(message)
    for (const look of this.#waiting) look()
  }

  /** Tells it that nothing more comes, and why: nobody needs to wait any longer. */
  readonly end = (why: string): void => {
    this.#ended ??= why
    for (const look of this.#waiting) look()
  }

  /** The first message of this kind, of those that have come or come in time. */
  async message(is: (message: Message) => boolean, what: string, millis?: number): Promise<Message> {
    const { promise, reject, resolve } = Promise.withResolvers<Message>()
    const look = () => {
      const message = this.received.find(is)
      if (message !== undefined) resolve(message)
      else if (this.#ended !== undefined) reject(new Fault(`${what} did not come: ${this.#ended}`))
    }
    this.#waiting.add(look)
    try {
      look()
      return await within(promise, `${what} did not come`, millis)
    } finally {
      this.#waiting.delete(look)
    }
  }

  /** The answer to a request. */
  answer(id: string | number | null, millis?: number): Promise<Message> {
    const what = `the answer to ${JSON.stringify(id)}`
    return this.message((message) => message.id === id && message.method === undefined, what, millis)
  }

  /** All answers to a request that have come. */
  answers(id: string | number | null): ReadonlyArray<Message> {
    return this.received.filter((message) => message.id === id && message.method === undefined)
  }

  /** The requests and notifications of a method that have come. */
  told(method: string): ReadonlyArray<Message> {
    return this.received.filter((message) => message.method === method)
  }
}
