import { assert, describe, it } from "@effect/vitest"
import { Explore } from "@quiesce/testing"
import { Effect } from "effect"
import { readdirSync, readFileSync } from "node:fs"
import { cites } from "../conformance/cites.ts"
import { counts } from "./counts.ts"
import { subjects } from "./index.ts"
import { ciBounds, ciRuns, type Race } from "./Race.ts"

for (const { races, subject } of subjects) {
  describe(`races: ${subject}`, () => {
    for (const race of races) {
      it.live(cites(race.name, ...race.clauses), () =>
        Effect.gen(function*() {
          const report = yield* Explore.check(race.program, { name: race.name, ...ciBounds(race, counts[race.name]) })
          assert.strictEqual(report.coverage._tag, "Exhaustive")
        }), 60_000)
    }
  })
}

describe("races: how far they are explored", () => {
  const race: Race = { name: "", clauses: ["KIT-01"], program: Effect.void, preemptions: { ci: 0 } }
  const preemptions = (counts?: ReadonlyArray<number>) => ciBounds(race, counts).preemptions

  it(cites("by the tests, as many preemptions as have few enough interleavings, up to two", "KIT-01"), () => {
    assert.strictEqual(preemptions([3, 20, 400, 5_000]), 2)
    assert.strictEqual(preemptions([3, 20, 400, 500]), 2)
    assert.strictEqual(preemptions([1, ciRuns - 2, 1]), 2)
    assert.strictEqual(preemptions([1, ciRuns - 2, 2]), 1)
    assert.strictEqual(preemptions([3, ciRuns, 1]), 0)
    // One preemption was not explored to its end.
    assert.strictEqual(preemptions([3]), 0)
    assert.strictEqual(preemptions(), 0)
  })

  it(cites("by their names, which differ", "KIT-01"), () => {
    const names = subjects.flatMap(({ races }) => races.map(({ name }) => name))
    assert.strictEqual(new Set(names).size, names.length)
  })
})

it(cites("every file of races is explored", "KIT-01"), () => {
  const listed = readFileSync(new URL("index.ts", import.meta.url), "utf8")
  const files = readdirSync(import.meta.dirname).filter((file) =>
    file.endsWith(".ts")
    && /^export const \w+: Subject = /m.test(readFileSync(new URL(file, import.meta.url), "utf8"))
  )
  assert.isAbove(files.length, 4)
  assert.deepStrictEqual(files.filter((file) => !listed.includes(`"./${file}"`)), [])
})
