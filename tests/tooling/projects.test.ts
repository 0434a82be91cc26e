import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join, relative } from "node:path"
import { assert, describe, it } from "vitest"
import { published } from "../../tools/packages.ts"
import { root } from "../../tools/run.ts"

const references = (file: string): ReadonlyArray<string> =>
  [...readFileSync(join(root, file), "utf8").matchAll(/"path": "([^"]+)"/g)].map(([, path = ""]) => path).sort()

const isProject = (directory: string): boolean => existsSync(join(root, directory, "tsconfig.json"))

// `tsc -b` checks what is referenced, and is silent about the rest.
describe("the projects of the build", () => {
  it("are all there are: packages, their tests, and what stands beside them", () => {
    const packages = readdirSync(join(root, "packages")).map((name) => `packages/${name}`)
    const projects = [...packages, ...packages.map((name) => `${name}/test`), "examples", "tests", "tools"]
    assert.deepStrictEqual(references("tsconfig.json"), projects.filter(isProject).sort())
  })

  it("build every published package", () => {
    const directories = published().map(({ directory }) => relative(root, directory).replaceAll("\\", "/"))
    assert.deepStrictEqual(references("tsconfig.build.json"), directories.sort())
  })
})
