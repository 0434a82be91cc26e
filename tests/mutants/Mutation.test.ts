import { assert, it, layer } from "@effect/vitest"
import { Context, Duration, Effect, Layer } from "effect"
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { incrementMutant, laterMutant, repository } from "./fixture/repository.ts"
import type { Mutant } from "./Mutant.ts"
import * as Mutation from "./Mutation.ts"
import { TestTimeout, TrialBound } from "./TestProcess.ts"

const wrong = incrementMutant("returns a wrong number", "n + 2")
const file = "counter.spec.ts"

/** Mutants of the fixture with the verdict that is due, in the order they are tried. */
const expected: ReadonlyArray<readonly [mutant: Mutant, verdict: string, detail: RegExp]> = [
  [incrementMutant("never yields", "(() => { for (;;) {} })()"), "Caught by timeout", /still running after 8s/],

  [wrong, "Caught by assertion", /expected 3 to be 2/],
  [incrementMutant("throws", "(() => { throw new Error(\"no\") })()"), "Caught by error", /Error: no/],
  [laterMutant("hangs", "new Promise(() => {})"), "Caught by timeout", /timed out in 500ms/],
  [incrementMutant("kills its process", "(process.kill(process.pid, \"SIGKILL\"), n)"), "Caught by crash", /Worker/],

  [incrementMutant("is equivalent", "1 + n"), "Survived", /^$/],
  [
    incrementMutant("rejects beside the test", "(Promise.reject(new Error(\"late\")), n + 1)"),
    "Survived",
    /passed, beside it: Error: late/
  ],
  [laterMutant("is equivalent too, after so many others", "1 + n"), "Survived", /^$/],

  [incrementMutant("does not parse", "n + ("), "Broken", /outside the test: .*Transform failed/],
  [incrementMutant("names what does not exist", "m + 1"), "Broken", /m is not defined/],
  [laterMutant("imports what does not exist", "(await import(\"./no.ts\")).n"), "Broken", /Cannot find module/],
  [{ ...wrong, name: "throws when loaded", replace: `throw new Error("early")\n${wrong.find}` }, "Broken", /early/],
  [{ ...wrong, name: "has no place", find: "no such text" }, "Broken", /occurs 0 times in counter\.ts/],
  [{ ...wrong, name: "has several places", find: "n: number" }, "Broken", /occurs 3 times in counter\.ts/],
  [{ ...wrong, name: "has no source", file: "no.ts" }, "Broken", /occurs 0 times in no\.ts/],
  [{ ...wrong, name: "has a red test", test: { file, title: "is red" } }, "Broken", /not green without it: it failed/],
  [{ ...wrong, name: "has no test", test: { file, title: "decrements" } }, "Broken", /no test has this title/],
  [{ ...wrong, name: "has two tests", test: { file, title: "increments" } }, "Broken", /2 tests have this title/]
]

const sources = () => repository.files.map((file) => readFileSync(join(repository.root, file), "utf8"))

/** All of them tried in one run, as `npm run mutants` would. */
class Tried extends Context.Service<Tried, {
  readonly outcomes: ReadonlyArray<Mutation.Outcome>
  readonly reported: ReadonlyArray<Mutation.Outcome>
  readonly untouched: boolean
}>()("@quiesce/tests/mutants/Tried") {
  static readonly layer = Layer.effect(
    Tried,
    Effect.gen(function*() {
      const before = sources()
      const reported: Array<Mutation.Outcome> = []
      const outcomes = yield* Mutation.run(
        repository,
        expected.map(([mutant]) => mutant),
        (outcome) => Effect.sync(() => void reported.push(outcome))
      )
      const untouched = !existsSync(join(repository.root, "node_modules")) &&
        sources().every((source, i) => source === before[i])
      return { outcomes, reported, untouched }
    }).pipe(
      Effect.provideService(TestTimeout, Duration.millis(500)),
      // Long enough for a loaded machine to load the spec, which takes half a second, before it spins.
      Effect.provideService(TrialBound, Duration.seconds(8))
    )
  )
}

// Eighteen trials, one of which is to last eight seconds, on a machine that does other work besides.
layer(Tried.layer, { excludeTestServices: true, timeout: "60 seconds" })("a mutant", (it) => {
  for (const [{ name }, due, detail] of expected) {
    it.effect(`that ${name}: ${due}`, () =>
      Effect.gen(function*() {
        const { outcomes } = yield* Tried
        const verdict = outcomes.find(({ mutant }) => mutant.name === name)?.verdict
        assert.isDefined(verdict)
        assert.strictEqual(verdict._tag === "Caught" ? `Caught by ${verdict.by}` : verdict._tag, due)
        assert.match(verdict.detail, detail)
      }))
  }

  it.effect("is tried once, and reported as it is", () =>
    Effect.gen(function*() {
      const { outcomes, reported } = yield* Tried
      assert.strictEqual(outcomes.length, expected.length)
      assert.deepStrictEqual(reported, outcomes)
    }))

  it.effect("leaves the sources as they are", () =>
    Effect.gen(function*() {
      const { untouched } = yield* Tried
      assert.isTrue(untouched)
    }))
})

it.effect("no mutants are no work", () =>
  Effect.gen(function*() {
    const nowhere = { ...repository, modules: "/nowhere" }
    assert.deepStrictEqual(yield* Mutation.run(nowhere, [], () => Effect.die("nothing to report")), [])
  }))
