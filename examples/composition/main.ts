/**
 * Tools composed as one effect.
 *
 * `ToolRegistry.call` makes of a tool call a typed effect, so Effect's own combinators put calls together: in sequence,
 * in parallel, with a fallback, with a retry. And since a call is a fiber, what a combinator gives up on is cancelled and
 * awaited. The same holds for calls that the body of a tool makes: they are over before it is.
 */
import { Abortable, Observer, Tool, ToolRegistry } from "@quiesce/core"
import { Effect, Layer, Schedule, Schema } from "effect"
import assert from "node:assert/strict"

const City = Schema.Struct({ city: Schema.String })
const Place = Schema.Struct({ latitude: Schema.Number, longitude: Schema.Number })

class Busy extends Schema.TaggedError<Busy>()("Busy", { attempt: Schema.Int }) {}
class OffAir extends Schema.TaggedError<OffAir>()("OffAir", {}) {}

const locate = Tool.make("locate", {
  description: "Find a city",
  parameters: City,
  success: Place,
  execute: () => Effect.succeed({ latitude: 60.4, longitude: 5.3 })
})

let attempt = 0
const forecast = Tool.make("forecast", {
  description: "Say what the weather will be",
  parameters: Place,
  success: Schema.String,
  failure: Busy,
  execute: () => ++attempt < 3 ? Effect.fail(new Busy({ attempt })) : Effect.succeed("rain")
})

const radio = Tool.make("radio", {
  description: "Listen to the news",
  parameters: City,
  success: Schema.String,
  failure: OffAir,
  execute: () => Effect.fail(new OffAir())
})

const paper = Tool.make("paper", {
  description: "Read yesterday's news",
  parameters: City,
  success: Schema.String,
  execute: ({ city }) => Effect.succeed(`${city} wins the cup`)
})

/** A sequence: the place, then its weather. The second call is made again as long as it fails with `Busy`. */
const weather = Effect.fnUntraced(function*(city: string) {
  const place = yield* ToolRegistry.call(locate, { city })
  return yield* ToolRegistry.call(forecast, place).pipe(
    Effect.retry({
      schedule: Schedule.exponential("5 millis"),
      times: 4,
      while: ({ failure }) => failure?._tag === "Busy"
    })
  )
})

/** A fallback: the news, or else those of yesterday. */
const news = (city: string) =>
  ToolRegistry.call(radio, { city }).pipe(
    Effect.catchTag("ToolCallFailed", () => ToolRegistry.call(paper, { city }))
  )

// A tool made of tools: the calls that its body makes are nested in the call to it.
const brief = Tool.make("brief", {
  description: "Say what there is to know about a city",
  parameters: City,
  success: Schema.Struct({ weather: Schema.String, news: Schema.String }),
  execute: ({ city }) => Effect.all({ weather: weather(city), news: news(city) }, { concurrency: "unbounded" })
})

// Two tools that end only when they are told to. One is an effect that takes a moment to clean up …
const watch = Tool.make("watch", {
  description: "Watch a city until nobody wants it any more",
  parameters: City,
  success: Schema.String,
  execute: () => Effect.ensuring(Effect.never, Effect.sleep("20 millis"))
})

// … and one is a promise function, which learns why.
const listening = Promise.withResolvers<void>()
let told: unknown
const listen = Tool.fromPromise("listen", {
  description: "Listen to a city until nobody wants it any more",
  parameters: City,
  success: Schema.String,
  execute: (_, { signal }) =>
    new Promise<string>((_, reject) => {
      signal.addEventListener("abort", () => {
        told = signal.reason
        reject(told)
      })
      listening.resolve()
    })
})

const vigil = Tool.make("vigil", {
  description: "Watch and listen until nobody wants it any more",
  parameters: City,
  success: Schema.Array(Schema.String),
  execute: ({ city }) =>
    Effect.all([ToolRegistry.call(watch, { city }), ToolRegistry.call(listen, { city })], { concurrency: "unbounded" })
})

/** The calls that have settled, in the order in which they did. */
let settled: Array<string> = []
const record = Observer.layer((call, result) =>
  Effect.sync(() => {
    settled.push(`${call.name} ${result._tag === "Success" ? "Success" : result.error.code}`)
  })
)

const scene = (title: string, outcome: unknown): void => {
  console.log(`${title}\n  ${settled.join(", ")}\n  ${JSON.stringify(outcome)}\n`)
  settled = []
}

const main = Effect.gen(function*() {
  const registry = yield* ToolRegistry.ToolRegistry

  const facts = yield* ToolRegistry.call(brief, { city: "Bergen" })
  assert.deepEqual(facts, { weather: "rain", news: "Bergen wins the cup" })
  assert.equal(settled.filter((call) => call === "forecast TOOL_FAILURE").length, 2)
  scene("Sequence and fallback, side by side, with a retry", facts)

  // Nobody hears of the failure before the sibling that was still at work is quiet.
  const failed = yield* Effect.all(
    [ToolRegistry.call(watch, { city: "Bergen" }), ToolRegistry.call(radio, { city: "Bergen" })],
    { concurrency: "unbounded" }
  ).pipe(Effect.flip)
  assert.ok(failed.failure instanceof OffAir)
  assert.deepEqual(settled, ["radio TOOL_FAILURE", "watch ABORTED"])
  scene("One fails, its sibling is stopped", failed.result.error)

  // The outer call is cancelled: the inner ones are told why, and settle first.
  const user = new AbortController()
  const result = yield* Abortable.promise(async () => {
    const { signal } = user
    const result = registry.executePromise({ callId: "1", name: "vigil", arguments: { city: "Bergen" }, signal })
    await listening.promise
    user.abort("the user left")
    return result
  })
  assert.ok(result._tag === "Failure" && result.error.code === "ABORTED")
  assert.equal(told, "the user left")
  assert.deepEqual(settled, ["listen ABORTED", "watch ABORTED", "vigil ABORTED"])
  scene("Calls inside a call end with it", result.error)
})

const tools = ToolRegistry.layerTools([brief, vigil]).pipe(
  Layer.provideMerge(ToolRegistry.layer([locate, forecast, radio, paper, watch, listen])),
  Layer.provide(record)
)

await Effect.runPromise(Effect.provide(main, tools))
