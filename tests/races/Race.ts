/**
 * A race: a program whose every interleaving must end well, and how far it is explored.
 *
 * `races.test.ts` explores each up to its `ci` bound on every run of the tests, `npm run races` up to its `heavy` bound.
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
    /** Default: 2. All races together must fit into a minute of CI. */
    readonly ci?: number
    /** Default: 3. */
    readonly heavy?: number
  }
}

/** The races of one subject. */
export interface Subject {
  readonly subject: string
  readonly races: ReadonlyArray<Race>
}

export const ciPreemptions = (race: Race): number => race.preemptions.ci ?? 2

export const heavyPreemptions = (race: Race): number => race.preemptions.heavy ?? 3
