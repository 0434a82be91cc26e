/**
 * How a test says which clauses of the contract it proves: with their ids in its own title, so that a report, a
 * failure and `docs/contract.md` all name them.
 */
import type { RequirementId } from "./requirements.ts"

/**
 * Puts the cited clauses at the end of a test's title: `a call cancelled on entry never reaches the body [CALL-04]`.
 */
export const cites = (
  title: string,
  ...ids: readonly [RequirementId, ...ReadonlyArray<RequirementId>]
): string => `${title} [${ids.join(", ")}]`

const citation = /\[([A-Z]+-\d{2}(?:, [A-Z]+-\d{2})*)\]$/

/** The ids a test title ends with, as written; none when it cites nothing. */
export const citedIn = (title: string): ReadonlyArray<string> => citation.exec(title)?.[1]?.split(", ") ?? []
