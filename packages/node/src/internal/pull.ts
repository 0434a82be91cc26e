/**
 * A Node stream read at the pace of its consumer.
 */
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { Readable } from "node:stream"

/** Every chunk, each when it is asked for; fails if the stream does, or closes before its end. */
export const stream = (readable: Readable): Stream.Stream<Uint8Array, NodeJS.ErrnoException> =>
  Stream.unfold(
    undefined,
    () => Effect.map(next(readable), (chunk) => chunk === undefined ? undefined : [chunk, undefined] as const)
  )

const next = (readable: Readable): Effect.Effect<Uint8Array | undefined, NodeJS.ErrnoException> =>
  Effect.callback((resume) => {
    const look = () => {
      const chunk = readable.read() as Uint8Array | null
      if (chunk !== null) settle(Effect.succeed(chunk))
      else if (readable.readableEnded) settle(Effect.succeed(undefined))
      else if (readable.errored != null) settle(Effect.fail(readable.errored))
      else if (readable.destroyed) settle(Effect.fail(Object.assign(new Error("closed early"), { code: "ECONNRESET" })))
    }
    const forget = () => {
      for (const event of events) readable.off(event, look)
    }
    const settle = (result: Effect.Effect<Uint8Array | undefined, NodeJS.ErrnoException>) => {
      forget()
      resume(result)
    }
    for (const event of events) readable.on(event, look)
    look()
    return Effect.sync(forget)
  })

const events = ["readable", "end", "error", "close"] as const
