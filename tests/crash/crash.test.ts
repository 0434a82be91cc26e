import { assert, describe, it } from "vitest"
import { cites } from "../conformance/cites.ts"
import { run } from "./kills.ts"

/** Some ten seconds on an idle machine; `npm run crash` does all boundaries and hundreds of instants. */
const boundaries = 10
const instants = 5

describe("a writer that is killed", () => {
  it(
    cites("at a write boundary loses no acknowledged event, and its log is balanced", "TURN-09", "TURN-08"),
    async () => {
      // From the making of the file, over the first marks and results, to the middle of a turn.
      for (let index = 0; index < boundaries; index++) {
        const { faults } = await run(index, { _tag: "Boundary", at: index * 11 })
        assert.deepStrictEqual(faults, [], `run(${index}, at ${index * 11})`)
      }
    },
    120_000
  )

  it(
    cites("at any instant loses no acknowledged event, and its log is balanced", "TURN-09", "TURN-08"),
    async () => {
      let acknowledged = 0
      for (let index = 0; index < instants; index++) {
        const killed = await run(index, { _tag: "Instant", millis: index * 7.3 })
        acknowledged += killed.acknowledged
        assert.deepStrictEqual(killed.faults, [], `run(${index})`)
      }
      assert.isAbove(acknowledged, 0)
    },
    120_000
  )
})
