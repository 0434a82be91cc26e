/** How many interleavings the exploration kit runs in a second. */
import { ToolRegistry } from "@quiesce/core/ToolRegistry"
import * as Edge from "@quiesce/testing/Edge"
import * as Explore from "@quiesce/testing/Explore"
import * as Strategy from "@quiesce/testing/Strategy"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { parameters } from "../Host.ts"
import type { Subject } from "../Measure.ts"
import * as Measure from "../Measure.ts"
import * as Ours from "../ours.ts"
import type { Figures } from "../Table.ts"

/** Three fibers that yield twice each: 1,680 orders, and nothing from outside. */
const fibers = Effect.forEach(
  [0, 1, 2],
  () => Effect.andThen(Effect.andThen(Effect.yieldNow, Effect.yieldNow), Effect.yieldNow),
  { concurrency: "unbounded", discard: true }
)

/** Three native promises that the outside world settles in any order. */
const promises = Effect.flatMap(Edge.Edge, (edge) =>
  Effect.forEach(
    ["a", "b", "c"],
    (label) =>
      Effect.callback<string>((resume) => {
        void edge.promise(label, () => label).then((value) => resume(Effect.succeed(value)))
      }),
    { concurrency: "unbounded", discard: true }
  ))

/**
 * A call through the registry that the outside world may abort at every moment. The tool is defined once, as tools are;
 * the registry is every run's own, since a run must make what it changes.
 */
let edge: Edge.Shape
const layer = Ours.layer(Ours.full, () => edge.promise("the body ends", () => "done"))
const call = Effect.gen(function*() {
  edge = yield* Edge.Edge
  const { executePromise } = Context.get(yield* Edge.setup(Layer.build(layer)), ToolRegistry)
  const { signal } = edge.controller("the caller aborts")
  yield* Effect.callback<void>((resume) => {
    void executePromise({ callId: "1", name: "search", arguments: parameters, signal }).then(() => resume(Effect.void))
  })
})

const bareName = "three fibers, run and not explored"

const explored = (name: string, program: Explore.Program<unknown, unknown>, preemptions: number): Subject => ({
  name,
  kind: "ours",
  unit: "per second",
  lacks: "",
  against: { name: bareName },
  open: async () => ({
    measure: async () => {
      const start = performance.now()
      const strategy = Strategy.exhaustive({ reduction: "off" })
      const report = await Explore.runPromise(program, { preemptions, strategy, runs: 2000 })
      if (report.verdict !== "passed") throw new Error(`${name}: ${report.verdict}`)
      return report.explored * 1000 / (performance.now() - start)
    },
    close: async () => {}
  })
})

const bare: Subject = {
  name: bareName,
  kind: "floor",
  unit: "per second",
  lacks: "exploration",
  against: { name: bareName },
  open: async () => {
    const { close, measure } = Measure.perOperation({
      run: Measure.sequentially(() => Effect.runPromise(fibers)),
      width: 1,
      close: async () => {}
    })
    return { measure: async () => 1e9 / (await measure()), close }
  }
}

export const table: Figures = {
  _tag: "Figures",
  title: "Interleavings per second",
  about: "Without reduction, so that each interleaving counted is one that ran. The ratio is to running the first " +
    "program as it stands.",
  claim: 0.2,
  processes: 1,
  plan: { rounds: 6, warmUpMillis: 500 },
  subjects: async () => [
    bare,
    explored("three fibers with two yields", fibers, 0),
    explored("three native promises", promises, 0),
    explored("a call and an abort", call, 1)
  ]
}
