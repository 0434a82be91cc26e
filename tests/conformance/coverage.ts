/**
 * Which clauses of the contract are proved, judged by the titles of the tests.
 */
import { citedIn } from "./cites.ts"
import type { CollectedTest } from "./collect.ts"
import { type Area, type Requirement, type RequirementId, requirements } from "./requirements.ts"

/** The tests that cite `id` and run, in the order they are shown: by file, then by title, each once. */
export const proofsOf = (id: RequirementId, tests: ReadonlyArray<CollectedTest>): ReadonlyArray<CollectedTest> => {
  const proofs = new Map(
    tests
      .filter((test) => test.runs && citedIn(test.title).includes(id))
      .map((test) => [`${test.file}\n${test.title}`, test])
  )
  return [...proofs].sort(([a], [b]) => a < b ? -1 : 1).map(([, test]) => test)
}

/** The clauses of `finished` areas that no running test cites. */
export const unproved = (
  tests: ReadonlyArray<CollectedTest>,
  finished: ReadonlyArray<Area>
): ReadonlyArray<Requirement> =>
  requirements.filter(({ area, id }) => finished.includes(area) && proofsOf(id, tests).length === 0)

/** The tests that cite what is no clause: `cites` refuses it when compiling, a title written by hand does not. */
export const misciting = (tests: ReadonlyArray<CollectedTest>): ReadonlyArray<CollectedTest> => {
  const known = new Set<string>(requirements.map(({ id }) => id))
  return tests.filter(({ title }) => citedIn(title).some((id) => !known.has(id)))
}
