/**
 * What is on its way to the peer.
 *
 * Messages leave in the order in which they were sent; sending does not wait. Who wants to go at the peer's pace waits for
 * `room`. When the peer cannot be written to, everything is dropped, and nobody waits for it.
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type * as Transport from "../Transport.ts"
import { messageOf } from "./answer.ts"
import { type AnyMessage, code, failure } from "./message.ts"

/** What may wait for the peer before senders that ask for room wait too: some large updates, and no more. */
const room = 1024 * 1024

/**
 * Beyond this, which is two of the longest frames, the peer, which does not read, is not read either: it would have us keep
 * what it asks for.
 */
const limit = 64 * 1024 * 1024

const encoder = new TextEncoder()

export class Wire {
  readonly #transport: Transport.Shape
  #queue: Array<Uint8Array> = []
  #bytes = 0
  #ended = false
  /** Nobody waits for room any more. */
  #hurrying = false
  /** The pump waits for something to write. */
  #wake: Deferred.Deferred<void> | undefined
  readonly #waiters = new Set<{ readonly below: number; readonly done: Deferred.Deferred<void> }>()

  constructor(transport: Transport.Shape) {
    this.#transport = transport
  }

  /** Sends a message. What is no JSON dies; where it is an answer, the peer is told so instead. */
  readonly send = (message: AnyMessage): void => {
    if (this.#ended) return
    const bytes = encoder.encode(encode(message) + "\n")
    this.#queue.push(bytes)
    this.#bytes += bytes.length
    if (this.#wake !== undefined) {
      Deferred.doneUnsafe(this.#wake, Effect.void)
      this.#wake = undefined
    }
  }

  /** Waits until there is room for more. */
  get room(): Effect.Effect<void> {
    return Effect.suspend(() => this.#hurrying ? Effect.void : this.#below(room))
  }

  /** Lets go whoever waits for room, now and later: it is to end, and must not wait for a peer that does not read. */
  hurry(): void {
    this.#hurrying = true
    for (const waiter of this.#waiters) if (waiter.below === room) Deferred.doneUnsafe(waiter.done, Effect.void)
  }

  /** Waits until so little is on its way that the peer may ask for more. */
  get bounded(): Effect.Effect<void> {
    return this.#below(limit)
  }

  /** Waits until everything is written, or cannot be. */
  get flushed(): Effect.Effect<void> {
    return this.#below(1)
  }

  /** Writes, for ever. **Errors**: the peer cannot be written to. */
  get pump(): Effect.Effect<never, Transport.TransportFailed> {
    const next = Effect.suspend(() => {
      if (this.#queue.length === 0) return Deferred.await(this.#wake = Deferred.makeUnsafe())
      const bytes = this.#queue.length === 1 ? this.#queue[0]! : Buffer.concat(this.#queue)
      this.#queue = []
      return Effect.andThen(
        this.#transport.write(bytes),
        Effect.sync(() => {
          this.#bytes -= bytes.length
          this.#told()
        })
      )
    })
    return Effect.ensuring(Effect.forever(next), Effect.sync(() => this.end()))
  }

  /** Drops what is left, and whatever comes. */
  end(): void {
    this.#ended = true
    this.#queue = []
    this.#bytes = 0
    this.#told()
  }

  #below(below: number): Effect.Effect<void> {
    return Effect.suspend(() => {
      if (this.#bytes < below) return Effect.void
      const waiter = { below, done: Deferred.makeUnsafe<void>() }
      this.#waiters.add(waiter)
      return Effect.ensuring(Deferred.await(waiter.done), Effect.sync(() => this.#waiters.delete(waiter)))
    })
  }

  #told(): void {
    for (const waiter of this.#waiters) {
      if (this.#bytes < waiter.below) Deferred.doneUnsafe(waiter.done, Effect.void)
    }
  }
}

const encode = (message: AnyMessage): string => {
  if ("method" in message) return JSON.stringify(message)
  const { id } = message
  try {
    if ("error" in message) return JSON.stringify(message)
    // A function, or what says of itself that it is nothing, would leave the answer without a result.
    return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${JSON.stringify(message.result) ?? "null"}}`
  } catch (error) {
    const details = { details: `the result is no JSON: ${messageOf(error)}` }
    return JSON.stringify({ jsonrpc: "2.0", id, ...failure(code.internalError, "Internal error", details) })
  }
}
