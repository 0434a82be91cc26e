/** Reading the heap, exactly: the bench runs with `--expose-gc`. */
import type { Instrument } from "./Measure.ts"

const turn = () => new Promise<void>((resolve) => setImmediate(resolve))

/** The bytes that are reachable now. */
export const reachable = async (): Promise<number> => {
  // Finalization callbacks and freed native handles free more: a second collection, a turn later, sees that.
  for (let i = 0; i < 2; i++) {
    gc!()
    await turn()
  }
  return process.memoryUsage().heapUsed
}

/** What is held for each of `n` pending calls; `start` makes one, `release` lets all of them end. */
export const perPending = (
  n: number,
  { close, release, start }: {
    readonly start: () => Promise<unknown>
    readonly release: () => void
    readonly close: () => Promise<void>
  }
): Instrument => ({
  measure: async () => {
    const pending = new Array<Promise<unknown>>(n)
    const before = await reachable()
    for (let i = 0; i < n; i++) pending[i] = start()
    const bytes = (await reachable()) - before
    release()
    await Promise.all(pending)
    return bytes / n
  },
  close
})
