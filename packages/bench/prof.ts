import { Policy, Tool, ToolRegistry } from "@quiesce/core"
import { Effect, Layer, Schema } from "effect"
import { reference } from "./src/floors/reference.ts"
const tool = Tool.fromPromise("search", { description: "s", parameters: Schema.Struct({ query: Schema.String, limit: Schema.Number }), success: Schema.String, timeout: process.argv[2] === "full" ? "1 minute" : undefined, execute: async ({ query }) => query })
const policy = Policy.layer({ pre: () => Effect.succeed(Policy.allow), post: () => Effect.succeed(Policy.accept()) })
const live = process.argv[2] === "full" ? ToolRegistry.layer([tool]).pipe(Layer.provide(policy)) : ToolRegistry.layer([tool])
const n = 5_000
const ref = await reference.open(async ({ query }) => query)
await Effect.runPromise(Effect.scoped(Effect.gen(function*() {
  const r = yield* Effect.provide(ToolRegistry.ToolRegistry, yield* Layer.build(live))
  const c = new AbortController()
  const run = async (k: number) => { for (let i = 0; i < k; i++) await r.executePromise({ callId: "a", name: "search", arguments: { query: "q", limit: 1 }, signal: c.signal }) }
  const runRef = async (k: number) => { for (let i = 0; i < k; i++) await ref.call({ query: "q", limit: 1 }, c.signal) }
  yield* Effect.promise(() => run(20000)); yield* Effect.promise(() => runRef(20000))
  const time = (f: (n: number) => Promise<void>) => Effect.promise(async () => { const t = process.cpuUsage(); await f(n); const d = process.cpuUsage(t); return (d.user + d.system) / n })
  const a: number[] = [], b: number[] = []
  for (let k = 0; k < 15; k++) { a.push(yield* time(run)); b.push(yield* time(runRef)) }
  const med = (x: number[]) => x.sort((p, q) => p - q)[x.length >> 1]!
  console.log(process.argv[2], "ours", med(a).toFixed(2), "ref", med(b).toFixed(2), "ratio", (med(a) / med(b)).toFixed(2), "best ratio", (a[0]! / b[0]!).toFixed(2))
})))
