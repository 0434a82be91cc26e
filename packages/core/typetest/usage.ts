import { layer } from "@effect/vitest"
import { Approval, Policy, Tool, Toolbox, ToolRegistry, Wrapper } from "@quiesce/core"
import { Context, Effect, Fiber, Layer, Schedule, Schema, Semaphore } from "effect"
import { Tool as AiTool } from "effect/ai"
import { z } from "zod"
type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends (<T>() => T extends B ? 1 : 2) ? true : false
const is = <T extends true>(..._: T extends true ? [] : [never]): void => undefined

class NotIndexed extends Schema.TaggedError<NotIndexed>()("NotIndexed", { q: Schema.String }) {}
class Index
  extends Context.Service<Index, { readonly find: (q: string) => Effect.Effect<ReadonlyArray<string>, NotIndexed> }>()(
    "app/Index"
  )
{}
const search = Tool.make("search", {
  description: "s",
  parameters: Schema.Struct({ query: Schema.String }),
  success: Schema.Array(Schema.String),
  failure: NotIndexed,
  timeout: "5 seconds",
  render: (value) => [{ type: "text", text: value.join("\n") }],
  execute: ({ query }, call) =>
    Effect.gen(function*() {
      call.progress({ progress: 1 })
      return yield* (yield* Index).find(query)
    })
})
const search2 = Tool.make("search", {
  description: "s",
  parameters: Schema.Struct({ query: Schema.String }),
  success: Schema.Array(Schema.String),
  execute: Effect.fn("search")(function*({ query }) {
    return yield* (yield* Index).find(query)
  }) // inference through Effect.fn
})
is<Equal<Tool.Services<typeof search>, Index>>()
is<Equal<Tool.Services<typeof search2>, Index>>()
const zod = Tool.fromPromise("zod", {
  description: "z",
  parameters: z.object({ url: z.string(), n: z.number().default(1) }),
  success: z.string(),
  execute: async ({ url, n }, { signal }) => {
    n.toFixed()
    return (await fetch(url, { signal })).text()
  }
})
is<Equal<Tool.Parameters<typeof zod>, { url: string; n: number }>>()
Tool.fromPromise("bad", {
  description: "z",
  parameters: z.object({}),
  success: z.string(),
  // @ts-expect-error value must match `success`
  execute: async () => 1
})
const proxied = Tool.raw("proxied", {
  description: "p",
  inputSchema: { type: "object" },
  execute: (json) => Effect.succeed(json)
})
const live = ToolRegistry.layer([search, zod, proxied])
is<Equal<Layer.Services<typeof live>, Index>>()

const pipeline = Effect.gen(function*() {
  const { call } = yield* ToolRegistry.ToolRegistry
  const hits = yield* call(search, { query: "a" })
  const page = yield* call(zod, { url: hits[0]! }) // encoded side: zod's default may be left out
  // @ts-expect-error wrong parameters
  yield* call(search, { q: 1 })
  return yield* call(proxied, { page })
}).pipe(
  Effect.catchTag(
    "ToolCallFailed",
    (e) => e.failure === undefined ? Effect.succeed(e.code) : Effect.succeed(e.failure.q)
  )
)
is<Equal<Effect.Services<typeof pipeline>, ToolRegistry.ToolRegistry>>()
is<Equal<Effect.Error<typeof pipeline>, never>>()

const guard: Policy.Policy = {
  pre: (call) =>
    call.name === "x"
      ? Effect.succeed(call.arguments === null ? Policy.deny("no") : Policy.allow)
      : Effect.succeed(Policy.allow)
}
const guard2: Policy.Policy = {
  pre: Effect.fnUntraced(function*(call) {
    if (call.metadata["session"] === "s") return yield* Policy.deny("no")
    return Policy.ask()
  })
}
const sem = Semaphore.makeUnsafe(4)
const timed: Wrapper.Wrapper = (next) => Effect.timeout(next, "1 second")
const limited: Wrapper.Wrapper = sem.withPermit
const retried: Wrapper.Wrapper = (next) =>
  Effect.retry(next, {
    schedule: Schedule.exponential("10 millis"),
    times: 2,
    while: (e) => e._tag === "ToolCallFailed"
  })
class Db extends Context.Service<Db, { readonly tx: <A, E, R>(e: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R> }>()(
  "app/Db"
) {}
const tx = Wrapper.layerEffect(Effect.gen(function*() {
  const db = yield* Db
  return [(next: Wrapper.Next) => db.tx(next)]
}))
is<Equal<Layer.Services<typeof tx>, Db>>()
const all = Wrapper.layer([limited, timed, retried, Wrapper.timeout])

Toolbox.make({ tools: [zod, proxied] })
// @ts-expect-error search needs Index, nobody can supply it here
Toolbox.make({ tools: [search] })
const more = ToolRegistry.layerTools([search2])
const merged = Layer.mergeAll(live, more.pipe(Layer.provide(live)))
// a dynamic list built at run time keeps R
const dyn: ReadonlyArray<Tool.Any> = [search, zod]
const dynLive = ToolRegistry.layer(dyn) // R = unknown  (cannot be provided)
is<Equal<Layer.Services<typeof dynLive>, unknown>>()
const dynOk: ReadonlyArray<Tool.Tool<string, any, Index>> = [search, zod]
const dynOkLive = ToolRegistry.layer(dynOk)
is<Equal<Layer.Services<typeof dynOkLive>, Index>>()
// @ts-expect-error never both
Policy.accept({ content: [], value: 1 })
// a custom sequence: which services, which order
const policies = Policy.layer(Policy.sequence(guard, guard2))
// swap one layer; everything else stays
const Index_ = Layer.succeed(Index, { find: (q: string) => Effect.succeed([q]) })
const host = (approval: Layer.Layer<never>) =>
  live.pipe(Layer.provide(Index_), Layer.provide([policies, approval, all]))
const prod = host(Approval.layerUnavailable)
const open = host(Approval.layerAllow)
is<Equal<Layer.Services<typeof prod>, never>>()
// a test using layers
layer(open)("registry", (it) => {
  it.effect("aborts", () =>
    Effect.gen(function*() {
      const registry = yield* ToolRegistry.ToolRegistry
      const fiber = yield* Effect.forkChild(
        registry.execute({ callId: "1", name: "search", arguments: { query: "a" } })
      )
      yield* Fiber.interrupt(fiber)
    }))
})
// @ts-expect-error the registry is missing
const bare: Effect.Effect<unknown> = ToolRegistry.call(search, { query: "a" })
// an observer that several libraries contribute: Reference layers override when merged, so contributions go through the registry
// a wrapper that drops the dispatch scope
declare const next: Wrapper.Next
// @ts-expect-error Dispatch is missing
Effect.runFork(next)
// @ts-expect-error Dispatch is missing
const dropped: Effect.Effect<unknown, unknown> = next
// @ts-expect-error cannot be forged
Effect.provideService(next, Wrapper.Dispatch, {})
const audit = Layer.effectDiscard(Effect.flatMap(ToolRegistry.ToolRegistry, (r) => r.observe(() => Effect.void)))
export { audit, bare, dropped }
export { AiTool, all, guard, guard2, merged, pipeline }
