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

  /** Tells it of a message that has come. */
  readonly came = (message: Message): void => {
    this.received.push(message)
    for (const look of this.#waiting) look()
  }

  /** The first message of this kind, of those that have come or come in time. */
  message(is: (message: Message) => boolean, what: string, millis?: number): Promise<Message> {
    const found = new Promise<Message>((resolve) => {
      const look = () => {
        const message = this.received.find(is)
        if (message === undefined) return
        this.#waiting.delete(look)
        resolve(message)
      }
      this.#waiting.add(look)
      look()
    })
    return within(found, `${what} did not come`, millis)
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
