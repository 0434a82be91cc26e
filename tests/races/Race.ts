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
    /** Default: 1. All races together must fit into a minute of CI, and each preemption costs a factor of some thirty. */
    readonly ci?: number
    /** Default: 2. */
    readonly heavy?: number
  }
  /** How many timers may fire early. Default: 1, enough for a deadline; the watch over calls sets timers without end. */
  readonly timers?: number
}

/** The races of one subject. */
export interface Subject {
  readonly subject: string
  readonly races: ReadonlyArray<Race>
}

/** How far a race is explored on every run of the tests, and how far by `npm run races`. */
export const bounds = (
  race: Race,
  effort: "ci" | "heavy"
): { readonly preemptions: number; readonly timers: number } => ({
  preemptions: race.preemptions[effort] ?? (effort === "ci" ? 1 : 2),
  timers: race.timers ?? 1
})
