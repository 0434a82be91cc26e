import { assert, describe, it } from "@effect/vitest"
import { Edge, Explore, Interleaving, Report, Strategy } from "@quiesce/testing"
import { Effect, Fiber } from "effect"
import { spawnSync } from "node:child_process"
import { fileURLToPath } from "node:url"
import { cites } from "../../../tests/conformance/cites.ts"
import { lostUpdate } from "./fixtures/lostUpdate.ts"

/** The first failure of an exploration that is expected to find one. */
const failureOf = <A, E>(program: Explore.Program<A, E>, options?: Explore.Options) =>
  Effect.map(Explore.run(program, options), (report) => {
    assert.strictEqual(report.verdict, "failed", Report.format(report))
    return report.failures[0]!
  })

describe("Explore: failures", () => {
  it.effect(
    cites("tells a failing interleaving in words and as the string that replays it", "KIT-02"),
    () =>
      Effect.gen(function*() {
        const failure = yield* failureOf(lostUpdate)
        assert.strictEqual(failure.message, "Error: lost update: x = 1")
        assert.deepStrictEqual(failure.minimal.words, ["f0 (f0.0 preempted)", "f0.0"])
        const again = yield* Explore.replay(lostUpdate, failure.minimal.replay)
        assert.deepStrictEqual(again, {
          result: { _tag: "Failed", message: failure.message },
          interleaving: failure.minimal,
          escapes: []
        })
      })
  )

  it.effect(
    cites("counts the failing interleavings when it is not to stop at the first", "KIT-02"),
    () =>
      Effect.gen(function*() {
        const first = yield* Explore.run(lostUpdate)
        assert.deepStrictEqual(first.coverage, { _tag: "Partial", endedBy: "failure", complete: 0 })
        assert.strictEqual(first.failing, 1)

        const all = yield* Explore.run(lostUpdate, { failures: "all", preemptions: 2 })
        assert.deepStrictEqual(all.coverage, { _tag: "Exhaustive", reached: ["preemptions"] })
        assert.isAbove(all.failing, 1)
        assert.strictEqual(all.failures.reduce((sum, failure) => sum + failure.count, 0), all.failing)
        assert.strictEqual(
          all.failing + all.outcomes.reduce((sum, outcome) => sum + outcome.count, 0),
          all.explored
        )
      })
  )

  it.effect(cites("shrinks away the steps that do not matter", "KIT-02"), () =>
    Effect.gen(function*() {
      const bystander = Effect.andThen(Effect.yieldNow, Effect.yieldNow)
      const crowded = Effect.all([bystander, lostUpdate, Edge.wait("elsewhere")], { concurrency: "unbounded" })
      const failure = yield* failureOf(crowded, { strategy: Strategy.random({ seed: 3, runs: 1_000 }), preemptions: 3 })
      assert.isAbove(failure.found.replay.length, failure.minimal.replay.length)
      assert.strictEqual(failure.minimal.preemptions, 1)
      assert.isBelow(failure.minimal.replay.length, 14)
      const again = yield* Explore.replay(crowded, failure.minimal.replay)
      assert.deepStrictEqual(again.result, { _tag: "Failed", message: failure.message })
    }))

  it.effect(
    cites("a replay string from another process reproduces the failure in this one, and back", "KIT-02"),
    () =>
      Effect.gen(function*() {
        const elsewhere = (...args: ReadonlyArray<string>) => {
          const script = fileURLToPath(new URL("fixtures/replayElsewhere.ts", import.meta.url))
          const child = spawnSync(process.execPath, ["--conditions=@quiesce/source", script, ...args], {
            encoding: "utf8"
          })
          assert.strictEqual(child.status, 0, child.stderr)
          return JSON.parse(child.stdout) as Explore.Replayed
        }
        const found = elsewhere()
        assert.strictEqual(found.result._tag, "Failed")
        const here = yield* Explore.replay(lostUpdate, found.interleaving.replay)
        assert.deepStrictEqual(here, found)
        assert.deepStrictEqual(elsewhere(here.interleaving.replay), found)
      })
  )

  it.effect(
    cites("a replay of a program that has changed says so instead of passing", "KIT-02", "KIT-03"),
    () =>
      Effect.gen(function*() {
        const failure = yield* failureOf(lostUpdate)
        const changed = Effect.andThen(Effect.yieldNow, Effect.andThen(Effect.forkChild(Effect.yieldNow), lostUpdate))
        const again = yield* Explore.replay(changed, failure.minimal.replay)
        assert.strictEqual(again.result._tag, "Diverged")

        const smaller = yield* Explore.replay(Effect.void, failure.minimal.replay)
        assert.strictEqual(smaller.result._tag, "Diverged")
      })
  )

  it.effect(cites("refuses a string that is no replay", "KIT-02"), () =>
    Effect.gen(function*() {
      for (const replay of ["", "p1t3", "p1:0!aaaa", "x1t3:0!aaaa", "p1t3:0?!aaaa", "p1t3:0!AAAA", "p1t3:_a!aaaa"]) {
        const error = yield* Effect.flip(Explore.replay(Effect.void, replay))
        assert.strictEqual(error._tag, "MalformedReplay")
        assert.include(error.message, replay)
      }
    }))

  it.effect(
    cites("a program that can never end is a failure with its interleaving", "KIT-01"),
    () =>
      Effect.gen(function*() {
        // The wake-up is lost when it comes before the sleeper has registered.
        const program = Effect.gen(function*() {
          let wake: (() => void) | undefined
          const waker = Effect.sync(() => wake?.())
          const sleeper = Effect.andThen(
            Effect.yieldNow,
            Effect.callback<void>((resume) => {
              wake = () => resume(Effect.void)
            })
          )
          yield* Effect.all([sleeper, Effect.andThen(Effect.yieldNow, waker)], { concurrency: "unbounded" })
        })
        const failure = yield* failureOf(program, { preemptions: 0 })
        assert.include(failure.message, "hung")
        assert.deepStrictEqual(failure.minimal.words, ["f0", "f0.1", "f0.0"])
      })
  )

  it.effect(
    cites("statements are checked after every step and at quiescence", "KIT-01", "KIT-02"),
    () =>
      Effect.gen(function*() {
        let balance = 0
        const always = Effect.gen(function*() {
          balance = 0
          yield* Edge.always("never negative", () => balance >= 0)
          yield* Edge.action("deposit", () => balance++)
          yield* Edge.action("withdraw", () => balance--)
        })
        const negative = yield* failureOf(always)
        assert.strictEqual(negative.message, "does not hold: never negative")
        assert.deepStrictEqual(negative.minimal.words, ["f0", "withdraw", "deposit"])

        const leak = Effect.gen(function*() {
          const caller = yield* Edge.controller("ABORT")
          caller.signal.addEventListener("abort", () => {})
          yield* Edge.atQuiescence("no listener is left", () => assert.strictEqual(caller.listeners(), 0))
        })
        const leaked = yield* failureOf(leak)
        assert.include(leaked.message, "does not hold: no listener is left (AssertionError")
      })
  )

  it.effect(
    cites("typed failures, defects and interruption all fail an interleaving, with their fields", "KIT-02"),
    () =>
      Effect.gen(function*() {
        class Denied extends Error {
          readonly _tag = "Denied"
          readonly callId = "c1"
        }
        const messages = [
          yield* failureOf(Effect.fail(new Denied("no"))),
          yield* failureOf(Effect.die("broken")),
          yield* failureOf(Effect.interrupt),
          yield* failureOf(Edge.action("strike", () => {
            throw new Error("outside")
          }))
        ].map(({ message }) => message)
        assert.deepStrictEqual(messages, [
          `Error: no { _tag: 'Denied', callId: 'c1' }`,
          "broken",
          "the program was interrupted",
          "strike threw Error: outside"
        ])
      })
  )

  it.effect(cites("check fails with the whole report as its message", "KIT-02"), () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(Explore.check(lostUpdate, { name: "lost update" }))
      const { minimal } = error.report.failures[0]!
      assert.include(error.message, "lost update: ")
      assert.include(error.message, "f0 (f0.0 preempted) > f0.0")
      assert.include(error.message, `Explore.replay(program, "${minimal.replay}")`)
    }))

  it.effect(
    cites("fibers are named by their paths, or as the program names them", "KIT-02"),
    () =>
      Effect.gen(function*() {
        const program = Effect.gen(function*() {
          // Forked later, but started first.
          yield* Effect.forkChild(Effect.andThen(Effect.yieldNow, Effect.yieldNow))
          const body = yield* Effect.forkChild(Edge.named(Edge.wait("go"), "body"), { startImmediately: true })
          yield* Effect.forkChild(Effect.forkDetach(Effect.yieldNow, { startImmediately: true }))
          yield* Fiber.join(body)
        })
        const report = yield* Explore.run(program, { preemptions: 0, runs: 1 })
        assert.deepStrictEqual(report.outcomes[0]!.witness.words, [
          "f0",
          "f0.0",
          "f0.2",
          "f0.0",
          "f0.2.0",
          "f0.0",
          "go"
        ])
      })
  )
})

describe("Interleaving", () => {
  it.effect(cites("every path survives its replay string", "KIT-02"), () =>
    Effect.sync(() => {
      const kinds = ["next"] as const
      for (
        const picks of [[], [0, 0, 1], [35, 36, 1295, 46_655, 0, 7], [...Array(200).fill(0), 3], [
          1,
          0,
          0,
          1,
          0,
          0,
          0,
          2
        ]]
      ) {
        const path = { picks, counts: picks.map((pick) => pick + 2), kinds: picks.map(() => kinds[0]) }
        const decoded = Interleaving.decode(Interleaving.encode({ preemptions: 2, timers: 5 }, path))
        assert.strictEqual(decoded._tag, "Success")
        if (decoded._tag !== "Success") return
        const last = picks.findLastIndex((pick) => pick > 0)
        assert.deepStrictEqual(decoded.success.picks, picks.slice(0, last + 1))
        assert.strictEqual(decoded.success.preemptions, 2)
        assert.strictEqual(decoded.success.timers, 5)
        assert.strictEqual(decoded.success.checksum, Interleaving.checksum(path))
      }
    }))
})
