import { assert, describe, it } from "@effect/vitest"
import { Edge, Explore, Report, Strategy } from "@quiesce/testing"
import { Effect, Exit } from "effect"
import { inspect } from "node:util"
import { cites } from "../../../tests/conformance/cites.ts"
import { lostUpdate } from "./fixtures/lostUpdate.ts"

const defectOf = <A, E>(effect: Effect.Effect<A, E>) =>
  Effect.map(Effect.exit(effect), (exit) => {
    const reason = Exit.isFailure(exit) ? exit.cause.reasons[0] : undefined
    return reason?._tag === "Die" ? String(reason.defect) : undefined
  })

const messageOf = <A, E>(program: Explore.Program<A, E>) =>
  Effect.map(Explore.run(program), ({ failures }) => failures[0]?.message)

describe("Explore: what is no exploration", () => {
  it.effect(
    cites("a bound that is no whole number is refused, and so is a search of no runs", "KIT-01"),
    () =>
      Effect.gen(function*() {
        for (
          const options of [
            { preemptions: -1 },
            { preemptions: 1.5 },
            { timers: Number.NaN },
            { steps: 0 },
            { runs: 0 },
            { runs: Number.POSITIVE_INFINITY },
            { strategy: Strategy.random({ seed: 1, runs: 0 }) }
          ]
        ) {
          assert.match(
            (yield* defectOf(Explore.check(Effect.void, options))) ?? "passed",
            /^RangeError: .* is no whole number from [01] on$/
          )
        }
      })
  )

  it.effect(
    cites("an asynchronous function is no program, and hears how it becomes one", "KIT-07"),
    () =>
      Effect.gen(function*() {
        const body: unknown = async () => {}
        assert.include(yield* defectOf(Explore.run(body as Effect.Effect<void>)), "Explore.fromPromise")
      })
  )

  it.effect(
    cites("a choice among no values, and an edge that outlived its run, fail and say why", "KIT-03"),
    () =>
      Effect.gen(function*() {
        assert.include(yield* messageOf(Edge.choose("answer", [])), "\"answer\" offers no value to choose")
        let kept: Edge.Shape | undefined
        yield* Explore.check(Effect.map(Edge.Edge, (edge) => {
          kept = edge
        }))
        assert.include(
          yield* messageOf(Effect.sync(() => kept!.action("late", () => {}))),
          "\"late\" comes after its run"
        )
      })
  )

  it.effect(
    cites("an outcome that throws when it is told ends the exploration with what it throws", "KIT-01"),
    () =>
      Effect.gen(function*() {
        const hostile = {
          [inspect.custom]: () => {
            throw new Error("it is not to be looked at")
          }
        }
        assert.include(yield* defectOf(Explore.run(Effect.succeed(hostile))), "it is not to be looked at")
        assert.strictEqual((yield* Explore.run(Effect.void)).verdict, "passed")
      })
  )
})

describe("Explore: what a run leaves to the next", () => {
  it.effect(
    cites(
      "an interleaving that ends otherwise when it is run again is unsound: neither its failure nor its success",
      "KIT-03"
    ),
    () =>
      Effect.gen(function*() {
        let survives = 0
        const counting = Effect.sync(() => survives++)
        const passing = yield* Explore.run(counting)
        assert.strictEqual(passing.verdict, "unsound")
        assert.strictEqual(passing.divergence, "f0: 0 the first time, 1 the next")

        survives = 0
        const failing = yield* Explore.run(
          Effect.flatMap(counting, (n) => n === 0 ? Effect.die(new Error("one")) : Effect.void)
        )
        assert.strictEqual(failing.verdict, "unsound")
        assert.include(failing.divergence, "f0: Error: one the first time, undefined the next")
      })
  )
})

describe("Report: what it says of a failure", () => {
  it.effect(
    cites("the line that the error comes from, and what was asserted once", "KIT-02"),
    () =>
      Effect.gen(function*() {
        const thrown = yield* Explore.run(lostUpdate)
        assert.match(thrown.failures[0]!.where!, /^packages\/testing\/test\/fixtures\/lostUpdate\.ts:\d+:\d+$/)
        assert.include(Report.format(thrown), `\n    at ${thrown.failures[0]!.where}\n`)
        const asserted = yield* messageOf(Effect.sync(() => assert.strictEqual(1 + 1, 3)))
        assert.strictEqual(asserted, "AssertionError: expected 2 to equal 3")
      })
  )

  it.effect(cites("an outcome of many lines takes one", "KIT-02"), () =>
    Effect.gen(function*() {
      const report = yield* Explore.run(Effect.succeed("x\n  y ".repeat(100)))
      const [line] = Report.format(report).split("\n").filter((it) => it.includes("1 ×"))
      assert.match(line!, /^ {4}1 × x y x y .*…, as in: f0$/)
      assert.lengthOf(report.outcomes[0]!.outcome, 600)
    }))

  it.effect(
    cites("a replay string may be copied with the white space around it", "KIT-02"),
    () =>
      Effect.gen(function*() {
        const { failures: [failure] } = yield* Explore.run(lostUpdate)
        const again = yield* Explore.replay(lostUpdate, ` ${failure!.minimal.replay}\n`)
        assert.deepStrictEqual(again.result, { _tag: "Failed", message: failure!.message })
      })
  )
})
