/**
 * An idle deadline for promise code: the guard of `idle.ts` around an async iterator.
 *
 * The iterator is over when it is quiet. So after the deadline, an abort or a failure the pending `next` waits until what
 * it pulls from has settled, lets that clean up (`return`), and only then rejects.
 */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import type { Options } from "../Deadline.ts"
import * as Cancellation from "./cancellation.ts"
import { ConcurrentPull, Guard, handle, type Idle } from "./idle.ts"
import { tie } from "./tie.ts"
import * as Ward from "./ward.ts"
import { PromiseWork } from "./work.ts"

interface Item<A> {
  readonly value: A
}

const over = { done: true, value: undefined } as const

export class IdleIterator<A> implements AsyncIterator<A, undefined> {
  readonly #make: (idle: Idle) => AsyncIterable<A>
  readonly #guard: Guard
  readonly #context: Context.Context<never>
  #source: AsyncIterator<A> | undefined = undefined
  #started = false
  #ended: Promise<void> | undefined = undefined

  constructor(make: (idle: Idle) => AsyncIterable<A>, options: Options & { readonly signal: AbortSignal }) {
    this.#make = make
    this.#guard = new Guard(options, { signal: options.signal, cancellation: Cancellation.byCaller })
    // Inside a call it counts by the call's clock, and calls made with its signal are the body's.
    const owner = Ward.ofSignal(options.signal)
    this.#guard.owner = owner
    this.#context = owner?.call.context ?? Context.empty()
  }

  async next(): Promise<IteratorResult<A, undefined>> {
    if (this.#ended !== undefined) {
      await settled(this.#ended)
      return over
    }
    const exit = await this.#pull()
    if (exit._tag === "Success" && exit.value !== undefined) return { done: false, value: exit.value.value }
    // Nothing ended: it is the other pull that is under way.
    if (exit._tag === "Failure" && Cause.squash(exit.cause) instanceof ConcurrentPull) throw Cause.squash(exit.cause)
    const returned = this.#ended !== undefined
    if (exit._tag === "Success") this.#source = undefined
    // The first cause wins: what goes wrong while cleaning up does not replace it.
    await settled(this.#end())
    if (returned || exit._tag === "Success") return over
    throw Cause.hasInterruptsOnly(exit.cause) ? this.#guard.cancellation?.abortReason : Cause.squash(exit.cause)
  }

  async return(): Promise<IteratorResult<A, undefined>> {
    await this.#end()
    return over
  }

  #pull(): Promise<Exit.Exit<Item<A> | undefined, unknown>> {
    if (!this.#started) {
      this.#started = true
      this.#guard.start(this.#context)
    }
    const pull = this.#guard.work(tie(() => new PromiseWork<Item<A> | undefined, unknown>(() => this.#advance(), {})))
    pull.start(this.#context)
    return new Promise((resolve) => pull.observe(resolve))
  }

  async #advance(): Promise<Item<A> | undefined> {
    this.#source ??= this.#make(handle(this.#guard))[Symbol.asyncIterator]()
    const { done, value } = await this.#source.next()
    return done === true ? undefined : { value }
  }

  #end(): Promise<void> {
    return this.#ended ??= Effect.runPromise(this.#guard.close).then(async () => {
      await this.#source?.return?.()
    })
  }
}

const settled = (promise: Promise<void>): Promise<void> => promise.catch(() => {})
