import { assert, describe, it } from "@effect/vitest"
import { Edge, Explore, Report, Strategy } from "@quiesce/testing"
import { Effect } from "effect"
import { cites } from "../../../tests/conformance/cites.ts"
import { lostUpdate } from "./fixtures/lostUpdate.ts"

type Operation =
  | { readonly _tag: "write" | "read"; readonly cell: string }
  | { readonly _tag: "yield" | "sleep" | "wait" | "now" }

/** A program of several fibers over shared cells, every access declared; its outcome is what each fiber saw. */
const overCells = (fibers: ReadonlyArray<ReadonlyArray<Operation>>) =>
  Effect.gen(function*() {
    const cells = new Map<string, string>()
    const seen = fibers.map((): Array<string> => [])
    const perform = (fiber: number, index: number, operation: Operation): Effect.Effect<void, never, Edge.Edge> => {
      switch (operation._tag) {
        case "write":
          return Effect.map(Edge.touch({ writes: [operation.cell] }), () => {
            cells.set(operation.cell, `${fiber}.${index}`)
          })
        case "read":
          return Effect.map(Edge.touch({ reads: [operation.cell] }), () => {
            seen[fiber]!.push(cells.get(operation.cell) ?? "-")
          })
        case "yield":
          return Effect.yieldNow
        case "sleep":
          return Effect.sleep(10)
        case "now":
          return Effect.clockWith((clock) =>
            Effect.map(clock.currentTimeMillis, (now) => void seen[fiber]!.push(`${now}`))
          )
        case "wait":
          return Edge.wait(`go ${fiber}`, {})
      }
    }
    yield* Effect.forEach(
      fibers,
      (operations, fiber) =>
        Effect.andThen(
          Effect.yieldNow,
          Effect.forEach(operations, (operation, index) => perform(fiber, index, operation), { discard: true })
        ),
      { concurrency: "unbounded", discard: true }
    )
    return `${seen.map((it) => it.join(",")).join(" ")} | ${
      [...cells].map((cell) => cell.join("=")).toSorted().join(" ")
    }`
  })

/** The same small programs on every machine. */
const generate = (seed: number, fibers: number) => {
  let state = seed
  const below = (bound: number) => (state = (state * 48_271) % 2_147_483_647) % bound
  const operation = (): Operation => {
    const cell = ["a", "b", "c"][below(3)]!
    return ([
      { _tag: "write", cell },
      { _tag: "write", cell },
      { _tag: "read", cell },
      { _tag: "read", cell },
      { _tag: "yield" },
      { _tag: "yield" },
      { _tag: "sleep" },
      { _tag: "wait" },
      { _tag: "now" }
    ] as const)[below(9)]!
  }
  return Array.from({ length: fibers }, () => Array.from({ length: 1 + below(3) }, operation))
}

const explore = <A, E>(program: Explore.Program<A, E>, preemptions: number, reduction: Strategy.Reduction) => {
  const outcomes = new Map<string, number>()
  const counted = Effect.map(program, (outcome) => {
    outcomes.set(String(outcome), (outcomes.get(String(outcome)) ?? 0) + 1)
  })
  return Effect.map(
    Explore.check(counted, { preemptions, strategy: Strategy.exhaustive({ reduction }) }),
    (report) => ({ outcomes: [...outcomes.keys()].toSorted(), explored: report.explored })
  )
}

