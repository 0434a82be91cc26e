/** Reading the heap, exactly: the bench runs with `--expose-gc`. */
import type { Gate } from "./floors/bodies.ts"
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

/**
 * What is held for each of `n` calls that wait in their bodies; `start` makes one, `end` waits for one, `gate` holds and
 * releases them.
 */
export const perPending = <A>(
  n: number,
  { close, end, gate, start }: {
    readonly start: () => A
    readonly end: (call: A) => Promise<unknown>
    readonly gate: Gate
    readonly close: () => Promise<void>
  }
): Instrument => ({
  measure: async () => {
    const pending = new Array<A>(n)
    const before = await reachable()
    for (let i = 0; i < n; i++) pending[i] = start()
    while (gate.waiting() < n) await turn()
    const bytes = (await reachable()) - before
    gate.open()
    await Promise.all(pending.map(end))
    return bytes / n
  },
  close
})
