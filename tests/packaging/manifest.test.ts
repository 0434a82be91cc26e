import { readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "vitest"
import { type Manifest, published } from "../../tools/packages.ts"
import { faults } from "../../tools/packaging/manifest.ts"
import { root } from "../../tools/run.ts"

const good: Manifest = {
  name: "@quiesce/core",
  type: "module",
  sideEffects: false,
  files: ["AGENTS.md", "dist", "src"],
  exports: {
    ".": { "@quiesce/source": "./src/index.ts", types: "./dist/index.d.ts", default: "./dist/index.js" },
    "./package.json": "./package.json",
    "./internal/*": null,
    "./*": { "@quiesce/source": "./src/*.ts", types: "./dist/*.d.ts", default: "./dist/*.js" }
  }
}

const licenseIn = (directory: string): string => readFileSync(join(directory, "LICENSE"), "utf8")

describe("the manifest of a published package", () => {
  it("has no fault when it is the one we agreed on", () => {
    assert.deepStrictEqual(faults(good), [])
  })

  const bad: ReadonlyArray<readonly [string, Partial<Manifest>, string]> = [
    ["is not an ES module", { type: "commonjs" }, `"type" is not "module"`],
    ["claims side effects", { sideEffects: ["./dist/x.js"] }, `"sideEffects" is not false`],
    [
      "publishes no page for coding assistants",
      { files: ["dist", "src"] },
      `"files" is not ["AGENTS.md","dist","src"]`
    ],
    ["publishes its tests", { files: ["AGENTS.md", "dist", "src", "test"] }, `"files" is not`],
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

  for (const { directory, manifest } of published()) {
    it(`has no fault in ${manifest.name}, which has the license of the repository beside it`, () => {
      assert.deepStrictEqual(faults(manifest), [])
      assert.strictEqual(licenseIn(directory), licenseIn(root))
    })
  }
})
