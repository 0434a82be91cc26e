/**
 * A small deterministic generator, so that a seed means the same run everywhere.
 *
 * **Source**: mulberry32, a 32-bit mix of a Weyl sequence.
 */
export const makeRandom = (seed: number): () => number => {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = Math.imul(state ^ (state >>> 15), state | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
}
