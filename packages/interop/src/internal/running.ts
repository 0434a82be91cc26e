/** Calls that somebody may wait for. */
export interface Running {
  readonly add: (call: Promise<unknown>) => void
  /** Resolves when none of them runs, and none that began during the wait. */
  readonly ended: () => Promise<void>
}

export const make = (): Running => {
  const running = new Set<Promise<unknown>>()
  return {
    add: (call) => {
      const end = () => void running.delete(noted)
      const noted = call.then(end, end)
      running.add(noted)
    },
    ended: async () => {
      while (running.size > 0) await Promise.all(running)
    }
  }
}
