/** Bodies other than the trivial one. */
import type { Body } from "../Host.ts"

/** Never ends by itself, and at once when its signal says so: what `fetch` does. A controller is made for it. */
export const listening: Body = (_, { signal }) =>
  new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason))
  })

/** Ends in the next turn of the event loop, as the soonest answer from outside of this process does. */
export const waiting: Body = ({ query }) => new Promise((resolve) => void setImmediate(resolve, query))

export interface Gate {
  /** Ends when the gate is opened, whatever its signal says. */
  readonly body: Body
  /** How many bodies have started and wait. */
  readonly waiting: () => number
  readonly open: () => void
}

/** A body that many calls can be held in, without a timer. */
export const gate = (): Gate => {
  let release: Array<(value: string) => void> = []
  return {
    body: () => new Promise((resolve) => void release.push(resolve)),
    waiting: () => release.length,
    open: () => {
      const opened = release
      release = []
      for (const resolve of opened) resolve("late")
    }
  }
}
