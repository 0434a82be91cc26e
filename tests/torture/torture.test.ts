import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { cites } from "../conformance/cites.ts"
import * as Torture from "./torture.ts"

// As many as fit into some seconds; `npm run torture` runs two thousand. The census reads `/proc`.
it.live.runIf(process.platform === "linux")(
  cites("sixty cancels at random instants leave nobody behind", "NODE-01", "NODE-02", "NODE-03", "NODE-04"),
  () =>
    Effect.gen(function*() {
      const report = yield* Torture.run({ cancels: 60, concurrency: 4, seed: "quiesce", onProgress: () => {} })
      assert.deepStrictEqual(report.left, [])
      assert.strictEqual(report.residues, 0)
    }),
  60_000
)
