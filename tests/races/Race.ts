/**
 * A race: a program whose every interleaving must end well, and how far it is explored.
 *
 * `npm run races` explores each until its budget is used up, says which bound it reached, and records how many
 * interleavings there were up to it. `races.test.ts` explores by that record what is few enough for every run of the tests.
 */
import type { Explore } from "@quiesce/testing"
import type { RequirementId } from "../conformance/requirements.ts"

export interface Race {
  /** What holds in every interleaving, as a sentence. */
  readonly name: string
  readonly clauses: readonly [RequirementId, ...ReadonlyArray<RequirementId>]
  readonly program: Explore.Program<unknown, unknown>
  /** How many preemptions are explored exhaustively. */
  readonly preemptions: {
    /** Until its count is recorded. Default: 1. */
    readonly ci?: number
    /** Default: `heavyPreemptions`, as far as `heavyRuns` allow. */
    readonly heavy?: number
  }
  /**
   * How many timers may fire early. Default: 1, enough for a deadline; the watch over calls sets timers without end. 0
   * where time is not what the race is about: they fire when nothing else is left to happen.
   */
  readonly timers?: number
}

/** The races of one subject. */
export interface Subject {
  readonly subject: string
  readonly races: ReadonlyArray<Race>
}

/**
 * The tests explore as many preemptions of a race, up to two, as have at most `ciRuns` interleavings: no bug that was
 * planted or found has needed more than two. Two cores run some 5,000 interleavings a second, so that a hundred and
 * twenty races, which have half of what they may on average, take less than a minute.
 */
export const ciPreemptions = 2
export const ciRuns = 3_500

/** How far `npm run races` goes: at the same speed, all of them in less than eight minutes. */
export const heavyPreemptions = 3
export const heavyRuns = 20_000

/** How many interleavings of a race have no preemption, one, two, and so on, as far as all of them were run. */
export type Counts = ReadonlyArray<number>

/** The bounds of a race on every run of the tests, by what `npm run races` has counted. */
export const ciBounds = (race: Race, counts: Counts | undefined): Bounds => {
  let preemptions = counts === undefined ? race.preemptions.ci ?? 1 : 0
  let within = counts?.[0] ?? 0
  for (let next = 1; counts !== undefined && next <= Math.min(ciPreemptions, counts.length - 1); next++) {
    within += counts[next]!
    if (within > ciRuns) break
    preemptions = next
  }
  return { ...boundsOf(race), preemptions }
}

/** The bounds of a race in `npm run races`. */
export const heavyBounds = (race: Race): Bounds & { readonly runs: number } => ({
  ...boundsOf(race),
  preemptions: race.preemptions.heavy ?? heavyPreemptions,
  runs: heavyRuns
})

interface Bounds {
  readonly preemptions: number
  readonly timers: number
}

const boundsOf = ({ timers }: Race) => ({ timers: timers ?? 1 })
