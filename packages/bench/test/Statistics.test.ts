import { assert, describe, it } from "@effect/vitest"
import * as Statistics from "../src/Statistics.ts"

describe("Statistics", () => {
  it("takes the middle value, or the mean of the middle two", () => {
    assert.strictEqual(Statistics.median([9, 1, 5]), 5)
    assert.strictEqual(Statistics.median([9, 1, 5, 100]), 7)
  })

  it("spreads from the least to the greatest of the medians, not of the samples", () => {
    assert.deepStrictEqual(Statistics.spread([[1, 2, 1000], [3, 4, 0], [5, 6, 7]]), { median: 3, low: 2, high: 6 })
  })

  it("measures disagreement from the median to the repeat furthest from it, on either side", () => {
    assert.closeTo(Statistics.disagreement({ median: 10, low: 9, high: 15 }), 0.5, 1e-9)
    assert.closeTo(Statistics.disagreement({ median: 10, low: 5, high: 11 }), 1, 1e-9)
  })

  it("splits rounds by the order they ran in", () => {
    assert.deepStrictEqual(Statistics.byOrder([1, 2, 3]), [[1, 3], [2]])
    assert.deepStrictEqual(Statistics.byOrder([1]), [[1]])
  })
})
