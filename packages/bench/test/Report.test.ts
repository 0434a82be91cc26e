import { assert, describe, it } from "@effect/vitest"
import type { Series } from "../src/Report.ts"
import * as Report from "../src/Report.ts"

const series = (name: string, rounds: ReadonlyArray<number>): Series => ({
  name,
  kind: "ours",
  unit: "ns",
  lacks: "",
  against: { name: "floor" },
  rounds
})

const ratioOf = (
  processes: ReadonlyArray<{ readonly floor: ReadonlyArray<number>; readonly ours: ReadonlyArray<number> }>
) => Report.rows(processes.map(({ floor, ours }) => [series("floor", floor), series("ours", ours)]), 0.1)[1]!.ratio!

describe("Report", () => {
  it("computes a ratio round by round, so that a machine that slows down half-way changes nothing", () => {
    const ratio = ratioOf([{ floor: [10, 10, 70, 70], ours: [20, 20, 140, 140] }])
    assert.strictEqual(ratio._tag, "Agreed")
    assert.deepStrictEqual(ratio.spread, { median: 2, low: 2, high: 2 })
  })

  it("refuses a ratio that differs between the two orders by more than the claim", () => {
    const ratio = ratioOf([{ floor: [10, 10, 10, 10], ours: [20, 30, 20, 30] }])
    assert.strictEqual(ratio._tag, "Refused")
    assert.deepStrictEqual(ratio.spread, { median: 2.5, low: 2, high: 3 })
  })

  it("refuses a ratio that differs between two processes by more than the claim", () => {
    const ratio = ratioOf([{ floor: [10, 10], ours: [20, 20] }, { floor: [10, 10], ours: [26, 26] }])
    assert.strictEqual(ratio._tag, "Refused")
  })

  it("prints a ratio whose repeats keep within the claim", () => {
    const ratio = ratioOf([{ floor: [100, 100], ours: [200, 210] }, { floor: [100, 100], ours: [205, 210] }])
    assert.strictEqual(ratio._tag, "Agreed")
  })

  it("divides by the row at the same point only", () => {
    const at = (point: number, rounds: ReadonlyArray<number>, against: number): Series => ({
      ...series("row", rounds),
      at: point,
      against: { name: "row", at: against }
    })
    const rows = Report.rows([[at(1, [5], 1), at(1000, [20], 1)]], 0.1)
    assert.deepStrictEqual(rows.map(({ ratio }) => ratio!.spread.median), [1, 4])
  })
})
