import { assert, describe, it } from "@effect/vitest"
import { Edge, Explore, Report, Strategy } from "@quiesce/testing"
import { Effect, Fiber, Logger } from "effect"
import { cites } from "../../../tests/conformance/cites.ts"

/** Fibers that each do `yields + 1` things in a row, so that the number of their orders is a multinomial coefficient. */
const workers = (fibers: number, yields: number) =>
  Effect.suspend(() => {
    const order: Array<number> = []
    const worker = (id: number) =>
      Effect.gen(function*() {
        order.push(id)
        for (let i = 0; i < yields; i++) {
          yield* Effect.yieldNow
          order.push(id)
        }
      })
    return Effect.as(
      Effect.forEach(
        Array.from({ length: fibers }, (_, id) => id),
        (id) => Effect.andThen(Effect.yieldNow, worker(id)),
        {
          concurrency: "unbounded"
        }
      ),
      order
    )
  })

describe("Explore: counts", () => {
  for (
    const [fibers, yields, expected] of [[2, 2, 20], [3, 1, 90], [3, 2, 1_680], [3, 3, 34_650]] as const
  ) {
    it.effect(
      cites(`runs every order of ${fibers} fibers with ${yields} yields each, once: ${expected}`, "KIT-01"),
      () =>
        Effect.gen(function*() {
          const orders = new Set<string>()
          const program = Effect.map(workers(fibers, yields), (order) => {
            orders.add(order.join(""))
          })
          const report = yield* Explore.run(program, {
            preemptions: 0,
            strategy: Strategy.exhaustive({ reduction: "off" })
          })
          assert.strictEqual(report.explored, expected)
          assert.strictEqual(orders.size, expected)
          assert.strictEqual(report.redundant, 0)
          assert.strictEqual(report.verdict, "passed")
        })
    )
  }

  it.effect(cites("says which bound took something away", "KIT-01"), () =>
    Effect.gen(function*() {
      const program = workers(2, 1)
      const free = yield* Explore.run(program, { preemptions: 0 })
      assert.deepStrictEqual(free.coverage, { _tag: "Exhaustive", reached: ["preemptions"] })

      const cut = yield* Explore.run(program, { preemptions: 0, runs: 5 })
      assert.deepStrictEqual(cut.coverage, { _tag: "Partial", endedBy: "runs", complete: undefined })
      assert.strictEqual(cut.explored, 5)

      const exact = yield* Explore.run(program, { preemptions: 0, runs: 6 })
      assert.deepStrictEqual(exact.coverage, free.coverage)

      // What needs no preemption comes first, and was run to the last one.
      const half = yield* Explore.run(program, { preemptions: 3, runs: 20 })
      assert.deepStrictEqual(half.coverage, { _tag: "Partial", endedBy: "runs", complete: 0 })
      assert.deepStrictEqual(half.byPreemptions, [6, 14])
      assert.include(Report.summary(half), "ended by the bound on runs, after every one with no preemption")

      const short = yield* Explore.run(program, { preemptions: 0, steps: 3 })
      assert.deepStrictEqual(short.coverage, { _tag: "Exhaustive", reached: ["preemptions", "steps"] })
    }))

  it.effect(
    cites("is exhaustive without qualification where no bound took anything away", "KIT-01"),
    () =>
      Effect.gen(function*() {
        const report = yield* Explore.run(Edge.choose("answer", ["allow", "deny", "none"]))
        assert.deepStrictEqual(report.coverage, { _tag: "Exhaustive", reached: [] })
        assert.deepStrictEqual(report.outcomes.map(({ count, outcome }) => [outcome, count]), [
          ["allow", 1],
          ["deny", 1],
          ["none", 1]
        ])
      })
  )

  it.effect(
    cites("tells every outcome with its count and an interleaving that leads to it", "KIT-01", "KIT-02"),
    () =>
      Effect.gen(function*() {
        const program = Effect.map(workers(2, 0), (order) => order.join(" then "))
        const report = yield* Explore.run(program, { preemptions: 0 })
        assert.deepStrictEqual(
          report.outcomes.map(({ count, outcome, witness }) => [outcome, count, witness.words.join(" > ")]),
          [
            ["0 then 1", 1, "f0 > f0.0 > f0.1"],
            ["1 then 0", 1, "f0 > f0.1 > f0.0"]
          ]
        )
      })
  )

  it.effect(
    cites("fires timers at every moment, in the order of their times", "KIT-01", "KIT-03"),
    () =>
      Effect.gen(function*() {
        const program = Effect.gen(function*() {
          const order: Array<string> = []
          const after = (millis: number) => Effect.map(Effect.sleep(millis), () => void order.push(`${millis}`))
          yield* Effect.all([after(20), after(10), Effect.map(Edge.wait("settle"), () => void order.push("settle"))], {
            concurrency: "unbounded"
          })
          return order.join(" ")
        })
        const report = yield* Explore.run(program, { preemptions: 0 })
        assert.deepStrictEqual(report.outcomes.map(({ outcome }) => outcome).sort(), [
          "10 20 settle",
          "10 settle 20",
          "settle 10 20"
        ])
      })
  )

  it.effect(
    cites("tells a dozen outcomes, counts the others, and does not keep a path for each of a million", "KIT-01"),
    () =>
      Effect.gen(function*() {
        const values = Array.from({ length: 1_300 }, (_, value) => value)
        const report = yield* Explore.run(Edge.choose("value", values))
        assert.strictEqual(report.explored, 1_300)
        assert.lengthOf(report.outcomes, 12)
        // A thousand are told apart; the rest is one more.
        assert.strictEqual(report.omitted, 1_001 - 12)
        assert.include(Report.format(report), "and 989 further ways to end")
      })
  )

  it.effect(
    cites("a preempted fiber is not the next to run, which would be no preemption", "KIT-01"),
    () =>
      Effect.gen(function*() {
        const operations = 4
        const logs: Array<string> = []
        const program = Effect.gen(function*() {
          let log = ""
          yield* Edge.always("steps are told apart", () => {
            log += "|"
          })
          const work = (id: number) =>
            Effect.andThen(
              Effect.yieldNow,
              Effect.forEach(Array.from({ length: operations }), () => Effect.sync(() => log += id), { discard: true })
            )
          yield* Effect.all([work(0), work(1)], { concurrency: "unbounded" })
          logs.push(log)
        })
        const report = yield* Explore.check(program, { preemptions: 2 })
        assert.strictEqual(logs.length >= report.explored, true)
        for (const log of logs) {
          for (const { 1: id, index } of log.matchAll(/([01])\|(?=\1)/g)) {
            const other = log.slice(0, index).split(id === "0" ? "1" : "0").length - 1
            assert.strictEqual(other, operations, `${log}: fiber ${id} went on although the other could`)
          }
        }
      })
  )

  it.effect(
    cites("a program that sleeps again and again comes to an end, and the report says why", "KIT-01", "KIT-03"),
    () =>
      Effect.gen(function*() {
        const program = Effect.gen(function*() {
          let beats = 0
          const beat = Effect.andThen(Effect.sleep(10), Effect.sync(() => beats++))
          const heart = yield* Effect.forkChild(Effect.forever(beat))
          yield* Edge.wait("settle")
          yield* Fiber.interrupt(heart)
          return beats
        })
        for (const timers of [0, 1, 4]) {
          const report = yield* Explore.check(program, { preemptions: 0, timers })
          assert.deepStrictEqual(report.coverage, { _tag: "Exhaustive", reached: ["preemptions", "timers"] })
          assert.deepStrictEqual(
            report.outcomes.map(({ outcome }) => outcome).toSorted(),
            Array.from({ length: timers + 1 }, (_, beats) => `${beats}`)
          )
        }
      })
  )

  it.effect(
    cites("what a program logs is written when it is replayed, not when it is explored", "KIT-02"),
    () =>
      Effect.gen(function*() {
        const written: Array<unknown> = []
        const logger = Logger.layer([Logger.make(({ message }) => void written.push(message))])
        const program = Effect.andThen(Effect.log("here"), Edge.choose("value", [1, 2]))
        const report = yield* Effect.provide(Explore.check(program), logger)
        assert.deepStrictEqual(written, [])
        yield* Effect.provide(Explore.replay(program, report.outcomes[1]!.witness.replay), logger)
        assert.deepStrictEqual(written, [["here"]])
      })
  )

  it.effect(
    cites("preempts a fiber between any two operations, as often as the bound allows", "KIT-01"),
    () =>
      Effect.gen(function*() {
        const program = Effect.gen(function*() {
          let x = 0
          const increment = Effect.gen(function*() {
            const seen = yield* Effect.sync(() => x)
            yield* Effect.sync(() => {
              x = seen + 1
            })
          })
          yield* Effect.all([increment, increment, increment], { concurrency: "unbounded" })
          return x
        })
        const outcomes = (preemptions: number) =>
          Effect.map(Explore.run(program, { preemptions }), (report) => report.outcomes.map((it) => it.outcome).sort())
        assert.deepStrictEqual(yield* outcomes(0), ["3"])
        assert.deepStrictEqual(yield* outcomes(1), ["1", "2", "3"])
      })
  )

  it.effect(cites("keeps set-up out of the exploration", "KIT-01"), () =>
    Effect.gen(function*() {
      const noisy = Effect.all([1, 2, 3].map(() => Effect.yieldNow), { concurrency: "unbounded" })
      const explored = (layers: Effect.Effect<unknown, never, Edge.Edge>) =>
        Effect.map(
          Explore.run(Effect.andThen(Edge.controller("ABORT"), layers), { preemptions: 0 }),
          (report) => report.explored
        )
      assert.strictEqual(yield* explored(noisy), 24)
      assert.strictEqual(yield* explored(Edge.setup(noisy)), 1)
    }))
})
