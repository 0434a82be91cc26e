/** News for any number of listeners, each of which hears all of it, from the first to the last. */
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import * as Stream from "effect/Stream"

export class Broadcast<A> {
  readonly #past: Array<A> = []
  readonly #listeners = new Set<{ readonly news: (news: A) => void; readonly end: () => void }>()
  #ended = false

  publish(news: A): void {
    this.#past.push(news)
    for (const listener of this.#listeners) listener.news(news)
  }

  end(): void {
    this.#ended = true
    for (const listener of this.#listeners) listener.end()
    this.#listeners.clear()
  }

  /** Unbounded: it holds some events for each call of a turn. */
  get stream(): Stream.Stream<A> {
    return Stream.callback<A>((queue) =>
      Effect.acquireRelease(
        Effect.sync(() => {
          const listener = {
            news: (news: A) => void Queue.offerUnsafe(queue, news),
            end: () => void Queue.endUnsafe(queue)
          }
          this.#past.forEach(listener.news)
          if (this.#ended) listener.end()
          else this.#listeners.add(listener)
          return listener
        }),
        (listener) => Effect.sync(() => this.#listeners.delete(listener))
      ), { bufferSize: Number.POSITIVE_INFINITY })
  }
}
