import { assert, beforeAll, describe, it } from "@effect/vitest"
import { execFile } from "node:child_process"
import { readdirSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { cites } from "../../../tests/conformance/cites.ts"

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url))

/**
 * What the compiler says about the files in `typetest/contract`. They hold what must compile, and behind a
 * `@ts-expect-error` what must not: it is an error where it does.
 */
const compile = (): Promise<ReadonlyArray<string>> =>
  new Promise((resolve, reject) => {
    const args = [at("../../../node_modules/typescript/bin/tsc"), "-p", ".", "--pretty", "false"]
    execFile(process.execPath, args, { cwd: at("../typetest/contract") }, (error, stdout) => {
      // It exits with a code of its own when it has something to say.
      if (error !== null && typeof error.code !== "number") return reject(error)
      resolve(stdout.split("\n").filter((line) => line !== ""))
    })
  })

const proofs: ReadonlyArray<readonly [what: string, file: string]> = [
  ["the promise face requires a signal, without an overload or a default", "promiseFace.ts"],
  ["policies, observers, wrappers, channels and bodies get readonly views", "views.ts"],
  ["a wrapper cannot drop or forge the dispatch scope, nor leave the caller's signal out", "dispatch.ts"],
  ["bodies infer their parameters and `signal`; what a tool needs and fails with shows", "bodies.ts"]
]

describe("the types", () => {
  let diagnostics: ReadonlyArray<string> = []

  // One run for all of them.
  beforeAll(async () => {
    diagnostics = await compile()
  }, 60_000)

  it.each(proofs)(cites("%s", "CALL-30"), (_, file) => {
    assert.include(readdirSync(at("../typetest/contract")), file)
    // What is said of no proof, or of another one's way to say things, leaves none of them proved.
    const others = proofs.map(([, other]) => other).filter((other) => other !== file)
    assert.deepStrictEqual(diagnostics.filter((line) => !others.some((other) => line.startsWith(`${other}(`))), [])
  })
})
