/** How the interleavings to run are chosen. */

/**
 * What makes two interleavings the same to an exhaustive search.
 *
 * - `"off"`: nothing does. Every order of steps is run.
 * - `"actions"`: outside actions that declared what they touch may be swapped where they do not conflict. Steps nobody
 *   described conflict with everything, so this is sound for every program.
 * - `"declared"`: the program promises that whatever its fibers share is declared with `Edge.touch`, and every step
 *   touches only what it declares. Sound as far as the promise is kept; the kit adds by itself what it can see: which
 *   fibers ran in a step, and the clock.
 */
export type Reduction = "off" | "actions" | "declared"

export type Strategy =
  /** Every interleaving within the bounds. */
  | { readonly _tag: "Exhaustive"; readonly reduction: Reduction }
  /** Interleavings drawn at random. */
  | { readonly _tag: "Random"; readonly seed: number; readonly runs: number }
  /** Interleavings drawn so that a bug of the given depth has a known chance of being met. */
  | { readonly _tag: "Probabilistic"; readonly seed: number; readonly runs: number; readonly depth: number }

/** Runs every interleaving within the bounds, depth first. */
export const exhaustive = (options?: { readonly reduction?: Reduction }): Strategy => ({
  _tag: "Exhaustive",
  reduction: options?.reduction ?? "actions"
})

/** Runs interleavings drawn at random, the same ones for the same seed. */
export const random = (options: { readonly seed: number; readonly runs: number }): Strategy => ({
  _tag: "Random",
  ...options
})

/**
 * Runs interleavings by random priorities that change at `depth - 1` random moments (PCT), the same ones for the same
 * seed. A bug that needs `depth` events in one order (most need two) among `n` fibers and `k` moments is met by a single
 * run with probability at least `1 / (n · k^(depth - 1))`.
 */
export const probabilistic = (
  options: { readonly seed: number; readonly runs: number; readonly depth: number }
): Strategy => ({ _tag: "Probabilistic", ...options })
