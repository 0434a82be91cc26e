/**
 * Reads a child's output as it comes: keeps its ends, and hands it on to a consumer if there is one.
 *
 * Reading never waits for a fiber, so a child is not held up by a busy host; only a consumer that asked for the stream
 * holds it up, through the pipe, which is what back-pressure means between processes.
 */
import type * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import * as Stream from "effect/Stream"
import type { Readable } from "node:stream"
import type { Output } from "../Output.ts"
import * as Keep from "./keep.ts"

/** Whether somebody reads along. */
export type Mode = "kept" | "streamed"

export interface Tap {
  /** What is kept so far. */
  readonly output: () => Output
  /** Done once nothing more will come: at the end of the stream, or when it was given up. */
  readonly closed: Effect.Effect<void>
  readonly isClosed: () => boolean
  /** Reads on without regard to the consumer: the child is gone, and what it wrote is bounded by the pipe. */
  readonly release: () => void
  readonly destroy: () => void
  /** Every chunk from the first one on, for one consumer. */
  readonly stream: Stream.Stream<Uint8Array>
}

/** So much may lie between the child and its consumer before the child is held up: a few times what one read brings. */
const highWater = 256 * 1024

/** So much more is taken in from a child that is gone. A pipe holds less; beyond it somebody else is writing. */
const releaseLimit = 8 * 1024 * 1024

export const make = Effect.fnUntraced(function*(
  readable: Readable,
  maxBytes: number,
  mode: Mode
): Effect.fn.Return<Tap> {
  const keep = Keep.make(maxBytes)
  const closed = Deferred.makeUnsafe<void>()
  const queue = yield* Queue.unbounded<Uint8Array, Cause.Done>()
  let hasConsumer = mode === "streamed"
  let complete = false
  let waiting = 0
  let limit = highWater

  readable.on("data", (chunk: Uint8Array) => {
    keep.push(chunk)
    if (!hasConsumer) return
    waiting += chunk.length
    Queue.offerUnsafe(queue, chunk)
    if (waiting > limit) readable.pause()
  })
  readable.on("end", () => {
    complete = true
  })
  readable.on("close", () => {
    Queue.endUnsafe(queue)
    Deferred.doneUnsafe(closed, Effect.void)
  })

  const taken = (chunk: Uint8Array) =>
    Effect.sync(() => {
      waiting -= chunk.length
      if (waiting <= limit) readable.resume()
    })
  // A consumer that leaves holds nothing up any more: what follows is kept and not handed on.
  const left = Effect.sync(() => {
    hasConsumer = false
    readable.resume()
  })

  return {
    output: () => keep.output(complete),
    closed: Deferred.await(closed),
    isClosed: () => Deferred.isDoneUnsafe(closed),
    release: () => {
      limit = releaseLimit
      readable.resume()
    },
    destroy: () => readable.destroy(),
    stream: Stream.fromQueue(queue).pipe(Stream.tap(taken), Stream.ensuring(left))
  }
})
