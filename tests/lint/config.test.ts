import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { root, run } from "../../tools/run.ts"

/** Faulty files, each beside the rules that the linter must name, in the order of their names. */
const faulty: Readonly<Record<string, readonly [code: string, rules: ReadonlyArray<string>]>> = {
  "packages/core/src/Forbidden.ts": [
    `export const a = AbortSignal.any([])\nsetTimeout(() => a, 1)\nexport const b = 1 as any\n`,
    ["quiesce(clock-timers)", "quiesce(no-abandoning)", "quiesce(no-as-any)"]
  ],
  "packages/core/src/Imports.ts": [
    `import { join } from "node:path"\nimport * as E from "effect/Effect"\nexport const a = [join, E.withExecutionPlan]\n`,
    ["quiesce(core-imports)", "quiesce(stable-effect)"]
  ],
  "packages/core/src/CycleA.ts": [`import { b } from "./CycleB.ts"\nexport const a = () => b\n`, ["import(no-cycle)"]],
  "packages/core/src/CycleB.ts": [`import { a } from "./CycleA.ts"\nexport const b = () => a\n`, ["import(no-cycle)"]],
  "packages/core/src/Floating.ts": [
    `const f = async () => 1\nexport const g = () => {\n  f()\n}\n`,
    ["typescript(no-floating-promises)"]
  ],
  "packages/core/src/Unused.ts": [`// oxlint-disable-next-line no-var\nexport const a = 1\n`, ["unused directive"]],
  "packages/acp/src/Imports.ts": [
    `import { Effect as E } from "effect"\nimport "@quiesce/core/internal/hub"\nexport const a = E.promise\n`,
    ["quiesce(no-abandoning)", "quiesce(no-barrel)", "quiesce(package-boundary)"]
  ],
  "packages/acp/test/A.test.ts": [
    `import { it } from "@effect/vitest"\nimport { Effect } from "effect"\n` +
    `it.effect.only("a", () => Effect.void)\nit.live("b", () => Effect.sleep(1))\nsetTimeout(() => {}, 1)\n`,
    ["quiesce(no-live-sleep)", "quiesce(no-only)", "quiesce(no-sleep)"]
  ],
  "tests/a.test.ts": [`import { it } from "vitest"\nit.only("a", () => {})\n`, ["quiesce(no-only)"]],
  // What is forbidden in published sources only.
  "packages/bench/src/floor.ts": [`export const a = Promise.race([Promise.resolve(1), Promise.resolve(2)])\n`, []],
  "packages/acp/src/Timer.ts": [`setTimeout(() => {}, 1)\n`, []],
  "examples/story/main.ts": [`import { Effect } from "effect"\nexport const a = Effect.promise(async () => 1)\n`, []]
}

interface Diagnostic {
  readonly filename: string
  readonly code?: string
  readonly message: string
}

describe(".oxlintrc.json", () => {
  const directory = mkdtempSync(join(tmpdir(), "quiesce-lint-"))
  let diagnostics: ReadonlyArray<Diagnostic> = []

  beforeAll(async () => {
    cpSync(join(root, ".oxlintrc.json"), join(directory, ".oxlintrc.json"))
    for (const name of ["tools", "node_modules"]) symlinkSync(join(root, name), join(directory, name), "dir")
    writeFileSync(join(directory, "package.json"), `{ "type": "module" }`)
    writeFileSync(
      join(directory, "tsconfig.json"),
      `{ "compilerOptions": { "module": "nodenext", "target": "es2024", "strict": true, "allowImportingTsExtensions": true, "noEmit": true } }`
    )
    for (const [file, [code]] of Object.entries(faulty)) {
      mkdirSync(dirname(join(directory, file)), { recursive: true })
      writeFileSync(join(directory, file), code)
    }
    const { stdout } = await run("oxlint", ["--format=json", "packages", "tests", "examples"], {
      cwd: directory,
      output: "capture"
    })
    diagnostics = (JSON.parse(stdout) as { readonly diagnostics: ReadonlyArray<Diagnostic> }).diagnostics
  })

  afterAll(() => rmSync(directory, { recursive: true, force: true }))

  for (const [file, [, rules]] of Object.entries(faulty)) {
    it(`finds ${rules.length === 0 ? "nothing" : rules.join(", ")} in ${file}`, () => {
      const found = diagnostics.filter(({ filename }) => filename === file).map(({ code, message }) =>
        code ?? (/^Unused .* directive/.test(message) ? "unused directive" : message)
      )
      assert.deepStrictEqual([...new Set(found)].sort(), [...rules])
    })
  }
})
