/** Promises in the hands of a test, and what tests ask of an exit. */
import { Cause, Effect, Exit } from "effect"
import { getEventListeners } from "node:events"

/** A promise function that was called once: what it was given, and the way to settle it. */
export interface Body {
  readonly run: (signal: AbortSignal) => Promise<string>
  readonly calls: number
  readonly signal: AbortSignal
  readonly resolve: (value: string) => void
  readonly reject: (reason: unknown) => void
}

export const body = (): Body => {
  const { promise, reject, resolve } = Promise.withResolvers<string>()
  let signal: AbortSignal | undefined
  let calls = 0
  return {
    run: (given) => {
      calls++
      signal = given
      return promise
    },
    get calls() {
      return calls
    },
    get signal() {
      return signal!
    },
    resolve,
    reject
  }
}

/** Lets everything that can move do so: native promise reactions, and fibers that yielded. */
export const settle: Effect.Effect<void> = Effect.callback((resume) => {
  setImmediate(() => resume(Effect.void))
})

export const listeners = (signal: AbortSignal): number => getEventListeners(signal, "abort").length

/** The kinds of the reasons in an exit, interruptions as one: "Success" for a success. */
export const shapeOf = (exit: Exit.Exit<unknown, unknown>): string => {
  if (Exit.isSuccess(exit)) return "Success"
  const kinds = exit.cause.reasons.map((reason) => reason._tag)
  return kinds.filter((kind, i) => kind !== "Interrupt" || kinds.indexOf(kind) === i).join("+")
}

/** The one error or defect in an exit, less what `Abortable.promise` puts around a rejection. */
export const thrownIn = (exit: Exit.Exit<unknown, unknown>): unknown => {
  const found = Exit.isSuccess(exit) ? [] : exit.cause.reasons.flatMap((reason) => {
    if (reason._tag === "Interrupt") return []
    const thrown = reason._tag === "Fail" ? reason.error : reason.defect
    return [Cause.isUnknownError(thrown) ? thrown.cause : thrown]
  })
  if (found.length !== 1) throw new Error(`${found.length} failures in ${shapeOf(exit)}`)
  return found[0]
}
