/**
 * The few statistics the bench needs.
 *
 * A machine that does other things too gives samples with a long tail to one side, so everything here is a median or
 * an extreme of medians; nothing assumes a distribution.
 */

/** A median, and the least and the greatest of the medians of its repeats. */
export interface Spread {
  readonly median: number
  readonly low: number
  readonly high: number
}

export const median = (values: ReadonlyArray<number>): number => {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}

export const spread = (repeats: ReadonlyArray<ReadonlyArray<number>>): Spread => {
  const medians = repeats.map(median)
  return { median: median(medians), low: Math.min(...medians), high: Math.max(...medians) }
}

/** How far the repeats are from the median they share: 0.1 is ten per cent. */
export const disagreement = ({ high, low, median }: Spread): number => Math.max(high / median, median / low) - 1

/** Splits rounds by the order they ran in: even rounds ran forwards, odd ones backwards. */
export const byOrder = (rounds: ReadonlyArray<number>): ReadonlyArray<ReadonlyArray<number>> =>
  [0, 1].map((parity) => rounds.filter((_, round) => round % 2 === parity)).filter((order) => order.length > 0)
