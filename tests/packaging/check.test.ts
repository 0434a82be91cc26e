import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { afterEach, assert, describe, it } from "vitest"
import { read } from "../../tools/packages.ts"
import { check } from "../../tools/packaging/check.ts"

const manifest = {
  name: "@quiesce/sample",
  version: "0.0.0",
  license: "MIT",
  type: "module",
  sideEffects: false,
  files: ["AGENTS.md", "dist", "src"],
  exports: {
    ".": { "@quiesce/source": "./src/index.ts", types: "./dist/index.d.ts", default: "./dist/index.js" },
    "./package.json": "./package.json",
    "./internal/*": null,
    "./*": { "@quiesce/source": "./src/*.ts", types: "./dist/*.d.ts", default: "./dist/*.js" }
  },
  peerDependencies: { effect: "^4.1.0" }
}

/** The build of one module, as `tsc` leaves it: declarations with `.ts` in their imports, a map beside each. */
const built = (name: string, js: string, types: string): Record<string, string> => ({
  [`src/${name}.ts`]: js,
  [`dist/${name}.js`]: js,
  [`dist/${name}.js.map`]: "{}",
  [`dist/${name}.d.ts`]: types,
  [`dist/${name}.d.ts.map`]: "{}"
})

const pages = { "AGENTS.md": "# Sample\n", LICENSE: "MIT\n", "README.md": "# Sample\n" }

const files: Readonly<Record<string, string>> = {
  ...pages,
  "package.json": JSON.stringify(manifest),
  ...built("index", `export * as Sample from "./Sample.js"\n`, `export * as Sample from "./Sample.ts"\n`),
  ...built(
    "Sample",
    `import * as Effect from "effect/Effect"\nimport { one } from "./internal/one.js"\nexport const sample = Effect.succeed(one)\n`,
    `import type * as Effect from "effect/Effect"\nimport type { One } from "./internal/one.ts"\nexport declare const sample: Effect.Effect<One>\n`
  ),
  ...built("internal/one", `export const one = 1\n`, `export type One = 1\nexport declare const one: One\n`)
}

const directories: Array<string> = []
afterEach(() => {
  for (const directory of directories.splice(0)) rmSync(directory, { recursive: true, force: true })
})

/** A package whose types need those of Node, and which says so; it uses the other one. */
const filesForNode: Readonly<Record<string, string>> = {
  ...pages,
  "package.json": JSON.stringify({
    ...manifest,
    name: "@quiesce/sample-node",
    peerDependencies: { "@quiesce/sample": "0.0.0", "@types/node": "*", effect: "^4.1.0" }
  }),
  ...built(
    "index",
    `export { sample } from "@quiesce/sample/Sample"\nexport const environment = process.env\n`,
    `export { sample } from "@quiesce/sample/Sample"\nexport declare const environment: NodeJS.ProcessEnv\n`
  )
}

/** The faults of packages given by their files; `null`: the file is not there. */
const faultsOf = (
  ...packages: ReadonlyArray<Readonly<Record<string, string | null>>>
): Promise<ReadonlyArray<string>> => {
  const directory = mkdtempSync(join(tmpdir(), "quiesce-packaging-"))
  directories.push(directory)
  for (const [index, contents] of packages.entries()) {
    for (const [file, content] of Object.entries(contents)) {
      if (content === null) continue
      mkdirSync(dirname(join(directory, `${index}`, file)), { recursive: true })
      writeFileSync(join(directory, `${index}`, file), content)
    }
  }
  mkdirSync(join(directory, "work"))
  return check(join(directory, "work"), packages.map((_, index) => read(join(directory, `${index}`))))
}

// Each run packs, lints, installs, imports and type-checks for real; so one package has every fault at once.
describe("the packaging checks", { timeout: 120_000 }, () => {
  it("find no fault in packages that are fit", async () => {
    assert.deepStrictEqual(await faultsOf(files, filesForNode), [])
  })

  it("find every fault of one that is not", async () => {
    const open = { ...manifest.exports, "./internal/*": "./dist/internal/*.js" }
    const found = await faultsOf({
      ...files,
      "package.json": JSON.stringify({ ...manifest, exports: open }),
      // A test, a leftover of a module that is gone, the build info; and outputs that were not built.
      "src/Sample.test.js": "",
      "dist/Gone.js": "export {}\n",
      "dist/tsconfig.tsbuildinfo": "{}",
      "dist/internal/one.js.map": null,
      "dist/index.d.ts": null,
      // A module that does not load, and declarations that refer to nothing.
      ...built("Broken", `import "./nothing.js"\n`, `export declare const broken: import("./Lost.ts").Lost\n`),
      // Types of Node in a package that does not say that it needs them.
      ...built("Env", `export const env = process.env\n`, `export declare const env: NodeJS.ProcessEnv\n`)
    })
    for (
      const fault of [
        `"exports" is not the export map of this repository`,
        "src/Sample.test.js does not belong in the tarball",
        "dist/Gone.js does not belong in the tarball",
        "dist/tsconfig.tsbuildinfo does not belong in the tarball",
        "dist/internal/one.js.map is missing from the tarball",
        "@quiesce/sample/internal/one can be imported, and it is internal",
        "@quiesce/sample/Broken cannot be imported",
        "@quiesce/sample: publint found faults",
        "@quiesce/sample: attw found faults",
        "the types fail for a consumer under nodenext",
        "the types fail for a consumer under bundler without @types/node",
        "Cannot find namespace 'NodeJS'",
        "Cannot find module './Lost.ts'"
      ]
    ) assert.include(found.join("\n"), fault)
    assert.notInclude(found.join("\n"), "@quiesce/sample/Sample cannot be imported")
  })
})
