/** Something that happens once, and those who wait for it. */
import * as Effect from "effect/Effect"

export class Once<A> {
  #happened: { readonly value: A } | undefined
  #observers: Array<(value: A) => void> = []

  get happened(): boolean {
    return this.#happened !== undefined
  }

  happen(value: A): void {
    if (this.#happened !== undefined) return
    this.#happened = { value }
    for (const observer of this.#observers.splice(0)) observer(value)
  }

  observe(observer: (value: A) => void): void {
    if (this.#happened === undefined) this.#observers.push(observer)
    else observer(this.#happened.value)
  }

  readonly wait = Effect.callback<A>((resume) => this.observe((value) => resume(Effect.succeed(value))))
}
