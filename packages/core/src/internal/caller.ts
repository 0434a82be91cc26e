/**
 * Who made a call, as far as that can cancel it: an AbortSignal, and the fiber in whose operation the call is launched.
 *
 * Up to its first wait the call runs within an operation of the fiber that waits for it: if something in there interrupts
 * that fiber (a getter of the arguments, a policy), the fiber sees it only after the operation. And another listener of
 * the signal may come before ours and stop the event, or let the body end first. So the caller is also asked.
 */
import type * as Fiber from "effect/Fiber"
import * as Cancellation from "./cancellation.ts"
import * as SignalHub from "./signalHub.ts"

export class Caller {
  readonly #signal: AbortSignal | undefined
  #launcher: Fiber.Fiber<unknown, unknown> | undefined
  #subscription: SignalHub.Subscription | undefined = undefined

  constructor(signal: AbortSignal | undefined, launcher: Fiber.Fiber<unknown, unknown> | undefined) {
    this.#signal = signal
    this.#launcher = launcher
  }

  /** The launch is over: from now on the fiber's own interruption says it. */
  launched(): void {
    this.#launcher = undefined
  }

  /** The cancellation that the caller has asked for, whether or not it was told. */
  get cancellation(): Cancellation.Cancellation | undefined {
    if (this.#signal?.aborted === true) return Cancellation.byCaller(this.#signal.reason)
    return this.#launcher !== undefined && isInterruptionPending(this.#launcher)
      ? Cancellation.interrupted()
      : undefined
  }

  /** Passes on what the signal tells. */
  listen(call: { readonly cancel: (cancellation: Cancellation.Cancellation) => void }): void {
    if (this.#signal === undefined) return
    this.#subscription = SignalHub.subscribe(this.#signal, (reason) => call.cancel(Cancellation.byCaller(reason)))
  }

  deafen(): void {
    if (this.#subscription !== undefined) SignalHub.unsubscribe(this.#subscription)
  }
}

/** Effect keeps this to itself, and there is no other sign of it inside the operation. */
const isInterruptionPending = (fiber: Fiber.Fiber<unknown, unknown>): boolean =>
  (fiber as { readonly _deferredInterrupt?: boolean })._deferredInterrupt === true
