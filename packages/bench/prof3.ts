import { Policy, Tool, ToolRegistry } from "@quiesce/core"
import { Effect, Layer, Schema } from "effect"
import { reference } from "./src/floors/reference.ts"
const tool = Tool.fromPromise("search", { description: "s", parameters: Schema.Struct({ query: Schema.String, limit: Schema.Number }), success: Schema.String, execute: async ({ query }) => query })
const ref = await reference.open(async ({ query }) => query)
await Effect.runPromise(Effect.scoped(Effect.gen(function*() {
  const r = yield* Effect.provide(ToolRegistry.ToolRegistry, yield* Layer.build(ToolRegistry.layer([tool])))
  const c = new AbortController()
  const run = async (k: number) => { for (let i = 0; i < k; i++) await r.executePromise({ callId: "a", name: "search", arguments: { query: "q", limit: 1 }, signal: c.signal }) }
  const runRef = async (k: number) => { for (let i = 0; i < k; i++) await ref.call({ query: "q", limit: 1 }, c.signal) }
  yield* Effect.promise(() => run(20000)); yield* Effect.promise(() => runRef(20000))
  for (const f of [run, runRef]) { (globalThis as any).gc(); const b = process.memoryUsage().heapUsed; yield* Effect.promise(() => f(2000)); console.log((process.memoryUsage().heapUsed - b) / 2000, "bytes/call") }
})))
