/**
 * The one writer of a log.
 *
 * Requests wait in a line. A commit takes all that wait, and those that come while it is under way share the next one:
 * the more are waiting, the fewer syncs each of them costs.
 *
 * 1. An event is checked against the ledger when its commit is made, in the order of the line.
 * 2. The ledger moves with the disk: after a commit that failed it is where it was.
 * 3. Whoever is interrupted stops waiting. What it asked for is written, or not, all the same.
 */
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { type AppendError, LogFailed, LogRefused, type Problem } from "../LogError.ts"
import { type Entry, isDurable, type LogEvent } from "../LogEvent.ts"
import type { Ledger } from "./ledger.ts"
import * as Record from "./record.ts"
import type { Storage } from "./storage.ts"

/** Events that are written together or not at all, made when it is known what they follow. */
export type Making = (ledger: Ledger) => ReadonlyArray<LogEvent> | Problem

interface Request {
  readonly make: Making
  readonly atMillis: ((index: number) => number) | undefined
  readonly done: Deferred.Deferred<ReadonlyArray<Entry>, AppendError>
}

export class Writer {
  ledger: Ledger
  readonly #storage: Storage
  #sum: number
  #waiting: Array<Request> = []
  #idle: Deferred.Deferred<void> | undefined
  #closed = false

  constructor(storage: Storage, { ledger, sum }: { readonly ledger: Ledger; readonly sum: number }) {
    this.#storage = storage
    this.ledger = ledger
    this.#sum = sum
  }

  append(make: Making, atMillis?: (index: number) => number): Effect.Effect<ReadonlyArray<Entry>, AppendError> {
    // Between joining the line and the launch of the commit nobody may be interrupted: the line would wait for ever.
    return Effect.uninterruptibleMask((restore) =>
      Effect.suspend(() => {
        if (this.#closed) return Effect.fail(new LogFailed({ log: this.#storage.name, reason: "Closed" }))
        const request: Request = { make, atMillis, done: Deferred.makeUnsafe() }
        this.#waiting.push(request)
        const wait = restore(Deferred.await(request.done))
        return this.#idle === undefined ? Effect.andThen(this.#launch(), wait) : wait
      })
    )
  }

  /** Refuses what comes from now on, and waits for what came before. */
  get close(): Effect.Effect<void> {
    return Effect.suspend(() => {
      this.#closed = true
      return this.#idle === undefined ? Effect.void : Deferred.await(this.#idle)
    })
  }

  /** Owned by whoever closes the writer, which waits for it. */
  #launch(): Effect.Effect<unknown> {
    const idle = this.#idle = Deferred.makeUnsafe<void>()
    // Whoever is about to append in this turn of the event loop shares the first commit.
    const work = Effect.andThen(Effect.yieldNow, this.#drain(idle))
    return Effect.forkDetach(work, { uninterruptible: true })
  }

  #drain(idle: Deferred.Deferred<void>): Effect.Effect<void> {
    return Effect.suspend(() => {
      const batch = this.#waiting
      if (batch.length === 0) {
        this.#idle = undefined
        return Effect.asVoid(Deferred.succeed(idle, undefined))
      }
      this.#waiting = []
      return Effect.andThen(this.#commit(batch), this.#drain(idle))
    })
  }

  #commit(batch: ReadonlyArray<Request>): Effect.Effect<void> {
    return Effect.flatMap(Clock.currentTimeMillis, (now) => {
      let ledger = this.ledger
      let sum = this.#sum
      const rows: Array<Record.Row> = []
      const accepted: Array<readonly [Request, ReadonlyArray<Entry>]> = []
      let durable = false
      for (const request of batch) {
        const draft = ledger.copy()
        const made = this.#make(request, draft, sum, now)
        if (made instanceof LogRefused) {
          Deferred.doneUnsafe(request.done, Effect.fail(made))
          continue
        }
        ledger = draft
        sum = made.rows.at(-1)?.sum ?? sum
        durable ||= made.entries.some(({ event }) => isDurable(event))
        rows.push(...made.rows)
        accepted.push([request, made.entries])
      }
      const commit = rows.length === 0 ? Effect.void : this.#storage.commit(rows, durable)
      return Effect.flatMap(Effect.exit(commit), (exit) => {
        if (Exit.isSuccess(exit)) {
          this.ledger = ledger
          this.#sum = sum
        } else if (accepted.length > 1) {
          // One that is too much for the disk is no reason to refuse the others.
          return Effect.forEach(accepted, ([request]) => this.#commit([request]), { discard: true })
        }
        for (const [request, entries] of accepted) Deferred.doneUnsafe(request.done, Exit.map(exit, () => entries))
        return Effect.void
      })
    })
  }

  #make(request: Request, draft: Ledger, previous: number, now: number) {
    const refuse = (problem: Problem, detail: string) => new LogRefused({ log: this.#storage.name, problem, detail })
    const made = request.make(draft)
    if (typeof made === "string") return refuse(made, "as it stands")
    const entries: Array<Entry> = []
    const rows: Array<Record.Row> = []
    for (const [index, event] of made.entries()) {
      let text: string
      try {
        text = Record.encode(event)
      } catch (thrown) {
        return refuse("Invalid", String(thrown))
      }
      const problem = draft.check(event)
      if (problem !== undefined) return refuse(problem, "call" in event ? `${event._tag} of ${event.call}` : event._tag)
      draft.add(event)
      const entry: Entry = { seq: draft.seq, atMillis: request.atMillis?.(index) ?? now, event }
      const row = Record.seal(entry.seq, entry.atMillis, text, rows.at(-1)?.sum ?? previous)
      entries.push(entry)
      rows.push(row)
    }
    return { entries, rows }
  }
}
