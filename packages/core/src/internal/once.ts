/** A value that becomes known once, and those who wait for it. */
export class Once<A extends {}> {
  #value: A | undefined = undefined
  #observers: Array<(value: A) => void> | undefined = undefined

  get value(): A | undefined {
    return this.#value
  }

  /** Only the first value counts. */
  tell(value: A): void {
    if (this.#value !== undefined) return
    this.#value = value
    const observers = this.#observers
    this.#observers = undefined
    if (observers !== undefined) { for (const observer of observers) observer(value) }
  }

  /** Calls `observer` once the value is known, at once if it is. */
  observe(observer: (value: A) => void): void {
    if (this.#value !== undefined) observer(this.#value)
    else (this.#observers ??= []).push(observer)
  }

  /** For one who no longer waits. */
  unobserve(observer: (value: A) => void): void {
    const index = this.#observers?.indexOf(observer) ?? -1
    if (index >= 0) this.#observers?.splice(index, 1)
  }
}
