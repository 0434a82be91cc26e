import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { fileURLToPath } from "node:url"
import { collect } from "./collect.ts"

const fixture = fileURLToPath(new URL("./fixture", import.meta.url))

describe("collect", () => {
  it.live("lists the tests as they run: loops unrolled, skipped ones marked, unloadable files reported", () =>
    Effect.gen(function*() {
      const { errors, tests } = yield* collect(fixture)
      assert.deepStrictEqual(tests, [
        { file: "titles.spec.ts", title: "a group > made in a loop, 1 [CALL-01]", runs: true },
        { file: "titles.spec.ts", title: "a group > made in a loop, 2 [CALL-01]", runs: true },
        { file: "titles.spec.ts", title: "a skipped group > inside [CALL-03]", runs: false },
        { file: "titles.spec.ts", title: "skipped [CALL-02]", runs: false },
        { file: "titles.spec.ts", title: "announced [CALL-02]", runs: false }
      ])
      assert.deepStrictEqual(errors, ["unloadable.spec.ts: this file cannot be loaded"])
    }))

  it.live("says why when the collecting process dies", () =>
    Effect.gen(function*() {
      const died = yield* Effect.flip(collect(`${fixture}/unconfigurable`))
      assert.match(died.message, /this repository cannot be configured/)
    }))
})
