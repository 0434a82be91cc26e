/**
 * Writes to a child's standard input at the pace the child reads.
 */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import type { Writable } from "node:stream"

/** The pipe takes nothing more: the child closed it, or is gone. */
export class Closed extends Data.TaggedError("Closed") {}

/**
 * Writes `bytes`, and waits until the system has taken them.
 *
 * **Interruption**: ends the wait; what was handed over may still be read by the child.
 */
export const send = (stdin: Writable, bytes: Uint8Array | string): Effect.Effect<void, Closed> =>
  Effect.callback((resume) => {
    if (!stdin.writable) return resume(Effect.fail(new Closed()))
    stdin.write(bytes, (error) => resume(error ? Effect.fail(new Closed()) : Effect.void))
  })

/** Lets the child read the end of the file. */
export const end = (stdin: Writable): Effect.Effect<void> => Effect.sync(() => void stdin.end())
