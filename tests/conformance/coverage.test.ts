import { assert, describe, it, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { citedIn, cites } from "./cites.ts"
import { collect, type Collected, repository } from "./collect.ts"
import { misciting, proofsOf, unproved } from "./coverage.ts"
import { render } from "./document.ts"
import { areas, finished, requirements } from "./requirements.ts"

/** The tests of this repository. */
class Tests extends Context.Service<Tests, Collected>()("@quiesce/tests/conformance/Tests") {
  static readonly layer = Layer.effect(Tests, collect(repository))
}

// Loading every test file takes a second or two; the bound leaves room for a machine that does other work besides.
layer(Tests.layer, { timeout: "60 seconds" })("the contract", (it) => {
  it.effect("has every test file loaded: what is not loaded proves nothing", () =>
    Effect.gen(function*() {
      const { errors } = yield* Tests
      assert.deepStrictEqual(errors, [])
    }))

  it.effect("has a test for every clause of every finished area", () =>
    Effect.gen(function*() {
      const { tests } = yield* Tests
      assert.deepStrictEqual(unproved(tests, finished).map(({ id, text }) => `${id} ${text}`), [])
    }))

  it.effect("is cited by its own numbers only", () =>
    Effect.gen(function*() {
      const { tests } = yield* Tests
      assert.deepStrictEqual(misciting(tests), [])
    }))

  it.effect("stands in docs/contract.md as it is", () =>
    Effect.gen(function*() {
      const { tests } = yield* Tests
      const page = readFileSync(join(repository, "docs/contract.md"), "utf8")
      assert.isTrue(page === render(tests, finished), "docs/contract.md is stale: `npm run contract` writes it anew")
    }))
})

describe("the clauses", () => {
  it("are numbered in each area from 01 without a gap", () => {
    for (const area of areas) {
      const ids = requirements.filter((requirement) => requirement.area === area).map(({ id }) => id)
      assert.deepStrictEqual<ReadonlyArray<string>>(
        ids,
        ids.map((_, i) => `${area}-${String(i + 1).padStart(2, "0")}`)
      )
    }
  })
})

describe("a citation", () => {
  it("stands at the end of the title and is read from there", () => {
    const title = cites("a call [sic] is one thing", "CALL-01", "TIME-02")
    assert.strictEqual(title, "a call [sic] is one thing [CALL-01, TIME-02]")
    assert.deepStrictEqual(citedIn(title), ["CALL-01", "TIME-02"])
    assert.deepStrictEqual(citedIn("[CALL-01] in front"), [])
  })

  it("names a clause, or does not compile", () => {
    // @ts-expect-error: there is no such clause
    cites("a typo", "CALL-00")
    // @ts-expect-error: a citation cites something
    cites("nothing")
  })
})

describe("coverage", () => {
  const test = (title: string, runs = true) => ({ file: "a.test.ts", title, runs })
  const without = (id: string) => requirements.filter((r) => r.area === "TIME" && r.id !== id)
  const citing = (id: string) => without(id).map((r) => test(`t [${r.id}]`))

  it("names the clause of a finished area that no test cites", () => {
    assert.deepStrictEqual(unproved(citing("TIME-04"), ["TIME"]).map(({ id }) => id), ["TIME-04"])
    assert.deepStrictEqual(unproved([...citing("TIME-04"), test("t [TIME-01, TIME-04]")], ["TIME"]), [])
  })

  it("asks nothing of an area that is not finished", () => {
    assert.deepStrictEqual(unproved([], []), [])
  })

  it("does not count a test that does not run", () => {
    const tests = [...citing("TIME-04"), test("t [TIME-04]", false)]
    assert.deepStrictEqual(unproved(tests, ["TIME"]).map(({ id }) => id), ["TIME-04"])
  })

  it("finds a citation of what is no clause", () => {
    assert.deepStrictEqual(misciting([test("t [CALL-01]"), test("t [CALL-99]")]), [test("t [CALL-99]")])
  })

  it("lists proofs by file and title, each once, whatever order they were collected in", () => {
    const b = { file: "b.test.ts", title: "a [CALL-01]", runs: true }
    const tests = [b, test("z [CALL-01]"), test("a [CALL-01]"), b]
    const expected = [test("a [CALL-01]"), test("z [CALL-01]"), b]
    assert.deepStrictEqual(proofsOf("CALL-01", tests), expected)
    assert.deepStrictEqual(proofsOf("CALL-01", tests.toReversed()), expected)
  })
})

describe("the page", () => {
  const tests = [{ file: "packages/core/test/Call.test.ts", title: "group > - a <b> `c_d` e_f [CALL-01]", runs: true }]

  it("shows the tests of a finished clause with titles that mean themselves", () => {
    assert.include(
      render(tests, ["CALL"]),
      "Proved by\n\n- [packages/core/test/Call.test.ts](../packages/core/test/Call.test.ts)\n" +
        "  - group > - a \\<b> `c_d` e\\_f\n\n### CALL-02"
    )
  })

  it("claims nothing for an area that is not finished", () => {
    const page = render(tests, [])
    assert.notInclude(page, "Proved by\n")
    assert.strictEqual(page.split("_Not built yet._").length - 1, requirements.length)
  })
})
