import { assert, describe, it } from "vitest"
import { type Manifest, published } from "../../tools/packages.ts"
import { faults } from "../../tools/packaging/manifest.ts"

const good: Manifest = {
  name: "@quiesce/core",
  type: "module",
  sideEffects: false,
  files: ["dist", "src"],
  exports: {
    ".": { "@quiesce/source": "./src/index.ts", types: "./dist/index.d.ts", default: "./dist/index.js" },
    "./package.json": "./package.json",
    "./internal/*": null,
    "./*": { "@quiesce/source": "./src/*.ts", types: "./dist/*.d.ts", default: "./dist/*.js" }
  }
}

describe("the manifest of a published package", () => {
  it("has no fault when it is the one we agreed on", () => {
    assert.deepStrictEqual(faults(good), [])
    assert.deepStrictEqual(faults({ ...good, files: ["AGENTS.md", "dist", "src"] }), [])
  })

  const bad: ReadonlyArray<readonly [string, Partial<Manifest>, string]> = [
    ["is not an ES module", { type: "commonjs" }, `"type" is not "module"`],
    ["claims side effects", { sideEffects: ["./dist/x.js"] }, `"sideEffects" is not false`],
    ["publishes no sources", { files: ["AGENTS.md", "dist"] }, `"files" is not ["dist", "src"]`],
    ["publishes its tests", { files: ["dist", "src", "test"] }, `"files" is not ["dist", "src"]`],
    [
      "leaves internals open",
      { exports: { ...good.exports as object, "./internal/*": "./dist/internal/*.js" } },
      `"exports"`
    ],
    ["gives the core a dependency", { dependencies: { zod: "4.0.0" } }, "the core has a dependency"]
  ]
  for (const [title, change, fault] of bad) {
    it(`has a fault when it ${title}`, () => {
      const found = faults({ ...good, ...change })
      assert.strictEqual(found.length, 1)
      assert.include(found[0], fault)
    })
  }

  for (const { manifest } of published()) {
    it(`has no fault in ${manifest.name}`, () => {
      assert.deepStrictEqual(faults(manifest), [])
    })
  }
})
