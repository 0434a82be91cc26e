import { assert, describe, it, layer } from "@effect/vitest"
import { Context, Effect, Layer, Result } from "effect"
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { citedIn } from "../conformance/cites.ts"
import { collect, type Collected, repository } from "../conformance/collect.ts"
import { type Area, finished, requirements } from "../conformance/requirements.ts"
import { mutants } from "./index.ts"
import { apply, clausesOf, type Mutant } from "./Mutant.ts"

/** The areas whose every clause is about what the core guards, and so has a guard to remove. */
const guarded: ReadonlyArray<Area> = ["CALL", "BRIDGE", "TIME"]

/** What keeps a mutant from being tried on the sources as they are. */
const misfit = (mutant: Mutant): string | undefined => {
  const path = join(repository, mutant.file)
  const mutated = apply(mutant, existsSync(path) ? readFileSync(path, "utf8") : "")
  if (Result.isFailure(mutated)) return mutated.failure.message
  return mutant.find === mutant.replace ? "its `replace` is its `find`" : undefined
}

/** What is wrong with the test that a mutant names. */
const misnamed = (mutant: Mutant, tests: Collected["tests"]): string | undefined => {
  const { file, title } = mutant.test
  const named = tests.filter((test) => test.file === file && test.title.includes(title))
  const [test] = named
  if (test === undefined || named.length > 1) return `${named.length} tests of ${file} have the title "${title}"`
  if (!test.runs) return "its test does not run"
  const cited = citedIn(test.title)
  return clausesOf(mutant).some((id) => cited.includes(id)) ? undefined : "its test cites none of its clauses"
}

const problems = (check: (mutant: Mutant) => string | undefined): ReadonlyArray<string> =>
  mutants.flatMap((mutant) => {
    const problem = check(mutant)
    return problem === undefined ? [] : [`${mutant.name}: ${problem}`]
  })

/** The tests of this repository. */
class Tests extends Context.Service<Tests, Collected>()("@quiesce/tests/mutants/Tests") {
  static readonly layer = Layer.effect(Tests, collect(repository))
}

describe("the mutants", () => {
  it("each change exactly one place of the sources as they are", () => {
    assert.deepStrictEqual(problems(misfit), [])
  })

  it("have names of their own", () => {
    assert.deepStrictEqual(
      problems(({ name }) => mutants.filter((m) => m.name === name).length > 1 ? "twice" : undefined),
      []
    )
  })

  it("break every clause of the finished areas that the core guards", () => {
    const broken = new Set(mutants.flatMap(clausesOf))
    const unbroken = requirements.filter(({ area, id }) =>
      guarded.includes(area) && finished.includes(area) && !broken.has(id)
    )
    assert.deepStrictEqual(unbroken.map(({ id, text }) => `${id} ${text}`), [])
  })

  // Loading every test file takes a second or two; the bound leaves room for a machine that does other work besides.
  layer(Tests.layer, { timeout: "60 seconds" })((it) => {
    it.effect("each name one test that runs and cites a clause they break", () =>
      Effect.gen(function*() {
        const { tests } = yield* Tests
        assert.deepStrictEqual(problems((mutant) => misnamed(mutant, tests)), [])
      }))
  })
})

describe("apply", () => {
  const mutant: Mutant = {
    name: "m",
    clause: "CALL-01",
    file: "a.ts",
    find: "x(1)",
    replace: "$& $1 $$",
    test: { file: "a.test.ts", title: "t" }
  }

  it("replaces the one occurrence by the text as it is", () => {
    assert.deepStrictEqual(apply(mutant, "a x(1) b"), Result.succeed("a $& $1 $$ b"))
  })

  it("refuses text that is not there, or there twice", () => {
    for (const [source, occurrences] of [["", 0], ["x(2)", 0], ["x(1) x(1)", 2]] as const) {
      const refused = Result.getFailure(apply(mutant, source))
      assert.strictEqual(refused._tag === "Some" ? refused.value.occurrences : undefined, occurrences)
    }
  })
})
