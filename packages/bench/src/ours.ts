/**
 * Quiesce: one tool, in the variants that the tables compare.
 *
 * Each variant is registered and called as an application would do it, through a layer.
 */
import * as Approval from "@quiesce/core/Approval"
import * as Observer from "@quiesce/core/Observer"
import * as Policy from "@quiesce/core/Policy"
import * as Tool from "@quiesce/core/Tool"
import * as ToolRegistry from "@quiesce/core/ToolRegistry"
import * as Wrapper from "@quiesce/core/Wrapper"
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import type { StandardJSONSchemaV1, StandardSchemaV1 } from "effect/StandardSchema"
import type { Arguments, Body, FiberHost, Host } from "./Host.ts"
import * as names from "./names.ts"

/** A schema that looks at nothing: the least a tool can be defined with. */
const unchecked = <A>(): StandardSchemaV1<A> & StandardJSONSchemaV1<A> => ({
  "~standard": {
    version: 1,
    vendor: "bench",
    validate: (value) => ({ value: value as A }),
    jsonSchema: { input: () => ({}), output: () => ({}) }
  }
})

const Parameters = Schema.Struct({ query: Schema.String, limit: Schema.Number })

type Make = (body: Body, timeout?: Duration.Input) => Tool.AnyNoServices

export interface Variant {
  readonly name: string
  readonly tool: (body: Body) => Tool.AnyNoServices
  readonly services: Layer.Layer<never>
}

const plain: Make = (execute, timeout) => {
  const parameters = unchecked<Arguments>()
  const success = unchecked<string>()
  const tool = Tool.fromPromise("search", { description: "s", parameters, success, timeout, execute })
  return tool
}

const checked: Make = (execute, timeout) => {
  const success = Schema.String
  const tool = Tool.fromPromise("search", { description: "s", parameters: Parameters, success, timeout, execute })
  return tool
}

const timed = (make: Make) => (body: Body) => make(body, "1 minute")

const passing = Policy.layer({
  pre: () => Effect.succeed(Policy.allow),
  post: () => Effect.succeed(Policy.accept())
})

const passingPromises = Policy.layer(Policy.fromPromise({
  pre: async () => Policy.allow,
  post: async () => Policy.accept()
}))

const asking = Layer.merge(Policy.layer({ pre: () => Effect.succeed(Policy.ask()) }), Approval.layerAllow)

const wrapping = Wrapper.layer([(next) => next])

const observing = Observer.layer(() => Effect.void)

export const call: Variant = { name: "Quiesce, a call", tool: plain, services: Layer.empty }

/** One duty each, on top of `call`. */
export const duties: ReadonlyArray<Variant> = [
  { name: "Quiesce, + schemas", tool: checked, services: Layer.empty },
  { name: "Quiesce, + policy", tool: plain, services: passing },
  { name: "Quiesce, + policy of promises", tool: plain, services: passingPromises },
  { name: "Quiesce, + approval", tool: plain, services: asking },
  { name: "Quiesce, + deadline", tool: timed(plain), services: Layer.empty },
  { name: "Quiesce, + wrapper", tool: plain, services: wrapping },
  { name: "Quiesce, + observer", tool: plain, services: observing }
]

/** What REF does, and the schemas that it lacks. */
export const full: Variant = { name: names.full, tool: timed(checked), services: passing }

const endless: Variant["tool"] = () => {
  const execute = () => Effect.never
  const tool = Tool.make("search", { description: "s", parameters: Parameters, success: Schema.String, execute })
  return tool
}

/** A body that is an effect and never ends by itself: an interruption ends it without a signal. */
export const fullEndless: Variant = { ...full, name: names.fullEndless, tool: endless }

/** A registry with the one tool. */
export const layer = ({ services, tool }: Variant, body: Body) =>
  ToolRegistry.layer([tool(body)]).pipe(Layer.provide(services))

const open = async (variant: Variant, body: Body) => {
  const scope = await Effect.runPromise(Scope.make())
  const context = await Effect.runPromise(Layer.buildWithScope(layer(variant, body), scope))
  return {
    registry: Context.get(context, ToolRegistry.ToolRegistry),
    close: () => Effect.runPromise(Scope.close(scope, Exit.void))
  }
}

/** Called by promise code. */
export const host = (variant: Variant): Host => ({
  name: variant.name,
  lacks: "",
  open: async (body) => {
    const { close, registry: { executePromise } } = await open(variant, body)
    return {
      call: (parameters, signal) => executePromise({ callId: "1", name: "search", arguments: parameters, signal }),
      close
    }
  }
})

/** Called by a fiber. */
export const fiberHost = (variant: Variant): FiberHost => ({
  name: variant.name,
  lacks: "",
  open: async (body) => {
    const { close, registry: { execute } } = await open(variant, body)
    return { call: (parameters) => execute({ callId: "1", name: "search", arguments: parameters }), close }
  }
})
