import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { cites } from "../../../tests/conformance/cites.ts"
import { run } from "./random/run.ts"

/** Some on each run of the tests, which takes seconds; `npm run connections` is for ten thousand. */
const runs = 40

describe("a connection", () => {
  it.effect(
    cites("answers each request once, and sends nothing of it after its answer, at random", "ACP-02", "ACP-08"),
    () =>
      Effect.gen(function*() {
        for (let n = 0; n < runs; n++) {
          const { faults, seed } = yield* run(`connection ${n}`)
          assert.deepStrictEqual(faults, [], seed)
        }
      }),
    120_000
  )
})
