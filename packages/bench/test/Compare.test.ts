import { assert, describe, it } from "@effect/vitest"
import * as Compare from "../src/Compare.ts"
import type { Report, Row } from "../src/Report.ts"
import type { Spread } from "../src/Statistics.ts"

const report = (...rows: ReadonlyArray<Row>): Report => ({
  environment: "",
  tables: [{ _tag: "Figures", name: "t", title: "", about: "", claim: 0.1, rows }]
})

const spread = (low: number, median: number, high: number): Spread => ({ low, median, high })

const timed = (ratio: Spread, _tag: "Agreed" | "Refused" = "Agreed", against = "floor"): Row => ({
  name: "ours",
  kind: "ours",
  unit: "ns",
  lacks: "",
  value: spread(1, 2, 3),
  ratio: { _tag, against: { name: against }, spread: ratio }
})

const weighed = (value: Spread): Row => ({ name: "ours", kind: "ours", unit: "bytes", lacks: "", value })

const found = (before: Row, after: Row) => Compare.differences(report(before), report(after)).length

describe("Compare", () => {
  it("reports a ratio whose repeats lie apart", () => {
    assert.strictEqual(found(timed(spread(1.9, 2, 2.1)), timed(spread(2.2, 2.3, 2.4))), 1)
    assert.strictEqual(found(timed(spread(2.2, 2.3, 2.4)), timed(spread(1.9, 2, 2.1))), 1)
  })

  it("is silent where the repeats overlap", () => {
    assert.strictEqual(found(timed(spread(1.9, 2, 2.3)), timed(spread(2.2, 2.5, 2.6))), 0)
  })

  it("is silent about a difference too small to be worth a false alarm", () => {
    assert.strictEqual(found(timed(spread(1.99, 2, 2.01)), timed(spread(2.02, 2.03, 2.04))), 0)
  })

  it("is silent about a ratio that one of the two refused, and about a row that is its own floor", () => {
    assert.strictEqual(found(timed(spread(1, 1, 1), "Refused"), timed(spread(9, 9, 9))), 0)
    assert.strictEqual(found(timed(spread(1, 1, 1), "Agreed", "ours"), timed(spread(9, 9, 9), "Agreed", "ours")), 0)
  })

  it("holds figures that are not times against each other as they are", () => {
    assert.strictEqual(found(weighed(spread(100, 100, 100)), weighed(spread(200, 200, 200))), 1)
    assert.strictEqual(found(weighed(spread(100, 100, 100)), weighed(spread(100, 100, 100))), 0)
  })
})
