/**
 * One cancellation on its way: the typed reason, and what an AbortSignal says of it.
 *
 * The two differ where a reason was passed down: an inner call is cancelled because of its parent, but its signal shows
 * the root's own reason. The `AbortError` is made only when a signal asks for it, since it captures a stack.
 */
import type * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import type { CancelReason } from "../CancelReason.ts"

export class Cancellation {
  readonly reason: CancelReason
  /** The cancellation that this one was passed down from; itself for one that began here. */
  readonly #root: Cancellation
  #abortReason: (() => unknown) | { readonly value: unknown }
  #annotations: Context.Context<never> | undefined

  constructor(reason: CancelReason, abortReason: (() => unknown) | Cancellation) {
    this.reason = reason
    this.#root = abortReason instanceof Cancellation ? abortReason.#root : this
    this.#abortReason = abortReason instanceof Cancellation ? abortReason.#abortReason : abortReason
  }

  get abortReason(): unknown {
    const root = this.#root
    if (typeof root.#abortReason === "function") root.#abortReason = { value: root.#abortReason() }
    return root.#abortReason.value
  }

  /** As annotations for `fiber.interruptUnsafe`. */
  get annotations(): Context.Context<never> {
    return this.#annotations ??= Context.make(Annotation, this) as Context.Context<never>
  }
}

/** The key under which an `Interrupt` reason carries its cancellation. */
class Annotation extends Context.Service<Annotation, Cancellation>()("@quiesce/core/CancelReason") {}

export const make = (reason: CancelReason): Cancellation => new Cancellation(reason, () => defaultAbortReason(reason))

/** The same cancellation as it reaches what runs inside: another reason, the same `signal.reason`. */
export const inherit = (reason: CancelReason, from: Cancellation): Cancellation => new Cancellation(reason, from)

/** By whoever owns the signal that aborted. */
export const byCaller = (cause: unknown): Cancellation => make({ _tag: "Caller", cause })

/** New each time: the error that a signal shows of it has the stack of that time. */
export const interrupted = (): Cancellation => make({ _tag: "Interrupt" })

export const fromCause = (cause: Cause.Cause<unknown>): Cancellation | undefined => {
  for (const reason of cause.reasons) {
    if (reason._tag !== "Interrupt") continue
    const cancellation = reason.annotations.get(Annotation.key)
    if (cancellation !== undefined) return cancellation as Cancellation
  }
  return undefined
}

const defaultAbortReason = (reason: CancelReason): unknown => {
  switch (reason._tag) {
    case "Caller":
    case "Wrapper":
      return reason.cause
    case "Interrupt":
      return abortError("the fiber that ran this was interrupted")
    case "Deadline":
      return abortError("a deadline fired")
    case "Parent":
      return abortError(`the call around this one (${reason.callId}) is over`)
    case "Shutdown":
      return abortError("the registry is shutting down")
  }
}

export const abortError = (message: string): DOMException => new DOMException(message, "AbortError")
