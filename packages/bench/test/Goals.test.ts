import { assert, describe, it } from "@effect/vitest"
import * as Goals from "../src/Goals.ts"
import type { Report, Row } from "../src/Report.ts"

const report = (row: Row): Report => ({
  environment: "",
  tables: [{ _tag: "Figures", name: "t", title: "", about: "", claim: 0.1, rows: [row] }]
})

const row = { name: "r", kind: "ours", lacks: "" } as const

const timed = (median: number, _tag: "Agreed" | "Refused"): Report => {
  const spread = { low: median, median, high: median }
  return report({ ...row, unit: "ns", value: spread, ratio: { _tag, against: { name: "f" }, spread } })
}

const about = { what: "", table: "t", row: { name: "r" } }
const atMost = Goals.ratioAtMost({ ...about, bound: 2, of: "f" })
const atLeast = Goals.ratioAtLeast({ ...about, bound: 2, of: "f" })

describe("Goals", () => {
  it("are met by a ratio within the bound, the bound included", () => {
    assert.deepStrictEqual([1.9, 2, 2.1].map((ratio) => atMost.judge(timed(ratio, "Agreed")).met), [true, true, false])
    assert.deepStrictEqual([1.9, 2, 2.1].map((ratio) => atLeast.judge(timed(ratio, "Agreed")).met), [false, true, true])
  })

  it("are not met by a ratio that was refused", () => {
    assert.isFalse(atMost.judge(timed(1, "Refused")).met)
  })

  it("are not met by a row that is missing", () => {
    const other = Goals.ratioAtMost({ ...about, row: { name: "s" }, bound: 2, of: "f" })
    assert.deepStrictEqual(other.judge(timed(1, "Agreed")), { measured: "not measured", met: false })
  })

  it("judge a figure by its worst repeat", () => {
    const bytes = Goals.valueAtMost({ ...about, bound: 100, unit: "bytes" })
    const of = (high: number) => report({ ...row, unit: "bytes", value: { low: 1, median: 2, high } })
    assert.isTrue(bytes.judge(of(100)).met)
    assert.isFalse(bytes.judge(of(101)).met)
  })

  it("end in a line that says how many are met", () => {
    const verdict = { what: "", goal: "", measured: "" }
    assert.strictEqual(
      Goals.summary([{ ...verdict, met: true }, { ...verdict, met: false }, { ...verdict, met: true }]),
      "goals met: 2 of 3"
    )
  })

  it("are all unmet by an empty report", () => {
    const verdicts = Goals.judge({ environment: "", tables: [] })
    assert.isAbove(verdicts.length, 0)
    assert.isTrue(verdicts.every(({ met }) => !met))
  })
})
