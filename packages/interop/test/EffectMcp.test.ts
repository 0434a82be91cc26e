import { assert, describe, it } from "@effect/vitest"
import { Abortable, Approval, Policy, Tool, type ToolCall, ToolRegistry } from "@quiesce/core"
import * as EffectMcp from "@quiesce/interop/EffectMcp"
import * as McpProtocol from "effect/ai/McpProtocol"
import * as McpTest from "effect/ai/McpTest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Queue from "effect/Queue"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/testing/TestClock"
import { cites } from "../../../tests/conformance/cites.ts"
import { add, obedient } from "./support/tools.ts"

const serve = <E, R>(registry: Layer.Layer<ToolRegistry.ToolRegistry, E, R>) =>
  McpTest.makeClient(Layer.provideMerge(EffectMcp.layer, registry), { protocols: [McpProtocol.v2025_11_25] })

/** Sleeps until it is interrupted, and then takes a second to end. */
const sleeper = () => {
  const { promise, resolve } = Promise.withResolvers<void>()
  const events: Array<string> = []
  const tool = Tool.make("sleep", {
    description: "Sleeps",
    parameters: Schema.Struct({}),
    success: Schema.String,
    execute: () => {
      resolve()
      return Effect.never.pipe(
        Effect.onInterrupt(() => Effect.delay(Effect.sync(() => events.push("quiet")), "1 second"))
      )
    }
  })
  return { tool, events, begun: Abortable.promise(() => promise) }
}

describe("effect's MCP server, with our registry", () => {
  it.effect(
    cites("lists its tools and makes calls, whose failures are results", "PROMISE-03"),
    () =>
      Effect.gen(function*() {
        const { callTool, listTools } = yield* serve(ToolRegistry.layer([add]))
        const { tools } = yield* listTools()
        assert.deepStrictEqual(tools.map(({ description, name }) => [name, description]), [["add", "Adds two numbers"]])
        assert.deepInclude(tools[0]!.inputSchema, { type: "object", required: ["a", "b"] })
        const sum = yield* callTool({ name: "add", arguments: { a: 1, b: 2 } })
        assert.isFalse(sum.isError)
        assert.deepInclude(sum.content[0], { type: "text", text: "3" })
        const wrong = yield* callTool({ name: "add", arguments: { a: "one" } })
        assert.isTrue(wrong.isError)
        assert.match(JSON.stringify(wrong.content), /\$\.a.*\$\.b/s)
      })
  )

  it.effect(
    cites("serves tools that are added later, and says that one which left is unknown", "PROMISE-03"),
    () =>
      Effect.gen(function*() {
        const context = yield* Layer.build(ToolRegistry.layer([]))
        const registry = yield* Effect.provideContext(ToolRegistry.ToolRegistry, context)
        const { callTool, listTools, notifications } = yield* serve(Layer.succeedContext(context))
        assert.deepStrictEqual((yield* listTools()).tools, [])
        const scope = yield* Scope.make()
        yield* registry.register(add).pipe(Scope.provide(scope))
        // The client is told.
        yield* Queue.take(notifications)
        assert.deepStrictEqual((yield* listTools()).tools.map(({ name }) => name), ["add"])
        assert.isFalse((yield* callTool({ name: "add", arguments: { a: 1, b: 2 } })).isError)
        yield* Scope.close(scope, Exit.void)
        const gone = yield* callTool({ name: "add", arguments: { a: 1, b: 2 } })
        assert.isTrue(gone.isError)
        assert.match(JSON.stringify(gone.content), /add/)
      })
  )

  it.effect(cites("cancels the call of a request that is cancelled", "PROMISE-03"), () =>
    Effect.gen(function*() {
      const { begun, events, tool } = sleeper()
      const context = yield* Layer.build(ToolRegistry.layer([tool]))
      const registry = yield* Effect.provideContext(ToolRegistry.ToolRegistry, context)
      const { callTool } = yield* serve(Layer.succeedContext(context))
      const request = yield* Effect.forkChild(callTool({ name: "sleep", arguments: {} }))
      yield* begun
      yield* Fiber.interrupt(request)
      const idle = yield* Effect.forkChild(registry.whenIdle)
      yield* TestClock.adjust("999 millis")
      // The client does not wait, and the registry still tells the truth.
      assert.isUndefined(idle.pollUnsafe())
      assert.deepInclude((yield* registry.inFlight)[0], { name: "sleep", cancelling: { _tag: "Interrupt" } })
      yield* TestClock.adjust("1 millis")
      yield* Fiber.join(idle)
      assert.deepStrictEqual(events, ["quiet"])
    }))

  it.effect(cites("is told of a tool's spent budget by a result", "PROMISE-03"), () =>
    Effect.gen(function*() {
      const slow = obedient("obedient", { timeout: 1_000 })
      const { callTool } = yield* serve(ToolRegistry.layer([slow.tool]))
      const request = yield* Effect.forkChild(callTool({ name: "obedient", arguments: {} }))
      yield* Abortable.promise(() => slow.next())
      yield* TestClock.adjust("1 second")
      const { content, isError } = yield* Fiber.join(request)
      assert.isTrue(isError)
      assert.match(JSON.stringify(content), /after 1s/)
    }))

  it.effect(
    cites("has the registry's approval asked inside of the call, and taken back with it", "PROMISE-03"),
    () =>
      Effect.gen(function*() {
        const asked = Promise.withResolvers<AbortSignal>()
        const approval = Approval.fromPromise((_: ToolCall.Pending, signal) => {
          asked.resolve(signal)
          return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)))
        })
        const policy: Policy.Policy = { pre: () => Effect.succeed(Policy.ask("really?")) }
        const context = yield* Layer.build(
          Layer.provide(ToolRegistry.layer([add]), [Policy.layer(policy), Approval.layer(approval)])
        )
        const registry = yield* Effect.provideContext(ToolRegistry.ToolRegistry, context)
        const { callTool } = yield* serve(Layer.succeedContext(context))
        const request = yield* Effect.forkChild(callTool({ name: "add", arguments: { a: 1, b: 2 } }))
        const question = yield* Abortable.promise(() => asked.promise)
        assert.deepInclude((yield* registry.inFlight)[0], { stage: "approval" })
        yield* Fiber.interrupt(request)
        yield* registry.whenIdle
        assert.isTrue(question.aborted)
      })
  )

  it.effect(cites("is closed when its calls are quiet", "PROMISE-03"), () =>
    Effect.gen(function*() {
      const { begun, events, tool } = sleeper()
      const scope = yield* Scope.make()
      const { callTool } = yield* Scope.provide(serve(ToolRegistry.layer([tool])), scope)
      yield* Effect.forkChild(callTool({ name: "sleep", arguments: {} }))
      yield* begun
      const closing = yield* Effect.forkChild(Scope.close(scope, Exit.void))
      yield* TestClock.adjust("999 millis")
      assert.isUndefined(closing.pollUnsafe())
      yield* TestClock.adjust("1 millis")
      yield* Fiber.join(closing)
      assert.deepStrictEqual(events, ["quiet"])
    }))
})
