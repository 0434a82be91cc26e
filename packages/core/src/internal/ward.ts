/**
 * In whose name a fiber runs: the nearest enclosing piece of work, and the owner of the calls that are made inside it.
 *
 * It travels in the fiber's context. So whatever is awaited inside, through any number of forks, can say why it is being
 * stopped (an interruption that a forking combinator passes on has lost its annotations), and a call made inside another
 * knows its parent. Promise code has no fiber: there the owner is found on the signal it was given.
 */
import * as Context from "effect/Context"
import type { CancelReason } from "../CancelReason.ts"
import type { Call } from "./call.ts"
import * as Cancellation from "./cancellation.ts"
import type { Stoppable } from "./stopping.ts"

export interface Ward {
  readonly cancellation: Cancellation.Cancellation | undefined
  readonly owner: Owner | undefined
  /** It has ended, and stops nothing any more. */
  readonly over: boolean
  /** The work around this one; none around a call, whose parent reaches it through its owner. */
  readonly outer: Ward | undefined
}

/** A call, or one run of its body: the calls made inside it end with it. */
export class Owner implements Stoppable {
  readonly call: Call
  over = false
  #cancellation: Cancellation.Cancellation | undefined = undefined
  #owned: Set<Call> | undefined = undefined

  constructor(call: Call) {
    this.call = call
  }

  /** For what a call that is made inside now is cancelled from the start. */
  get cancellation(): Cancellation.Cancellation | undefined {
    return this.#cancellation ?? (this.over ? Cancellation.make(this.#reason) : undefined)
  }

  adopt(owned: Call): void {
    const all = this.#owned ??= new Set()
    all.add(owned)
    owned.exit.observe(() => all.delete(owned))
  }

  note(cancellation: Cancellation.Cancellation): Cancellation.Cancellation | undefined {
    if (this.#cancellation !== undefined) return undefined
    return this.#cancellation = Cancellation.inherit(this.#reason, cancellation)
  }

  addInside(to: Array<Stoppable>): void {
    // One by one: there can be more of them than a function has room for arguments.
    if (this.#owned !== undefined) { for (const call of this.#owned) to.push(call) }
  }

  /** It does nothing itself: those inside have been asked. */
  deliver(): void {}

  /** Ends the ownership: cancels what is still running inside and calls `done` once all of it has settled. */
  end(done: () => void): void {
    this.over = true
    const owned = this.#owned
    if (owned === undefined || owned.size === 0) return done()
    let running = owned.size
    const all = Array.from(owned)
    for (const call of all) {
      call.exit.observe(() => {
        if (--running === 0) done()
      })
    }
    const cancellation = this.cancellation!
    for (const call of all) call.cancel(cancellation)
  }

  get #reason(): CancelReason {
    return { _tag: "Parent", callId: this.call.pending.callId }
  }
}

/** `Wrapper.Dispatch` is this key under its public type: the lease a wrapper cannot forge is the ward itself. */
export const key = "@quiesce/core/Wrapper/Dispatch"

class Current extends Context.Service<Current, Ward>()(key) {}

export const enter = <R>(context: Context.Context<R>, ward: Ward): Context.Context<R> =>
  Context.add(context, Current, ward) as Context.Context<R>

export const of = (context: Context.Context<never>): Ward | undefined => Context.getOrUndefined(context, Current)

/** Why `ward` or something around it is being stopped: the news may still be on its way inwards. What is over is not. */
export const cancellationOf = (ward: Ward | undefined): Cancellation.Cancellation | undefined => {
  for (let at = ward; at !== undefined; at = at.outer) {
    if (at.cancellation !== undefined && !at.over) return at.cancellation
  }
  return undefined
}

/** Whether `ward` is `around`, or inside it. */
export const isInside = (ward: Ward | undefined, around: Ward): boolean => {
  for (let at = ward; at !== undefined; at = at.outer) if (at === around) return true
  return false
}

const owner = Symbol("@quiesce/core/owner")

/** Marks a signal of our own as belonging to `mark`. */
export const sign = (signal: AbortSignal, mark: Owner): void => {
  Object.defineProperty(signal, owner, { value: mark })
}

/** The owner whose signal this is, if it is one of ours. */
export const ofSignal = (signal: AbortSignal): Owner | undefined =>
  (signal as AbortSignal & { readonly [owner]?: Owner })[owner]
