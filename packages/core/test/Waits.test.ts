import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { cites } from "../../../tests/conformance/cites.ts"
import * as Child from "./support/child.ts"

/** How many fibers are kept after each wait: collecting garbage needs a flag, and so a process of its own. */
class Kept extends Context.Service<Kept, Readonly<Record<string, number>>>()("@quiesce/core/test/Waits/Kept") {
  static readonly layer = Layer.effect(Kept, Child.run<Readonly<Record<string, number>>>("waits.ts", "--expose-gc"))
}

layer(Kept.layer, { excludeTestServices: true, timeout: "30 seconds" })("a call that goes on", (it) => {
  for (const wait of ["for its result", "for its admission", "for all to be over"]) {
    it.effect(
      cites(`keeps nobody whose wait was interrupted: ${wait}`, "CALL-27", "CALL-28"),
      () =>
        Effect.gen(function*() {
          const kept = yield* Kept
          assert.strictEqual(kept[wait], 0)
        })
    )
  }
})
