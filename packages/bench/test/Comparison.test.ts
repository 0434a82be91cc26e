import { assert, describe, it } from "@effect/vitest"
import * as Comparison from "../src/Comparison.ts"
import type { Table } from "../src/Report.ts"

const table = (name: string): Table => ({
  _tag: "Facts",
  name,
  title: `Title of ${name}`,
  about: "",
  columns: ["late success"],
  rows: [{ name: "Quiesce", kind: "ours", cells: ["refused"] }, {
    name: "a peer",
    kind: "peer",
    cells: ["handed | out"]
  }]
})

describe("Comparison", () => {
  it("shows the tables about peers and no other, our rows marked", () => {
    const page = Comparison.page({ environment: "", tables: [table("import"), table("semantics")] })
    assert.notInclude(page, "Title of import")
    assert.include(page, "## Title of semantics")
    assert.include(page, "| **Quiesce** | refused       |")
    assert.include(page, "| a peer      | handed \\| out |")
  })
})
