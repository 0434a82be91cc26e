import { assert, describe, it } from "@effect/vitest"
import { Explore } from "@quiesce/testing"
import { Effect } from "effect"
import { cites } from "../conformance/cites.ts"
import { subjects } from "./index.ts"
import { bounds } from "./Race.ts"

for (const { races, subject } of subjects) {
  describe(`races: ${subject}`, () => {
    for (const race of races) {
      it.live(cites(race.name, ...race.clauses), () =>
        Effect.gen(function*() {
          const report = yield* Explore.check(race.program, { name: race.name, ...bounds(race, "ci") })
          assert.strictEqual(report.coverage._tag, "Exhaustive")
        }), 60_000)
    }
  })
}
