import { assert, describe, it } from "@effect/vitest"
import { Observer, ToolRegistry, type ToolResult, Wrapper } from "@quiesce/core"
import { Script } from "@quiesce/testing"
import { Deferred, Effect, Layer } from "effect"
import { cites } from "../../../tests/conformance/cites.ts"

const { abort, advance, approve, close, complete, deny, fail, start } = Script

/** A registry that answers a cancelled call at once, and lets its body run on. */
const abandoning: Script.Subject = (tools, services) =>
  Layer.effect(
    ToolRegistry.ToolRegistry,
    Effect.map(ToolRegistry.ToolRegistry, (registry) => ({
      ...registry,
      start: (input) =>
        Effect.gen(function*() {
          const call = yield* registry.start(input)
          const cancelled = yield* Deferred.make<ToolResult.ToolResult>()
          const early = { _tag: "Failure", dispatched: true, error: { code: "ABORTED" } } as ToolResult.ToolResult
          return {
            ...call,
            cancel: (reason) => Effect.andThen(Deferred.succeed(cancelled, early), call.cancel(reason)),
            result: Effect.raceFirst(Deferred.await(cancelled), call.result)
          }
        })
    } satisfies ToolRegistry.Shape))
  ).pipe(Layer.provide(Script.core(tools, services)))

/** A registry that takes a late success for a success. */
const forgetful: Script.Subject = (tools, services) => {
  const swallowing: Wrapper.Wrapper = (next) => Effect.catchCause(next, () => Effect.succeed("recovered"))
  return Script.core(tools, Layer.merge(services, Wrapper.layer([swallowing])))
}

/** A registry that tells nobody. */
const mute: Script.Subject = (tools, services) => Script.core(tools, Layer.merge(services, Observer.layer()))

describe("Script", () => {
  for (
    const script of [
      [start(0), complete(0)],
      [start(0), fail(0)],
      [start(0), abort(0), complete(0)],
      [start(0), abort(0), fail(0)],
      [start(0, { face: "promise" }), abort(0), abort(0), complete(0), complete(0)],
      [start(0, { asks: true }), approve(0), complete(0)],
      [start(0, { asks: true }), deny(0), approve(0)],
      [start(0, { asks: true }), abort(0), approve(0)],
      [start(0, { budgeted: true }), advance(99), complete(0)],
      [start(0, { budgeted: true }), advance(100), complete(0)],
      [start(0, { budgeted: true }), advance(100), abort(0), fail(0)],
      [start(0, { budgeted: true }), abort(0), advance(100), complete(0)],
      [start(0, { asks: true, budgeted: true }), advance(100), approve(0), advance(99), complete(0)],
      [start(0), start(1, { asks: true }), start(2, { face: "promise" }), close, start(3), complete(0), fail(2)]
    ] satisfies ReadonlyArray<Script.Script>
  ) {
    it.effect(cites(`the model holds: ${Script.format(script)}`, "KIT-05"), () => Script.check(Script.core, script))
  }

  it.live(
    cites("law: whatever the script, the registry shows what the model says", "KIT-05"),
    () => Script.property(Script.core, { runs: 150, seed: "core" })
  )

  for (
    const [name, subject, problem] of [
      ["a registry that abandons", abandoning, "body running true"],
      ["a registry that swallows cancellations", forgetful, "settled as Success"],
      ["a registry that publishes nothing", mute, "published 0"]
    ] as const
  ) {
    it.live(
      cites(`${name} is found, with a small script, which replays by its seed`, "KIT-05"),
      () =>
        Effect.gen(function*() {
          const failure = yield* Effect.flip(Script.property(subject, { runs: 200, seed: "planted" }))
          assert.include(failure.problem, problem)
          assert.isAtMost(failure.script.length, 3, failure.message)
          assert.include(failure.message, Script.format(failure.script))

          const again = yield* Effect.flip(Script.property(subject, { replay: failure.replay }))
          assert.deepStrictEqual(again.script, failure.script)
          const alone = yield* Effect.flip(Script.check(subject, failure.script))
          assert.strictEqual(alone.problem, failure.problem)
          yield* Script.check(Script.core, failure.script)
        })
    )
  }

  it.effect(
    cites("commands out of place change nothing", "KIT-05"),
    () =>
      Script.check(Script.core, [
        complete(0),
        abort(1),
        approve(2),
        start(0),
        start(0),
        deny(0),
        complete(0),
        complete(0)
      ])
  )
})
