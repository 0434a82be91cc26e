import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import { collect, repository } from "../conformance/collect.ts"
import { finished, requirements } from "../conformance/requirements.ts"
import { misfits, misnamings, namesakes, unbroken } from "./fitness.ts"
import { incrementMutant, repository as fixture } from "./fixture/repository.ts"
import { mutants } from "./index.ts"
import { apply } from "./Mutant.ts"

describe("the mutants of this repository", () => {
  it("each change exactly one place of the sources as they are", () => {
    assert.deepStrictEqual(misfits(repository, mutants), [])
  })

  it("have names of their own", () => {
    assert.deepStrictEqual(namesakes(mutants), [])
  })

  it("break every clause of the finished areas that the core guards", () => {
    assert.deepStrictEqual(unbroken(mutants, finished).map(({ id, text }) => `${id} ${text}`), [])
  })

  it.live("each name one test that runs and cites a clause they break", () =>
    Effect.gen(function*() {
      const { tests } = yield* collect(repository)
      assert.deepStrictEqual(misnamings(tests, mutants), [])
      // Every test file is loaded for it, in a process beside those that run the tests.
    }), 60_000)
})

describe("a mutant", () => {
  const mutant = incrementMutant("m", "n + 2")
  const test = { file: "counter.spec.ts", title: "increments by one [CALL-01]", runs: true }

  it("fits if it changes exactly one place, into something else", () => {
    assert.deepStrictEqual(misfits(fixture.root, [mutant]), [])
    assert.deepStrictEqual(
      misfits(fixture.root, [
        { ...mutant, find: "export" },
        { ...mutant, file: "no.ts" },
        { ...mutant, replace: mutant.find }
      ]),
      [
        "m: its `find` occurs 3 times in counter.ts, not once: the source moved",
        "m: its `find` occurs 0 times in no.ts, not once: the source moved",
        "m: its `replace` is its `find`"
      ]
    )
  })

  it("names one test, which runs and cites a clause it breaks", () => {
    assert.deepStrictEqual(misnamings([test, { ...test, file: "other.spec.ts" }], [mutant]), [])
    const inOrder = [[], [test, test], [{ ...test, runs: false }], [{ ...test, title: "increments by one [CALL-02]" }]]
    assert.deepStrictEqual(inOrder.flatMap((tests) => misnamings(tests, [mutant])), [
      "m: 0 tests of counter.spec.ts have the title \"increments by one\"",
      "m: 2 tests of counter.spec.ts have the title \"increments by one\"",
      "m: its test does not run",
      "m: its test cites none of its clauses"
    ])
  })

  it("has a name of its own", () => {
    assert.deepStrictEqual(namesakes([mutant, { ...mutant, name: "n" }]), [])
    assert.deepStrictEqual(namesakes([mutant, { ...mutant, name: "n" }, mutant]), ["m"])
  })

  it("is due for each clause of CALL, BRIDGE and TIME once its area is finished, and for no other", () => {
    const ids = (area: string) => requirements.filter((requirement) => requirement.area === area).map(({ id }) => id)
    assert.deepStrictEqual(unbroken([], []), [])
    assert.deepStrictEqual(unbroken([], ["BRIDGE", "KIT"]).map(({ id }) => id), ids("BRIDGE"))
    const all = { ...mutant, clause: ids("TIME") }
    assert.deepStrictEqual(unbroken([all], ["TIME", "CALL"]).map(({ id }) => id), ids("CALL"))
  })
})

describe("apply", () => {
  const mutant = { ...incrementMutant("m", ""), find: "x(1)", replace: "$& $1 $$" }

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
