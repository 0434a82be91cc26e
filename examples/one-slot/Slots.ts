/** A limit on how much goes on at once, as one writes it by hand: whoever gets no slot waits, and an abort ends the wait. */
export class Slots {
  private free: number
  private readonly waiting: Array<() => void> = []
  private readonly careful: boolean

  constructor(size: number, careful: boolean) {
    this.free = size
    this.careful = careful
  }

  acquire(signal: AbortSignal): Promise<void> {
    if (this.free > 0) {
      this.free--
      return Promise.resolve()
    }
    let onAbort: () => void
    const granted = new Promise<void>((resolve, reject) => {
      this.waiting.push(resolve)
      onAbort = () => {
        const index = this.waiting.indexOf(resolve)
        // Granted in this very tick: the slot is ours, and whoever waits here is somebody else.
        if (this.careful && index === -1) return
        this.waiting.splice(index, 1)
        reject(signal.reason as Error)
      }
      signal.addEventListener("abort", onAbort)
    })
    return granted.finally(() => signal.removeEventListener("abort", onAbort))
  }

  release(): void {
    const next = this.waiting.shift()
    if (next === undefined) this.free++
    else next()
  }
}
