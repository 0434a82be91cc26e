import { assert, describe, it } from "vitest"
import { faults } from "../../tools/packaging/files.ts"

const pkg = { directory: "", manifest: { name: "@quiesce/sample" }, modules: ["index", "internal/hub"] }

const fit = [
  "AGENTS.md",
  "LICENSE",
  "README.md",
  "dist/index.d.ts",
  "dist/index.d.ts.map",
  "dist/index.js",
  "dist/index.js.map",
  "dist/internal/hub.d.ts",
  "dist/internal/hub.d.ts.map",
  "dist/internal/hub.js",
  "dist/internal/hub.js.map",
  "package.json",
  "src/index.ts",
  "src/internal/hub.ts"
]

describe("a tarball", () => {
  it("holds each source, its four outputs and the pages, and has no fault then", () => {
    assert.deepStrictEqual(faults(pkg, fit), [])
    assert.deepStrictEqual(faults(pkg, [...fit, "CHANGELOG.md"]), [])
  })

  for (
    const missing of [
      "LICENSE",
      "AGENTS.md",
      "src/index.ts",
      "dist/index.js",
      "dist/index.d.ts",
      "dist/internal/hub.js.map"
    ]
  ) {
    it(`has a fault without ${missing}`, () => {
      assert.deepStrictEqual(faults(pkg, fit.filter((file) => file !== missing)), [
        `${missing} is missing from the tarball`
      ])
    })
  }

  for (
    const extra of [
      "test/index.test.ts",
      "src/index.test.ts",
      "dist/gone.js",
      "dist/tsconfig.tsbuildinfo",
      "tsconfig.tsbuildinfo",
      "tsconfig.json",
      ".env"
    ]
  ) {
    it(`has a fault with ${extra}`, () => {
      assert.deepStrictEqual(faults(pkg, [...fit, extra]), [`${extra} does not belong in the tarball`])
    })
  }
})
