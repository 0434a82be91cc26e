/**
 * Measures subjects beside each other: interleaved rounds, forwards and backwards in turn.
 *
 * This is written by hand because the libraries for it run one subject to its end and then the next, and a ratio
 * between two stretches of seconds says more about the machine than about the code. Promises and loops only: the
 * instrument does not use what it measures.
 */
import type { Key, Kind, Series, Unit } from "./Report.ts"
import * as Report from "./Report.ts"
import * as Statistics from "./Statistics.ts"

/** A subject ready to be measured; `measure` gives the value of one round. */
export interface Instrument {
  readonly measure: () => Promise<number>
  readonly close: () => Promise<void>
}

export interface Subject extends Key {
  readonly kind: Kind
  readonly unit: Unit
  readonly lacks: string
  readonly against?: Key | undefined
  readonly open: () => Promise<Instrument>
}

export interface Plan {
  readonly rounds: number
  /**
   * Rounds are run and dropped for this long per subject, in the same interleaving, until the code is optimized: whole
   * rounds, and none for 0.
   */
  readonly warmUpMillis: number
}

/** Enough rounds for a median of each order that a few disturbed rounds cannot move. */
export const quick: Plan = { rounds: 40, warmUpMillis: 250 }

/** A busy machine is measured up to this many times as long. */
const patience = 4

/** Whether the two orders give every ratio alike, to half of what is claimed: the other half is for other processes. */
const isSettled = (series: ReadonlyArray<Series>, claim: number): boolean =>
  series.every(({ against, rounds }) => {
    if (against === undefined) return true
    const ratios = Report.quotients(rounds, Report.roundsOf(series, against))
    return Statistics.disagreement(Statistics.spread(Statistics.byOrder(ratios))) <= claim / 2
  })

/** Runs all `subjects` in every round and returns their values. */
export const measure = async (
  subjects: ReadonlyArray<Subject>,
  plan: Plan,
  claim: number
): Promise<ReadonlyArray<Series>> => {
  const instruments: Array<Instrument> = []
  for (const { open } of subjects) instruments.push(await open())
  const series = subjects.map(({ open: _, ...subject }) => ({ ...subject, rounds: new Array<number>() }))
  const forwards = instruments.map((instrument, index) => ({ instrument, rounds: series[index]!.rounds }))
  const backwards = forwards.toReversed()

  const warmUntil = performance.now() + plan.warmUpMillis * subjects.length
  while (performance.now() < warmUntil) {
    for (const { measure } of instruments) await measure()
  }

  for (let round = 0; round < plan.rounds * patience; round++) {
    if (round > 0 && round % plan.rounds === 0 && isSettled(series, claim)) break
    for (const { instrument, rounds } of round % 2 === 0 ? forwards : backwards) rounds.push(await instrument.measure())
  }

  for (const { close } of instruments) await close()
  return series
}

/** A batch is long against the clock's resolution and short against a time slice, so that most batches get a core. */
const batchMillis = 5

export interface Batch {
  /** Runs `n` times what is measured. */
  readonly run: (n: number) => Promise<unknown>
  /** How many operations one of the `n` is. */
  readonly width: number
  readonly close: () => Promise<void>
}

/** Turns a batch into an instrument that reads nanoseconds per operation, and chooses `n` by itself. */
export const perOperation = ({ close, run, width }: Batch): Instrument => {
  let n = 1
  return {
    measure: async () => {
      const count = n
      const start = performance.now()
      await run(count)
      const elapsed = performance.now() - start
      // Grown at most tenfold at a time: the first batches run cold.
      n = Math.max(1, Math.min(count * 10, Math.round(count * batchMillis / Math.max(elapsed, 0.001))))
      return elapsed * 1e6 / (count * width)
    },
    close
  }
}

/** One call after the other. */
export const sequentially = (call: () => Promise<unknown>) => async (n: number): Promise<void> => {
  for (let i = 0; i < n; i++) await call()
}

/** `width` calls at once, `n` times. */
export const atOnce = (call: () => Promise<unknown>, width: number) => async (n: number): Promise<void> => {
  for (let i = 0; i < n; i++) await Promise.all(Array.from({ length: width }, call))
}
