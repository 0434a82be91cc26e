/**
 * Whether a list of mutants is true to the repository: cheap to ask, so that it is asked on every run of the tests,
 * while trying the mutants is a command of its own.
 */
import { Result } from "effect"
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { citedIn } from "../conformance/cites.ts"
import type { CollectedTest } from "../conformance/collect.ts"
import { type Area, type Requirement, requirements } from "../conformance/requirements.ts"
import { apply, clausesOf, type Mutant } from "./Mutant.ts"

/** The areas about what the core guards: each of their clauses has a guard that can be removed. */
const guarded: ReadonlyArray<Area> = ["CALL", "BRIDGE", "TIME"]

/** What keeps `mutant` from being applied to the sources at `root`. */
const misfit = (root: string, mutant: Mutant): string | undefined => {
  const path = join(root, mutant.file)
  const mutated = apply(mutant, existsSync(path) ? readFileSync(path, "utf8") : "")
  if (Result.isFailure(mutated)) return mutated.failure.message
  return mutant.find === mutant.replace ? "its `replace` is its `find`" : undefined
}

/** What is wrong with the test that `mutant` names. */
const misnamed = (tests: ReadonlyArray<CollectedTest>, mutant: Mutant): string | undefined => {
  const { file, title } = mutant.test
  const named = tests.filter((test) => test.file === file && test.title.includes(title))
  const [test] = named
  if (test === undefined || named.length > 1) return `${named.length} tests of ${file} have the title "${title}"`
  if (!test.runs) return "its test does not run"
  const cited = citedIn(test.title)
  return clausesOf(mutant).some((id) => cited.includes(id)) ? undefined : "its test cites none of its clauses"
}

const problems = (mutants: ReadonlyArray<Mutant>, check: (mutant: Mutant) => string | undefined) =>
  mutants.flatMap((mutant) => {
    const problem = check(mutant)
    return problem === undefined ? [] : [`${mutant.name}: ${problem}`]
  })

/** The mutants that do not change exactly one place of the sources at `root`. */
export const misfits = (root: string, mutants: ReadonlyArray<Mutant>): ReadonlyArray<string> =>
  problems(mutants, (mutant) => misfit(root, mutant))

/** The mutants that do not name exactly one test that runs and cites a clause they break. */
export const misnamings = (
  tests: ReadonlyArray<CollectedTest>,
  mutants: ReadonlyArray<Mutant>
): ReadonlyArray<string> => problems(mutants, (mutant) => misnamed(tests, mutant))

/** The names that several mutants have. */
export const namesakes = (mutants: ReadonlyArray<Mutant>): ReadonlyArray<string> =>
  [...Map.groupBy(mutants, ({ name }) => name)].flatMap(([name, { length }]) => length > 1 ? [name] : [])

/** The clauses of the finished areas which the core guards and no mutant breaks. */
export const unbroken = (
  mutants: ReadonlyArray<Mutant>,
  finished: ReadonlyArray<Area>
): ReadonlyArray<Requirement> => {
  const broken = new Set(mutants.flatMap(clausesOf))
  return requirements.filter(({ area, id }) => guarded.includes(area) && finished.includes(area) && !broken.has(id))
}
