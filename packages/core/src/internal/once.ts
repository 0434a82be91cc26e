/** A value that becomes known once, and those who wait for it. */
export class Once<A extends {}> {
  #value: A | undefined = undefined
  /** The first, which mostly is the only one, has no list made for it. */
  #observer: ((value: A) => void) | undefined = undefined
  #others: Array<(value: A) => void> | undefined = undefined

  get value(): A | undefined {
    return this.#value
  }

  /** Only the first value counts. */
  tell(value: A): void {
    if (this.#value !== undefined) return
    this.#value = value
    const observer = this.#observer
    const others = this.#others
    this.#observer = this.#others = undefined
    observer?.(value)
    if (others !== undefined) { for (const other of others) other(value) }
  }

  /** Calls `observer` once the value is known, at once if it is. */
  observe(observer: (value: A) => void): void {
    if (this.#value !== undefined) observer(this.#value)
    else if (this.#others !== undefined) this.#others.push(observer)
    else if (this.#observer === undefined) this.#observer = observer
    else this.#others = [observer]
  }

  /** For one who no longer waits. */
  unobserve(observer: (value: A) => void): void {
    if (this.#observer === observer) {
      this.#observer = undefined
      return
    }
    const index = this.#others?.indexOf(observer) ?? -1
    if (index >= 0) this.#others?.splice(index, 1)
  }
}
