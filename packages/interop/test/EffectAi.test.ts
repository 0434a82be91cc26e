import { assert, describe, it } from "@effect/vitest"
import { Abortable, Approval, Policy, Tool, type ToolCall, ToolRegistry } from "@quiesce/core"
import * as EffectAi from "@quiesce/interop/EffectAi"
import * as LanguageModel from "effect/ai/LanguageModel"
import * as AiTool from "effect/ai/Tool"
import * as Toolkit from "effect/ai/Toolkit"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import { cites } from "../../../tests/conformance/cites.ts"
import { scripted } from "./support/effectModel.ts"
import { add, held, join, obedient } from "./support/tools.ts"

/** Sleeps until it is interrupted, and then takes a second to end. `begun` is when `count` of them run. */
const sleepers = (count = 2) => {
  const events: Array<string> = []
  const { promise, resolve } = Promise.withResolvers<void>()
  const tool = Tool.make("slow", {
    description: "Sleeps",
    parameters: Schema.Struct({}),
    success: Schema.String,
    execute: () => {
      if (events.push("began") === count) resolve()
      return Effect.never.pipe(
        Effect.onInterrupt(() => Effect.delay(Effect.sync(() => events.push("quiet")), "1 second"))
      )
    }
  })
  return { events, tool, begun: Abortable.promise(() => promise) }
}

const generate = LanguageModel.generateText({ prompt: "go", toolkit: EffectAi.toolkit })

const results = (response: { readonly toolResults: ReadonlyArray<any> }) =>
  response.toolResults.map(({ id, isFailure, modelOutput, encodedResult }) => [
    id,
    isFailure ? encodedResult : modelOutput.map(({ text }: { text: string }) => text)
  ]).sort()

