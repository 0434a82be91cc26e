import { Effect, Context } from "effect"
import { snapshot } from "../core/src/internal/json.ts"
import * as Hub from "../core/src/internal/signalHub.ts"
import * as Ward from "../core/src/internal/ward.ts"
import { PromiseWork, tie } from "../core/src/internal/work.ts"
const n = 20000
const time = async (name: string, f: () => unknown) => { for (let i = 0; i < n; i++) await f(); const xs: number[] = []; for (let k = 0; k < 7; k++) { const t = process.cpuUsage(); for (let i = 0; i < n; i++) { const x = f(); if (x instanceof Promise) await x } const d = process.cpuUsage(t); xs.push((d.user + d.system) / n) } xs.sort((a, b) => a - b); console.log(name, xs[0]!.toFixed(2), xs[3]!.toFixed(2)) }
const c = new AbortController()
const ctx = Context.empty() as Context.Context<never>
await time("bare await", async () => { await (async () => 1)() })
await time("snapshot", () => snapshot({ query: "q", limit: 1 }))
await time("hub", () => Hub.unsubscribe(Hub.subscribe(c.signal, () => {})))
await time("runFork succeed", () => Effect.runFork(Effect.succeed(1)))
await time("runForkWith ward", () => Effect.runForkWith(Ward.enter(ctx, { cancellation: undefined, owner: undefined, outer: undefined }))(Effect.succeed(1)))
const g = Effect.fnUntraced(function*() { let x = 0; for (let i = 0; i < 8; i++) x += yield* Effect.succeed(i); return x })
await time("gen 8", () => Effect.runFork(g()))
await time("window x2", () => Effect.runFork(Effect.flatMap(Effect.exit(Effect.interruptible(Effect.suspend(() => Effect.succeed(1)))), () => Effect.exit(Effect.interruptible(Effect.suspend(() => Effect.succeed(1)))))))
await time("runPromise succeed", () => Effect.runPromise(Effect.succeed(1)))
await time("callback promise", () => Effect.runPromise(Effect.callback<number>((r) => { Promise.resolve(1).then((x) => r(Effect.succeed(x))) })))
await time("tie promise", () => Effect.runPromise(tie(() => new PromiseWork<number, never>(async () => 1, {}))))
await time("freeze3", () => Object.freeze({ a: Object.freeze([Object.freeze({ type: "text", text: "x" })]), b: 1, c: 2, d: 3, e: 4, f: 5 }))