describe("Strategy: reduction", () => {
  it.effect(cites("law: a reduction loses no outcome, whatever the program", "KIT-01"), () =>
    Effect.gen(function*() {
      let saved = 0
      for (let seed = 1; seed <= 8; seed++) {
        // Preemptions multiply: two fibers with one, three without.
        for (const [fibers, preemptions] of [[2, 1], [3, 0]] as const) {
          const program = overCells(generate(seed * 7_919, fibers))
          const all = yield* explore(program, preemptions, "off")
          for (const reduction of ["actions", "declared"] as const) {
            const reduced = yield* explore(program, preemptions, reduction)
            assert.deepStrictEqual(reduced.outcomes, all.outcomes, `seed ${seed}, ${preemptions}, ${reduction}`)
            assert.isAtMost(reduced.explored, all.explored)
            if (reduction === "declared") saved += all.explored - reduced.explored
          }
        }
      }
      assert.isAbove(saved, 50)
    }))

  it.effect(
    cites("fibers that share nothing have one interleaving; fibers that share all have them all", "KIT-01"),
    () =>
      Effect.gen(function*() {
        const apart = overCells(["a", "b", "c"].map((cell) => [
          { _tag: "write", cell },
          { _tag: "yield" },
          { _tag: "write", cell }
        ]))
        assert.strictEqual((yield* explore(apart, 0, "declared")).explored, 1)
        assert.strictEqual((yield* explore(apart, 0, "off")).explored, 90)

        const together = overCells([1, 2, 3].map(() => [
          { _tag: "write", cell: "a" },
          { _tag: "yield" },
          { _tag: "write", cell: "a" }
        ]))
        assert.strictEqual((yield* explore(together, 0, "declared")).explored, 90)
      })
  )

  it.effect(cites("steps nobody described conflict with everything", "KIT-01"), () =>
    Effect.gen(function*() {
      // Both actions touch the same variable, and say nothing about it.
      const undeclared = Effect.gen(function*() {
        const order: Array<string> = []
        yield* Edge.action("one", () => order.push("one"))
        yield* Edge.action("two", () => order.push("two"))
        yield* Edge.wait("last")
        return order.join(" ")
      })
      const all = yield* explore(undeclared, 0, "off")
      assert.deepStrictEqual(yield* explore(undeclared, 0, "actions"), all)

      // One of the two says what it touches; what the other touches is not known.
      const half = Effect.gen(function*() {
        const order: Array<string> = []
        yield* Edge.action("described", () => order.push("described"), { writes: ["order"] })
        yield* Edge.action("not", () => order.push("not"))
        yield* Edge.wait("last")
        return order.join(" ")
      })
      assert.deepStrictEqual(
        (yield* explore(half, 0, "actions")).outcomes,
        (yield* explore(half, 0, "off")).outcomes
      )

      const declared = Effect.gen(function*() {
        yield* Edge.action("one", () => {}, { writes: ["one"] })
        yield* Edge.action("two", () => {}, { writes: ["two"] })
      })
      assert.strictEqual((yield* explore(declared, 0, "off")).explored, 2)
      assert.strictEqual((yield* explore(declared, 0, "actions")).explored, 1)
    }))
})

describe("Strategy: sampling", () => {
  const bystander = Effect.forEach([1, 2, 3, 4, 5, 6], () => Effect.yieldNow)
  const large = Effect.all([bystander, bystander, lostUpdate, bystander], { concurrency: "unbounded" })

  for (
    const [name, strategy] of [
      ["random", (seed: number) => Strategy.random({ seed, runs: 400 })],
      ["probabilistic", (seed: number) => Strategy.probabilistic({ seed, runs: 400, depth: 2 })]
    ] as const
  ) {
    it.effect(
      cites(`${name} finds what is too deep to exhaust, and its replay reproduces it`, "KIT-01", "KIT-02"),
      () =>
        Effect.gen(function*() {
          const report = yield* Explore.run(large, { strategy: strategy(1), preemptions: 2 })
          assert.strictEqual(report.verdict, "failed", Report.format(report))
          const { message, minimal } = report.failures[0]!
          const again = yield* Explore.replay(large, minimal.replay)
          assert.deepStrictEqual(again.result, { _tag: "Failed", message })
          assert.strictEqual(minimal.preemptions, 1)
        })
    )

    it.effect(
      cites(`${name} draws the same interleavings for the same seed, and others for another`, "KIT-01"),
      () =>
        Effect.gen(function*() {
          const drawn = (seed: number) =>
            Effect.map(
              Explore.run(large, { strategy: strategy(seed), preemptions: 2, failures: "all" }),
              ({ explored, failing, failures }) => ({ explored, failing, found: failures.map((it) => it.found.replay) })
            )
          const first = yield* drawn(1)
          assert.strictEqual(first.explored, 400)
          assert.deepStrictEqual(yield* drawn(1), first)
          assert.notDeepEqual(yield* drawn(2), first)
        })
    )
  }

  it.effect(cites("a sampled report says what was sampled", "KIT-01"), () =>
    Effect.gen(function*() {
      const report = yield* Explore.run(Effect.yieldNow, { strategy: Strategy.random({ seed: 9, runs: 10 }) })
      assert.deepStrictEqual(report.coverage, { _tag: "Sampled", strategy: "Random", seed: 9 })
      assert.include(Report.summary(report), "random, seed 9")
    }))
})
