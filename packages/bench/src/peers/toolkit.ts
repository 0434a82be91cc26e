/** The Toolkit of effect/ai: schemas on both sides of the handler, run as its language models run it. */
import { Effect, Schema, Stream } from "effect"
import { Tool, Toolkit } from "effect/ai"
import type { Host } from "../Host.ts"

const Search = Tool.make("search", {
  description: "s",
  parameters: Schema.Struct({ query: Schema.String, limit: Schema.Number }),
  success: Schema.String
})

export const toolkit: Host = {
  name: "effect/ai Toolkit",
  lacks: "policy, deadline, quiescence of promises, a signal for promises",
  open: async (body) => {
    const kit = Toolkit.make(Search)
    // What a user writes for promise code. The handler is given no signal; this one is the platform's, from Effect.
    const handlers = kit.toLayer({ search: (parameters) => Effect.promise((signal) => body(parameters, { signal })) })
    const ready = await Effect.runPromise(kit.pipe(Effect.provide(handlers)))
    return {
      call: (parameters, signal) =>
        Effect.runPromise(ready.handle("search", parameters).pipe(Effect.flatMap(Stream.runCollect)), { signal }),
      close: async () => {}
    }
  }
}
