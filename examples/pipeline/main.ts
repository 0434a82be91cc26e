/**
 * A pipeline of tools in an app of its own: services, layers, tracing and metrics.
 *
 * A report is one effect, made of calls as other effects are made of functions. What the app has around its effects it has
 * around the calls as well: a span for each with those of the services inside, a metric for each outcome, a deadline for
 * the whole. And when somebody has enough of it the report is interrupted, and over when its last connection is given back.
 */
import { Deadline, ToolRegistry } from "@quiesce/core"
import { Cause, Effect, Exit, Fiber, Layer, Metric } from "effect"
import assert from "node:assert/strict"
import * as ConsoleTracer from "./ConsoleTracer.ts"
import { PostOffice, Warehouse } from "./Services.ts"
import * as Tools from "./Tools.ts"

/** What the regions have sold, two at a time since there are two connections, mailed to whoever asked. */
const report = Effect.fn("report")(function*(to: string, regions: ReadonlyArray<string>) {
  const totals = yield* Effect.forEach(
    regions,
    (region) => ToolRegistry.call(Tools.sales, { region }, { callId: region }),
    { concurrency: 2 }
  )
  const text = regions.map((region, at) => `${region} ${totals[at]}`).join(", ")
  yield* ToolRegistry.call(Tools.mail, { to, text }, { callId: to })
  return text
})

const main = Effect.gen(function*() {
  const registry = yield* ToolRegistry.ToolRegistry
  const { open, stuck } = yield* Warehouse
  const { sent } = yield* PostOffice

  console.log("a report, in time")
  const text = yield* Deadline.within(report("ann@house", ["north", "south"]), {
    timeout: "10 seconds",
    code: "REPORT"
  })
  assert.equal(text, "north 200, south 300")
  assert.deepEqual(yield* sent, ["ann@house: north 200, south 300"])

  console.log("\na report for a stranger")
  const denied = yield* Effect.flip(report("bob@elsewhere", ["south"]))
  assert(denied._tag === "ToolCallFailed" && denied.code === "DENIED")

  console.log("\na report that nobody waits for any more")
  const fiber = yield* Effect.forkChild(report("ann@house", ["nowhere", "nowhere else"]))
  yield* stuck
  yield* Fiber.interrupt(fiber)
  assert.deepEqual([yield* open, yield* registry.inFlight], [0, []])
  const exit = yield* Fiber.await(fiber)
  assert(Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause))
  assert.equal((yield* sent).length, 1)

  console.log("\nmetrics")
  for (const { attributes, id, state } of yield* Metric.snapshot) {
    if ("incremental" in state) console.log(`  ${id} ${attributes?.["code"] ?? ""}`.trimEnd() + `: ${state.count}`)
  }
})

await Effect.runPromise(Effect.provide(main, Layer.provideMerge(Tools.layer, ConsoleTracer.layer)))
