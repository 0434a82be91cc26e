import { assert, describe, it } from "@effect/vitest"
import { incrementMutant } from "./fixture/repository.ts"
import type { Outcome } from "./Mutation.ts"
import * as Report from "./Report.ts"
import { Verdict } from "./Trial.ts"

const outcome = (name: string, verdict: Verdict): Outcome => ({
  mutant: incrementMutant(name, "0"),
  verdict,
  millis: 949
})
const caught = outcome("wrong", Verdict.Caught({ by: "assertion", detail: "expected 3 to be 2" }))
const survived = outcome("equivalent", Verdict.Survived({ detail: "" }))
const broken = outcome("unparsable", Verdict.Broken({ detail: "SyntaxError: no" }))

describe("the report", () => {
  it("has a line for each mutant", () => {
    assert.strictEqual(Report.line(caught), "caught    0.9 s  CALL-01: wrong (assertion)")
    assert.strictEqual(Report.line(survived), "survived  0.9 s  CALL-01: equivalent")
  })

  it("ends with the plain count when nothing is broken", () => {
    assert.strictEqual(Report.summary([caught, caught]), "\n2 caught, 0 survived")
  })

  it("names the survivors and the broken with their source, their test and the reason", () => {
    assert.strictEqual(
      Report.summary([caught, survived, broken]),
      `
Survived: the test is green although the guard is gone.
  CALL-01: equivalent
    source  counter.ts
    test    counter.spec.ts: increments by one

Broken: the trial says nothing about the test.
  CALL-01: unparsable
    source  counter.ts
    test    counter.spec.ts: increments by one
    SyntaxError: no

1 caught, 1 survived, 1 broken`
    )
  })

  it("proves something only if there was something and all of it was caught", () => {
    assert.isTrue(Report.proves([caught]))
    assert.isFalse(Report.proves([]))
    assert.isFalse(Report.proves([caught, survived]))
    assert.isFalse(Report.proves([caught, broken]))
  })
})
