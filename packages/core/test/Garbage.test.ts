import { assert, it, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { cites } from "../../../tests/conformance/cites.ts"
import type { Report } from "./fixtures/garbage.ts"
import * as Child from "./support/child.ts"

/** What the fixture found: collecting garbage needs a flag, and so a process of its own. */
class Found extends Context.Service<Found, Report>()("@quiesce/core/test/Garbage/Found") {
  static readonly layer = Layer.effect(Found, Child.run<Report>("garbage.ts", "--expose-gc"))
}

layer(Found.layer, { excludeTestServices: true, timeout: "30 seconds" })("once everything else is garbage", (it) => {
  for (
    const way of [
      "fuse",
      "runPromise and promise",
      "the signal of a call",
      "a wrapper's derived signal",
      "the signal of an idle deadline"
    ]
  ) {
    it.effect(
      cites(`a derived signal aborts with its source, for the same reason: ${way}`, "BRIDGE-08"),
      () =>
        Effect.gen(function*() {
          const { derived } = yield* Found
          assert.deepStrictEqual(derived[way], { aborted: true, sameReason: true, told: 1 })
        })
    )
  }

  for (const work of ["a call", "a call that fails", "runPromise", "fuse", "a call on an aborted signal"]) {
    it.effect(
      cites(`a signal that lives on keeps nothing of what is over: ${work}`, "BRIDGE-08", "CALL-16"),
      () =>
        Effect.gen(function*() {
          const { left } = yield* Found
          assert.deepStrictEqual(left[work], { alive: 0, listeners: 0 })
        })
    )
  }

  it.effect(
    cites("there never were more listeners than the platform finds plausible", "CALL-16"),
    () =>
      Effect.gen(function*() {
        const { warnings } = yield* Found
        assert.deepStrictEqual(warnings, [])
      })
  )
})

it.live(
  cites("no timer outlives its work: the process is free to exit at once", "TIME-08"),
  () =>
    Effect.gen(function*() {
      // A timer of a minute would keep the child from exiting for longer than this test may take.
      const timers = yield* Child.run<Record<string, number>>("exit.ts")
      assert.isAtLeast(Object.keys(timers).length, 11)
      for (const [work, left] of Object.entries(timers)) assert.strictEqual(left, 0, work)
    })
)
