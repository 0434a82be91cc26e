import { assert, describe, it } from "@effect/vitest"
import { Edge, Explore, Strategy } from "@quiesce/testing"
import { Deferred, Effect, Fiber, Scheduler } from "effect"
import { cites } from "../../../tests/conformance/cites.ts"

/** More runs than anybody waits for. */
const endless = Strategy.random({ seed: 1, runs: Number.MAX_SAFE_INTEGER })

describe("Explore: a long exploration", () => {
  it.live(cites("tells how it is getting on, and ends when it is interrupted", "KIT-01"), () =>
    Effect.gen(function*() {
      const listeners = process.rawListeners("uncaughtException")
      const told = yield* Deferred.make<Explore.Progress>()
      const program = Effect.andThen(Edge.promise("settle", () => {}), Edge.wait("go"))
      const exploring = yield* Effect.forkChild(Explore.run(program, {
        strategy: endless,
        onProgress: (progress) => void Deferred.doneUnsafe(told, Effect.succeed(progress))
      }))
      const { explored, failing, millis } = yield* Deferred.await(told)
      assert.isAbove(explored, 0)
      assert.strictEqual(failing, 0)
      assert.isAtLeast(millis, 1_000)

      yield* Fiber.interrupt(exploring)
      // It has let go of the process, and the next one has its turn.
      assert.deepStrictEqual(process.rawListeners("uncaughtException"), listeners)
      const next = yield* Explore.run(Edge.choose("value", [1, 2]))
      assert.strictEqual(next.explored, 2)
    }))

  it.live(cites("leaves the event loop its turns", "KIT-01"), () =>
    Effect.gen(function*() {
      const exploring = yield* Effect.forkChild(Explore.run(Effect.yieldNow, { strategy: endless }))
      // Tasks of other fibers run in turns of the event loop, which a search that never let go would not leave.
      yield* Effect.forEach([1, 2, 3], () => Effect.yieldNow)
      yield* Fiber.interrupt(exploring)
    }))

  it.effect(cites("a fiber that refuses to yield is not preempted", "KIT-01"), () =>
    Effect.gen(function*() {
      let x = 0
      const increment = Effect.flatMap(Effect.sync(() => x), (seen) =>
        Effect.sync(() => {
          x = seen + 1
        }))
      const both = Effect.suspend(() => {
        x = 0
        return Effect.map(Effect.all([increment, increment], { concurrency: "unbounded" }), () => x)
      })
      const outcomes = (program: Effect.Effect<number>) =>
        Effect.map(Explore.run(program), (report) => report.outcomes.map(({ outcome }) => outcome).toSorted())
      assert.deepStrictEqual(yield* outcomes(both), ["1", "2"])
      assert.deepStrictEqual(
        yield* outcomes(Effect.provideService(both, Scheduler.PreventSchedulerYield, true)),
        ["2"]
      )
    }))

  it.effect(
    cites("an endless loop of operations is given up at the bound on steps", "KIT-01"),
    () =>
      Effect.gen(function*() {
        const report = yield* Explore.run(Effect.forever(Effect.void), { preemptions: 0, steps: 5 })
        assert.deepStrictEqual(report.coverage, { _tag: "Exhaustive", reached: ["steps"] })
        assert.strictEqual(report.explored, 1)
      })
  )
})