describe("EffectAi.toolkit", () => {
  it.effect(cites("shows a model the tools of a registry, and what its calls came to", "PROMISE-03"), () => {
    const { offered, provide } = scripted([["1", "add", { a: 1, b: 2 }], ["2", "join", { words: ["no", "more"] }]])
    return Effect.gen(function*() {
      const response = yield* generate
      assert.deepStrictEqual(results(response), [["1", ["3"]], ["2", ["\"no more\""]]])
      assert.deepInclude(response.toolResults[0]?.result, { _tag: "Success", value: 3, dispatched: true })
      assert.deepStrictEqual(offered[0]?.map(({ description, name }) => [name, description]), [
        ["add", "Adds two numbers"],
        ["join", "Joins words"]
      ])
    }).pipe(provide, Effect.provide(ToolRegistry.layer([add, join])))
  })

  it.effect(cites("tells a model every issue of its arguments, with its path", "PROMISE-03", "PROMISE-04"), () => {
    const { provide } = scripted([["1", "add", { a: "one" }]])
    return Effect.gen(function*() {
      const response = yield* generate
      const [failure] = response.toolResults
      assert.isTrue(failure?.isFailure)
      assert.deepInclude(failure?.result, { code: "INVALID_ARGUMENTS", dispatched: false })
      assert.match(JSON.stringify(failure?.encodedResult), /\$\.a.*\$\.b/s)
    }).pipe(provide, Effect.provide(ToolRegistry.layer([add])))
  })

  it.effect(cites("shows what a policy left of a result, and of a failure", "PROMISE-03"), () => {
    const { provide } = scripted([["1", "add", { a: 1, b: 2 }], ["2", "add", { a: 9, b: 9 }]])
    const policy: Policy.Policy = {
      pre: (call) => call.callId === "2" ? Policy.deny("not that much") : Effect.succeed(Policy.allow),
      post: () => Effect.succeed(Policy.accept({ content: [{ type: "text", text: "withheld" }], contexts: ["mind"] }))
    }
    return Effect.gen(function*() {
      const response = yield* generate
      assert.deepStrictEqual(results(response), [["1", ["withheld", "mind"]], ["2", {
        code: "DENIED",
        dispatched: false,
        message: "withheld\nmind"
      }]])
    }).pipe(provide, Effect.provide(Layer.provide(ToolRegistry.layer([add]), Policy.layer(policy))))
  })

  for (
    const [face, generation, last] of [
      // It makes its calls one by one, unless it is told otherwise; and it ends them one by one in any case.
      [
        "generateText",
        Effect.asVoid(
          LanguageModel.generateText({ prompt: "go", toolkit: EffectAi.toolkit, concurrency: "unbounded" })
        ),
        "1999 millis"
      ],
      [
        "streamText",
        Stream.runDrain(LanguageModel.streamText({ prompt: "go", toolkit: EffectAi.toolkit })),
        "999 millis"
      ]
    ] as const
  ) {
    it.effect(
      cites(`cancels the calls of an interrupted ${face}, which ends when they are quiet`, "PROMISE-03"),
      () => {
        const { begun, events, tool } = sleepers()
        const { provide } = scripted([["1", "slow", {}], ["2", "slow", {}]])
        return Effect.gen(function*() {
          const registry = yield* ToolRegistry.ToolRegistry
          const seen: Array<string> = []
          yield* registry.observe({
            settled: (_, result) =>
              Effect.sync(() => void seen.push(result._tag === "Failure" ? result.error.code : result._tag))
          })
          const fiber = yield* Effect.forkChild(generation)
          yield* begun
          const stopping = yield* Effect.forkChild(Fiber.interrupt(fiber))
          yield* TestClock.adjust(last)
          assert.isUndefined(stopping.pollUnsafe())
          assert.isNotEmpty(yield* registry.inFlight)
          yield* TestClock.adjust("1 millis")
          yield* Fiber.join(stopping)
          assert.deepStrictEqual(events, ["began", "began", "quiet", "quiet"])
          assert.deepStrictEqual(yield* registry.inFlight, [])
          assert.deepStrictEqual(seen, ["ABORTED", "ABORTED"])
        }).pipe(Effect.scoped, provide, Effect.provide(ToolRegistry.layer([tool])))
      }
    )
  }

  it.effect(cites("waits for a body that does not mind being aborted", "PROMISE-03"), () => {
    const stuck = held()
    const { provide } = scripted([["1", "held", {}]])
    return Effect.gen(function*() {
      const fiber = yield* Effect.forkChild(generate)
      const run = yield* Abortable.promise(() => stuck.next())
      const stopping = yield* Effect.forkChild(Fiber.interrupt(fiber), { startImmediately: true })
      assert.isTrue(run.call.signal.aborted)
      assert.isUndefined(stopping.pollUnsafe())
      run.finish("late")
      yield* Fiber.join(stopping)
    }).pipe(provide, Effect.provide(ToolRegistry.layer([stuck.tool])))
  })

  it.effect(cites("is TOOL_TIMEOUT to a model when a tool's own budget is spent", "PROMISE-03"), () => {
    const slow = obedient("obedient", { timeout: 1_000 })
    const { provide } = scripted([["1", "obedient", {}]])
    return Effect.gen(function*() {
      const fiber = yield* Effect.forkChild(generate)
      yield* Abortable.promise(() => slow.next())
      yield* TestClock.adjust("1 second")
      const { toolResults } = yield* Fiber.join(fiber)
      assert.deepInclude(toolResults[0]?.result, { code: "TOOL_TIMEOUT", dispatched: true })
    }).pipe(provide, Effect.provide(ToolRegistry.layer([slow.tool])))
  })

  it.effect(cites("is cancelled by a timeout around the generation, which waits for it", "PROMISE-03"), () => {
    const { begun, events, tool } = sleepers(1)
    const { provide } = scripted([["1", "slow", {}]])
    return Effect.gen(function*() {
      const fiber = yield* Effect.forkChild(Effect.timeoutOption(generate, "5 seconds"))
      yield* begun
      yield* TestClock.adjust("5 seconds")
      yield* TestClock.adjust("999 millis")
      assert.isUndefined(fiber.pollUnsafe())
      yield* TestClock.adjust("1 millis")
      assert.isTrue(Option.isNone(yield* Fiber.join(fiber)))
      assert.deepStrictEqual(events, ["began", "quiet"])
    }).pipe(provide, Effect.provide(ToolRegistry.layer([tool])))
  })

  it.effect(cites("is a part of the call inside which the generation runs", "PROMISE-03", "CALL-26"), () => {
    const { provide } = scripted([["inner", "who", {}]])
    const roots: Array<string> = []
    const who = Tool.make("who", {
      description: "",
      parameters: Schema.Struct({}),
      success: Schema.Null,
      execute: (_, call) => Effect.sync(() => (roots.push(call.rootCallId), null))
    })
    const agent = Tool.make("agent", {
      description: "",
      parameters: Schema.Struct({}),
      success: Schema.Null,
      execute: () => Effect.as(provide(Effect.provide(generate, ToolRegistry.layer([who]))), null)
    })
    return Effect.gen(function*() {
      const registry = yield* ToolRegistry.ToolRegistry
      yield* registry.execute({ callId: "outer", name: "agent", arguments: {} })
      assert.deepStrictEqual(roots, ["outer"])
    }).pipe(Effect.provide(ToolRegistry.layer([agent])))
  })
})

class Shouting extends Context.Service<Shouting, { readonly shout: (text: string) => string }>()("test/Shouting") {}

class TooLoud extends Schema.TaggedError<TooLoud>("test/TooLoud")("TooLoud", { text: Schema.String }) {}

