import { type Json, Tool, Toolbox, type ToolCall, ToolRegistry, type ToolResult } from "@quiesce/core"
import { Context, Effect, type Layer, Schema } from "effect"
import { type Equal, is } from "./equal.ts"

class Index
  extends Context.Service<Index, { readonly find: (query: string) => ReadonlyArray<string> }>()("test/Index")
{}
class NotFound extends Schema.TaggedError<NotFound>()("NotFound", { query: Schema.String }) {}

const parameters = Schema.Struct({ query: Schema.String, at: Schema.DateFromString })

const promised = Tool.fromPromise("promised", {
  description: "",
  parameters,
  success: Schema.String,
  execute: async ({ at, query }, { signal, token }) => {
    is<Equal<typeof at, Date>>()
    is<Equal<typeof query, string>>()
    is<Equal<typeof signal, AbortSignal>>()
    is<Equal<typeof token, ToolCall.Token>>()
    return (await fetch(query, { signal })).text()
  }
})
const effectful = Tool.make("effectful", {
  description: "",
  parameters,
  success: Schema.Array(Schema.Date),
  failure: NotFound,
  execute: ({ query }, call) => {
    is<Equal<typeof call, ToolCall.Running>>()
    is<Equal<typeof call.signal, AbortSignal>>()
    return Effect.flatMap(
      Index,
      ({ find }) => find(query).length === 0 ? Effect.fail(new NotFound({ query })) : Effect.succeed([new Date(0)])
    )
  }
})
const raw = Tool.raw("raw", {
  description: "",
  inputSchema: { type: "object" },
  execute: (json, { signal }) => {
    is<Equal<typeof json, Json>>()
    is<Equal<typeof signal, AbortSignal>>()
    return Effect.succeed(json)
  }
})
Tool.fromPromise("wrong", {
  description: "",
  parameters,
  success: Schema.String,
  // @ts-expect-error the value is that of the success schema
  execute: async () => 1
})
Tool.make("wrong", {
  description: "",
  parameters,
  success: Schema.String,
  // @ts-expect-error and so is that of an effect
  execute: () => Effect.succeed(1)
})

// What a tool needs shows in the layer of its registry, and nowhere else.
const live = ToolRegistry.layer([promised, effectful, raw])
is<Equal<Layer.Services<typeof live>, Index>>()
is<Equal<Layer.Error<typeof live>, ToolRegistry.DuplicateTool>>()
Toolbox.make({ tools: [promised, raw] })
// @ts-expect-error nobody can supply it there
Toolbox.make({ tools: [effectful] })

declare const registry: ToolRegistry.Shape
const called = registry.call(effectful, { query: "", at: "2020-01-01" })
is<Equal<Effect.Success<typeof called>, ReadonlyArray<Date>>>()
is<Equal<Effect.Error<typeof called>, ToolResult.ToolCallFailed<NotFound>>>()
is<Equal<Effect.Services<typeof called>, never>>()
const executed = registry.execute({ callId: "", name: "", arguments: {} })
is<Equal<typeof executed, Effect.Effect<ToolResult.ToolResult>>>()
// @ts-expect-error the encoded side
registry.call(effectful, { query: "", at: new Date(0) })
// @ts-expect-error all of it
registry.call(effectful, { query: "" })

export { called, executed, live, promised }
