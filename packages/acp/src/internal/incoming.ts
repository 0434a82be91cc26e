/**
 * The peer's requests that are not answered yet.
 *
 * 1. An id belongs to one request until that is answered. Ids are compared as they are: `1` is not `"1"`.
 * 2. A request is cancelled by the first reason, and an answered one by none.
 * 3. A request is answered once: whatever comes then has nobody to go to.
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type { RequestCancelled } from "../AcpError.ts"
import { type AnyRequest, type JsonRpcId, sessionOf } from "./message.ts"

export interface Entry {
  readonly id: JsonRpcId
  readonly method: string
  readonly sessionId: string | undefined
  readonly sinceMillis: number
  readonly controller: AbortController
  answered: boolean
}

export class Incoming {
  readonly #live = new Map<JsonRpcId, Entry>()
  #idle: Deferred.Deferred<void> | undefined

  get live(): ReadonlyArray<Entry> {
    return Array.from(this.#live.values())
  }

  get size(): number {
    return this.#live.size
  }

  get(id: JsonRpcId): Entry | undefined {
    return this.#live.get(id)
  }

  /** `undefined`: a request with this id is not answered yet. */
  open({ id, method, params }: AnyRequest, sinceMillis: number): Entry | undefined {
    if (this.#live.has(id)) return undefined
    const entry: Entry = {
      id,
      method,
      sessionId: sessionOf(params),
      sinceMillis,
      controller: new AbortController(),
      answered: false
    }
    this.#live.set(id, entry)
    return entry
  }

  /** Asks the requests that `which` names to stop. */
  cancel(which: (entry: Entry) => boolean, reason: RequestCancelled): void {
    for (const entry of this.live) {
      if (!entry.answered && which(entry)) entry.controller.abort(reason)
    }
  }

  /** Answers a request by `send`, unless it is not there, or not there any more. */
  answer(id: JsonRpcId, send: () => void): void {
    const entry = this.#live.get(id)
    if (entry === undefined) return
    entry.answered = true
    this.#live.delete(id)
    // Whoever waits for quiescence goes on at once, and takes it that what there was to send is on its way.
    send()
    if (this.#live.size === 0 && this.#idle !== undefined) {
      Deferred.doneUnsafe(this.#idle, Effect.void)
      this.#idle = undefined
    }
  }

  /** Waits until every request is answered. */
  get whenIdle(): Effect.Effect<void> {
    return Effect.suspend(() =>
      this.#live.size === 0 ? Effect.void : Deferred.await(this.#idle ??= Deferred.makeUnsafe())
    )
  }
}