describe("EffectAi.fromToolkit", () => {
  const Shout = AiTool.make("Shout", {
    description: "Shouts",
    parameters: Schema.Struct({ text: Schema.String, times: Schema.NumberFromString }),
    success: Schema.Struct({ said: Schema.String, at: Schema.DateTimeUtcFromString }),
    failure: TooLoud,
    dependencies: [Shouting]
  })
  const Plain = AiTool.make("Plain", { success: Schema.String, failure: Schema.String, failureMode: "return" })
  const toolkit = Toolkit.make(Shout, Plain)
  const [shout, plain] = EffectAi.fromToolkit(toolkit) as [
    Extract<EffectAi.Imported<Toolkit.Tools<typeof toolkit>>, { readonly name: "Shout" }>,
    Extract<EffectAi.Imported<Toolkit.Tools<typeof toolkit>>, { readonly name: "Plain" }>
  ]
  const handlers = (events: Array<string> = []) =>
    toolkit.toLayer({
      Shout: Effect.fnUntraced(function*({ text, times }, { preliminary, toolCallId }) {
        events.push(`${toolCallId} ${times}`)
        if (times > 10) return yield* new TooLoud({ text })
        const { shout } = yield* Shouting
        const { DateTime } = yield* Effect.promise(() => import("effect"))
        yield* preliminary({ said: "…", at: DateTime.makeUnsafe(0) })
        return { said: shout(text), at: DateTime.makeUnsafe(0) }
      }),
      Plain: () => Effect.fail("plainly wrong")
    })
  const shouting = Layer.succeed(Shouting, { shout: (text) => `${text}!` })
  const registry = (events?: Array<string>) =>
    ToolRegistry.layer([shout, plain]).pipe(Layer.provide(handlers(events)), Layer.provide(shouting))

  it.effect(
    cites("makes tools that run the toolkit's handlers, typed as they were", "PROMISE-03"),
    () =>
      Effect.gen(function*() {
        const { said } = yield* ToolRegistry.call(shout, { text: "hey", times: "2" }, { callId: "1" })
        assert.strictEqual(said, "hey!")
        const { execute } = yield* ToolRegistry.ToolRegistry
        const result = yield* execute({ callId: "2", name: "Shout", arguments: { text: "hey", times: "2" } })
        assert.deepInclude(result, { _tag: "Success", value: { said: "hey!", at: "1970-01-01T00:00:00.000Z" } })
      }).pipe(Effect.provide(registry()))
  )

  it.effect(cites("has arguments checked before anything runs, with paths", "PROMISE-03", "PROMISE-04"), () => {
    const events: Array<string> = []
    return Effect.gen(function*() {
      const { execute } = yield* ToolRegistry.ToolRegistry
      const result = yield* execute({ callId: "1", name: "Shout", arguments: { times: 2 } })
      assert.deepInclude(result, { _tag: "Failure", dispatched: false })
      assert.match(JSON.stringify(result), /\$\.text.*\$\.times/s)
      assert.deepStrictEqual(events, [])
    }).pipe(Effect.provide(registry(events)))
  })

  it.effect(
    cites("keeps the failures typed, whatever the toolkit's failure mode", "PROMISE-03"),
    () =>
      Effect.gen(function*() {
        const loud = yield* Effect.flip(ToolRegistry.call(shout, { text: "hey", times: "11" }))
        assert.strictEqual(loud.code, "TOOL_FAILURE")
        assert.instanceOf(loud.failure, TooLoud)
        assert.strictEqual(loud.failure.text, "hey")
        const wrong = yield* Effect.flip(ToolRegistry.call(plain, {}))
        assert.strictEqual(wrong.failure, "plainly wrong")
      }).pipe(Effect.provide(registry()))
  )

  it.effect(cites("is interrupted with its call and awaited", "PROMISE-03"), () => {
    const Wait = AiTool.make("Wait", { success: Schema.Null })
    const waits = Toolkit.make(Wait)
    return Effect.gen(function*() {
      const begun = yield* Deferred.make<void>()
      const events: Array<string> = []
      const live = ToolRegistry.layer(EffectAi.fromToolkit(waits)).pipe(Layer.provide(waits.toLayer({
        Wait: () =>
          Effect.andThen(Deferred.succeed(begun, undefined), Effect.never).pipe(
            Effect.onInterrupt(() => Effect.delay(Effect.sync(() => events.push("quiet")), "1 second"))
          )
      })))
      yield* Effect.gen(function*() {
        const { start } = yield* ToolRegistry.ToolRegistry
        const call = yield* start({ callId: "1", name: "Wait", arguments: {} })
        yield* Deferred.await(begun)
        yield* call.cancel()
        const result = yield* Effect.forkChild(call.result)
        yield* TestClock.adjust("999 millis")
        assert.isUndefined(result.pollUnsafe())
        yield* TestClock.adjust("1 millis")
        const ended = yield* Fiber.join(result)
        assert.strictEqual(ended._tag === "Failure" && ended.error.code, "ABORTED")
        assert.deepStrictEqual(events, ["quiet"])
      }).pipe(Effect.provide(live))
    })
  })

  it.effect(cites("shows a model what the tool wants it to see", "PROMISE-03"), () => {
    const Look = AiTool.make("Look", {
      success: Schema.Struct({ width: Schema.Number }),
      toModelOutput: ({ width }) => [
        { type: "text", text: `${width} wide` } as any,
        { type: "file", mediaType: "image/png", data: "" } as any
      ]
    })
    const looks = Toolkit.make(Look)
    return Effect.gen(function*() {
      const { execute } = yield* ToolRegistry.ToolRegistry
      const { content } = yield* execute({ callId: "1", name: "Look", arguments: {} })
      assert.deepStrictEqual(content.map(({ text }) => text), ["3 wide", "[image/png]"])
    }).pipe(Effect.provide(
      ToolRegistry.layer(EffectAi.fromToolkit(looks)).pipe(
        Layer.provide(looks.toLayer({ Look: () => Effect.succeed({ width: 3 }) }))
      )
    ))
  })

  it.effect(cites("takes tools that are known by a JSON Schema alone", "PROMISE-03"), () => {
    const Echo = AiTool.dynamic("Echo", {
      description: "Echoes",
      parameters: { type: "object", properties: { a: { type: "number" } } }
    })
    const echoes = Toolkit.make(Echo)
    return Effect.gen(function*() {
      const { execute, schemas } = yield* ToolRegistry.ToolRegistry
      assert.deepStrictEqual(yield* schemas, [{ name: "Echo", description: "Echoes", inputSchema: Echo.jsonSchema! }])
      const result = yield* execute({ callId: "1", name: "Echo", arguments: { a: 1 } })
      assert.deepInclude(result, { value: { a: 1 } })
    }).pipe(Effect.provide(
      ToolRegistry.layer(EffectAi.fromToolkit(echoes)).pipe(
        Layer.provide(echoes.toLayer({ Echo: (input: unknown) => Effect.succeed(input) }))
      )
    ))
  })

  it.effect(cites("knows approvals that are asked before the handler, and cannot hand them on", "PROMISE-03"), () => {
    const asking = Toolkit.make(AiTool.make("Asking", { success: Schema.String, needsApproval: true }))
    const { provide } = scripted([["1", "Asking", {}]])
    return Effect.gen(function*() {
      const { content } = yield* LanguageModel.generateText({ prompt: "go", toolkit: asking })
      assert.deepStrictEqual(content.map(({ type }) => type), ["tool-call", "finish", "tool-approval-request"])
      assert.throws(() => EffectAi.fromToolkit(asking), EffectAi.NotImportable)
    }).pipe(provide, Effect.provide(asking.toLayer({ Asking: () => Effect.die("it was not asked") })))
  })

  it(cites("refuses a tool that asks for approval, and one that a provider runs", "PROMISE-03"), () => {
    const asking = AiTool.make("Asking", { needsApproval: true })
    assert.throws(
      () => EffectAi.fromToolkit(Toolkit.make(asking)),
      /"Asking" cannot be imported: it has `needsApproval`/
    )
    const provided = AiTool.providerDefined({ id: "x.search", customName: "Search", providerName: "search" })()
    assert.throws(() => EffectAi.fromToolkit(Toolkit.make(provided as any)), EffectAi.NotImportable)
  })
})

it.effect(cites("tools that came from effect/ai go back to it, and end with its generation", "PROMISE-03"), () => {
  const Ask = AiTool.make("Ask", { success: Schema.String })
  const asks = Toolkit.make(Ask)
  const { provide } = scripted([["1", "Ask", {}]])
  const asked = Promise.withResolvers<AbortSignal>()
  return Effect.gen(function*() {
    const fiber = yield* Effect.forkChild(generate)
    const signal = yield* Abortable.promise(() => asked.promise)
    yield* Fiber.interrupt(fiber)
    // What it was asking is taken back.
    assert.isTrue(signal.aborted)
    const exit = yield* Fiber.await(fiber)
    assert.isTrue(Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause))
  }).pipe(
    provide,
    Effect.provide(
      ToolRegistry.layer(EffectAi.fromToolkit(asks)).pipe(
        Layer.provide(asks.toLayer({ Ask: () => Effect.succeed("never") })),
        Layer.provide([
          Policy.layer({ pre: () => Effect.succeed(Policy.ask("really?")) }),
          Approval.layer(Approval.fromPromise((_call: ToolCall.Pending, signal) => {
            asked.resolve(signal)
            return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)))
          }))
        ])
      )
    )
  )
})
