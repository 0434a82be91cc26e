/**
 * The services as tools: what they need shows in their types, and the layer at the end is the whole of the wiring.
 */
import { Observer, Policy, Tool, ToolRegistry, type ToolResult, Wrapper } from "@quiesce/core"
import { Effect, Layer, Metric, Schema } from "effect"
import { Busy, PostOffice, Warehouse } from "./Services.ts"

export const sales = Tool.make("sales", {
  description: "Add up what a region has sold",
  parameters: Schema.Struct({ region: Schema.String }),
  success: Schema.Number,
  failure: Busy,
  // The scope is the body's own: the connection is given back before the call counts as quiet.
  execute: Effect.fnUntraced(function*({ region }) {
    const query = yield* (yield* Warehouse).connect
    const amounts = yield* query(region)
    return amounts.reduce((sum, amount) => sum + amount, 0)
  })
})

export const mail = Tool.make("mail", {
  description: "Mail a text to somebody",
  parameters: Schema.Struct({ to: Schema.String, text: Schema.String }),
  success: Schema.Null,
  mode: "exclusive",
  execute: Effect.fnUntraced(function*({ text, to }) {
    yield* (yield* PostOffice).send(to, text)
    return null
  })
})

const retried = Metric.counter("pipeline_retries", { description: "Bodies that ran again", incremental: true })

const isBusy = ({ result }: ToolResult.ToolCallFailed): boolean => result.error.name === "Busy"

/** Runs the body again while the warehouse is busy: `next` is an effect, and this is a retry like any other. */
const patience: Wrapper.Wrapper = (next) =>
  next.pipe(
    Effect.tapError((error) => isBusy(error) ? Metric.update(retried, 1) : Effect.void),
    Effect.retry({ times: 3, while: isBusy })
  )

/** Mail goes to people of the house alone. */
const house: Policy.Policy = {
  pre: (call) =>
    call.name === "mail" && !JSON.stringify(call.arguments).includes("@house")
      ? Policy.deny("mail goes to people of the house alone")
      : Effect.succeed(Policy.allow)
}

export const layer = ToolRegistry.layer([sales, mail]).pipe(
  Layer.provide([Policy.layer(house), Wrapper.layer([patience]), Observer.layer(Observer.metrics)]),
  Layer.provideMerge([Warehouse.layer, PostOffice.layer])
)
