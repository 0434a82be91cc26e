import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { afterEach, assert, beforeEach, describe, it } from "vitest"
import { isImage, published, read } from "../../tools/packages.ts"

describe("a package", () => {
  let directory = ""
  const write = (...files: ReadonlyArray<string>): void => {
    for (const file of files) {
      mkdirSync(dirname(join(directory, file)), { recursive: true })
      writeFileSync(join(directory, file), file === "package.json" ? `{ "name": "sample" }` : "")
    }
  }

  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), "quiesce-package-"))
    write("package.json", "src/index.ts", "src/internal/hub.ts")
    for (const module of ["index", "internal/hub"]) {
      write(...[".js", ".js.map", ".d.ts", ".d.ts.map"].map((suffix) => `dist/${module}${suffix}`))
    }
  })
  afterEach(() => rmSync(directory, { recursive: true, force: true }))

  it("has the modules of its src, by name", () => {
    assert.deepStrictEqual(read(directory).modules, ["index", "internal/hub"])
  })

  it("is built when dist is the image of src", () => {
    assert.isTrue(isImage(read(directory)))
  })

  it("is not built when an output was deleted", () => {
    rmSync(join(directory, "dist/internal/hub.js"))
    assert.isFalse(isImage(read(directory)))
  })

  it("is not built when a module was deleted and its outputs were not", () => {
    rmSync(join(directory, "src/internal/hub.ts"))
    assert.isFalse(isImage(read(directory)))
  })

  it("is not built when there is no dist", () => {
    rmSync(join(directory, "dist"), { recursive: true })
    assert.isFalse(isImage(read(directory)))
  })

  it("is published unless it is private", () => {
    const names = published().map(({ manifest }) => manifest.name)
    assert.include(names, "@quiesce/core")
    assert.notInclude(names, "@quiesce/bench")
  })
})
