/**
 * How far the reader of a response is behind: the official transports keep every event until it is read.
 *
 * Reports of progress are what a single call can make without end. Who does not read them misses the next ones, and reads
 * the answer all the same.
 */

/** More than a tool reports between two turns of whoever reads, and of small messages no more than some 100 KB. */
const maxEvents = 1_000

export class Unread {
  #events = 0

  /** Says that a report is about to be sent; `false` where it is not. */
  report(): boolean {
    if (this.#events >= maxEvents) return false
    this.#events++
    return true
  }

  /** An event was read. Some of them were no reports. */
  readonly read = (): void => {
    if (this.#events > 0) this.#events--
  }
}
