/**
 * The requests of one id space: a connection, a session, or a single exchange.
 *
 * 1. A request is here from its arrival until it is answered or cancelled, and, where its work had begun, until that work
 *    is quiet.
 * 2. Each has a key of its own, under which the SDK knows it. An id can come again while older work under it still ends;
 *    a key never does, so what such work still has to say cannot be taken for the newer one's.
 * 3. A cancelled request is never answered, and its work does not begin.
 * 4. Closed is for ever: what is here is cancelled, and nothing is accepted.
 */
import * as Effect from "effect/Effect"
import * as Message from "./message.ts"

/** The call that a request asks for. */
export interface Work {
  readonly callId: string
  readonly name: string
}

export class Entry {
  readonly key: string
  readonly id: Message.Id
  readonly method: string
  readonly progressToken: Message.Id | undefined
  readonly #controller = new AbortController()
  /** The call that is its work, from when that begins until it is quiet. */
  work: Work | undefined = undefined
  /** Whether it had begun: its answer is the registry's. */
  worked = false

  constructor(key: string, { id, method, params }: Message.Request) {
    this.key = key
    this.id = id
    this.method = method
    const { progressToken } = Message.meta(params)
    this.progressToken = Message.isId(progressToken) ? progressToken : undefined
  }

  /** Aborts when the request is cancelled; its reason is who wanted it. */
  get signal(): AbortSignal {
    return this.#controller.signal
  }

  get cancelled(): boolean {
    return this.signal.aborted
  }

  cancel(cause: unknown): void {
    this.#controller.abort(cause)
  }
}

export class InFlight {
  /** Those that are known under their id: at most one for each. */
  readonly #byId = new Map<Message.Id, Entry>()
  readonly #byKey = new Map<string, Entry>()
  readonly #waiters = new Set<() => void>()
  #keys = 0
  #worked = false
  /** How many calls are not quiet: thousands may end at once, and each end asks. */
  #working = 0
  #closed: { readonly cause: unknown } | undefined

  get size(): number {
    return this.#byKey.size
  }

  /** Whether a call of the registry has ever begun here. */
  get worked(): boolean {
    return this.#worked
  }

  get closed(): boolean {
    return this.#closed !== undefined
  }

  /** What is not quiet. */
  get working(): ReadonlyArray<Work> {
    return [...this.#byKey.values()].flatMap(({ work }) => work === undefined ? [] : [work])
  }

  /**
   * Whether `request` can be taken up. The id of a cancelled request whose work is not quiet is free in the stateless
   * revisions, whose client does not have it in flight any more, and not in the older ones, where no id comes twice.
   */
  admits(request: Message.Request): boolean {
    const known = this.#byId.get(request.id)
    return known === undefined || (known.cancelled && Message.isStateless(request))
  }

  has(id: Message.Id): boolean {
    return this.#byId.has(id)
  }

  /** Takes up a request, or refuses one whose id is in use. */
  accept(request: Message.Request): Entry | undefined {
    if (this.#closed !== undefined || !this.admits(request)) return undefined
    // No number, and never empty: some SDKs take the number 0 and the empty text for no id at all.
    const entry = new Entry(`q${++this.#keys}`, request)
    this.#byId.set(entry.id, entry)
    this.#byKey.set(entry.key, entry)
    return entry
  }

  /** Cancels the request with this id. The first cause counts; `initialize` cannot be cancelled. */
  cancel(id: unknown, cause: unknown): Entry | undefined {
    const entry = Message.isId(id) ? this.#byId.get(id) : undefined
    if (entry === undefined || entry.cancelled || entry.method === "initialize") return undefined
    this.cancelEntry(entry, cause)
    return entry
  }

  cancelEntry(entry: Entry, cause: unknown): void {
    entry.cancel(cause)
    if (entry.work === undefined) this.#forget(entry)
  }

  /** The request with this key, while it may still be spoken for. */
  live(key: unknown): Entry | undefined {
    const entry = typeof key === "string" ? this.#byKey.get(key) : undefined
    return entry === undefined || entry.cancelled ? undefined : entry
  }

  liveByToken(token: unknown): Entry | undefined {
    for (const entry of this.#byKey.values()) {
      if (entry.progressToken === token && !entry.cancelled) return entry
    }
    return undefined
  }

  /** Says that the work of a request begins; `undefined` where it must not. */
  begin(key: unknown, work: Work): Entry | undefined {
    const entry = this.live(key)
    if (entry !== undefined) {
      entry.work = work
      entry.worked = this.#worked = true
      this.#working++
    }
    return entry
  }

  /** Says that its work is quiet. One that was not cancelled is still to be answered. */
  end(entry: Entry): void {
    entry.work = undefined
    this.#working--
    if (entry.cancelled) this.#forget(entry)
    for (const waiter of this.#waiters) waiter()
  }

  /** The request that an answer is for, which is over with it; `undefined` where nothing may be sent. */
  answer(key: unknown): Entry | undefined {
    const entry = this.live(key)
    if (entry !== undefined) this.#forget(entry)
    return entry
  }

  /** Cancels all there is and accepts nothing from now on. */
  close(cause: unknown): void {
    if (this.#closed !== undefined) return
    this.#closed = { cause }
    for (const entry of this.#byKey.values()) this.cancelEntry(entry, cause)
  }

  /** Waits until no work is left. */
  get whenQuiet(): Effect.Effect<void> {
    return Effect.callback((resume) => {
      if (this.#working === 0) return resume(Effect.void)
      const waiter = () => {
        if (this.#working > 0) return
        this.#waiters.delete(waiter)
        resume(Effect.void)
      }
      this.#waiters.add(waiter)
      return Effect.sync(() => this.#waiters.delete(waiter))
    })
  }

  #forget(entry: Entry): void {
    this.#byKey.delete(entry.key)
    // Its id may be another one's by now.
    if (this.#byId.get(entry.id) === entry) this.#byId.delete(entry.id)
  }
}
