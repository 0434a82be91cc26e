/** Calls among others: made inside one another, while tools go, while somebody waits for all of them to be quiet. */
import { Abortable, Tool, type ToolCall, ToolRegistry, type ToolResult } from "@quiesce/core"
import { Edge } from "@quiesce/testing"
import { Context, Deferred, Effect, Exit, Fiber, Layer, Schema, Scope } from "effect"
import type { Race, Subject } from "./Race.ts"

const parameters = Schema.Struct({})
const success = Schema.String

const input = (name: string): ToolCall.Input => ({ callId: name, name, arguments: {} })

const codeOf = (result: ToolResult.ToolResult) => result._tag === "Success" ? "Success" : result.error.code

const claim = (holds: boolean, otherwise: string) => {
  if (!holds) throw new Error(otherwise)
}

/** A tool whose bodies end when the outside world says so and mind no signal, with how many of them run. */
const stubborn = (edge: Edge.Shape, name: string) => {
  const state = { entered: 0, running: 0 }
  const tool = Tool.fromPromise(name, {
    description: "",
    parameters,
    success,
    execute: async () => {
      state.entered++
      state.running++
      return edge.promise(`${name} ends`, () => {
        state.running--
        return "value"
      })
    }
  })
  return { state, tool }
}

const registryOf = (tools: ReadonlyArray<Tool.AnyNoServices>) =>
  Edge.setup(
    Effect.map(Layer.build(ToolRegistry.layer(tools)), (context) => Context.get(context, ToolRegistry.ToolRegistry))
  )

/** Says that the calls of `inner` are over whenever one of `outer` has settled. */
const nests = (registry: ToolRegistry.Shape, outer: string, inner: { readonly running: number }) =>
  registry.observe(({ name }) =>
    Effect.sync(() => claim(name !== outer || inner.running === 0, "a call is over, and one made inside it is not"))
  )

/** Promise code with a body's token calls at any moment: while it runs, while it ends, after it is over. */
const byToken = Effect.gen(function*() {
  const edge = yield* Edge.Edge
  const inner = stubborn(edge, "inner")
  const { signal } = new AbortController()
  let outerOver = false
  let result: Promise<ToolResult.ToolResult> | undefined
  const outer = Tool.fromPromise("outer", {
    description: "",
    parameters,
    success,
    execute: (_, { token }) => {
      edge.action("call inside", () => {
        const before = outerOver
        result = registry.executePromise({ ...input("inner"), parent: token, signal })
        claim(!before || inner.state.entered === 0, "a call began inside one that was over")
      })
      return edge.promise("outer ends", () => "outer")
    }
  })
  const registry = yield* registryOf([inner.tool, outer])
  yield* nests(registry, "outer", inner.state)
  yield* registry.observe(({ name }) => Effect.sync(() => void (outerOver ||= name === "outer")))
  const call = yield* registry.start(input("outer"))
  yield* Edge.action("CANCEL", () => void Effect.runFork(call.cancel()))
  const outcome = codeOf(yield* call.result)
  claim(inner.state.running === 0, "the result is there, and a call made inside is not over")
  return `${outcome}, ${result === undefined ? "made later" : "made inside"}`
})

/** A body starts a call and leaves it running; its own end, the inner's, and a cancel come in any order. */
const leftRunning = Effect.gen(function*() {
  const edge = yield* Edge.Edge
  const inner = stubborn(edge, "inner")
  const itself = yield* Deferred.make<ToolRegistry.Shape>()
  const outer = Tool.make("outer", {
    description: "",
    parameters,
    success,
    execute: () =>
      Effect.flatMap(Deferred.await(itself), (registry) => Effect.as(registry.start(input("inner")), "outer"))
  })
  const registry = yield* registryOf([inner.tool, outer])
  yield* Deferred.succeed(itself, registry)
  yield* nests(registry, "outer", inner.state)
  const fiber = yield* Effect.forkChild(registry.execute(input("outer")))
  yield* Edge.action("INTERRUPT", () => fiber.interruptUnsafe())
  const exit = yield* Fiber.await(fiber)
  claim(inner.state.running === 0, "the caller looks, and a call that was left running is not over")
  claim((yield* registry.inFlight).length === 0, "a call is still in flight")
  return Exit.isSuccess(exit)
    ? codeOf(exit.value)
    : `interrupted, inner ${inner.state.entered === 0 ? "never" : ""} made`
})

/** A part of a body is given up, by its own deadline, while the call made through its signal runs or ends. */
const partOfABody = Effect.gen(function*() {
  const edge = yield* Edge.Edge
  const seen = { running: 0 }
  const inner = Tool.fromPromise("inner", {
    description: "",
    parameters,
    success,
    execute: async (_, { signal }) => {
      seen.running++
      try {
        return await new Promise<string>((resolve, reject) => {
          signal.addEventListener("abort", () => reject(signal.reason))
          void edge.promise("inner ends", () => resolve("value"))
        })
      } finally {
        seen.running--
      }
    }
  })
  const outer = Tool.make("outer", {
    description: "",
    parameters,
    success,
    execute: () =>
      Abortable.promise((signal) => registry.executePromise({ ...input("inner"), signal })).pipe(
        Effect.timeoutOption("1 second"),
        Effect.map(({ _tag }) => {
          claim(seen.running === 0, "the part was given up, and the call made in it is not over")
          return _tag
        })
      )
  })
  const registry: ToolRegistry.Shape = yield* registryOf([inner, outer])
  yield* nests(registry, "outer", seen)
  const call = yield* registry.start(input("outer"))
  yield* Edge.action("CANCEL", () => void Effect.runFork(call.cancel()))
  const result = yield* call.result
  return result._tag === "Success" ? JSON.stringify(result.value) : result.error.code
})

/** A tool goes while a call of it is made: it is unknown, or cancelled and awaited. */
const unregistering = Effect.gen(function*() {
  const edge = yield* Edge.Edge
  const { state, tool } = stubborn(edge, "tool")
  const registry = yield* registryOf([])
  const scope = yield* Scope.make()
  yield* Edge.setup(Scope.provide(registry.register(tool), scope))
  const closing = yield* Effect.forkChild(Effect.andThen(Edge.wait("UNREGISTER"), Scope.close(scope, Exit.void)))
  const calling = yield* Effect.forkChild(Effect.andThen(Edge.wait("call"), registry.execute(input("tool"))))
  yield* Fiber.join(closing)
  claim(state.running === 0, "the registration is over, and a body of the tool is not")
  return codeOf(yield* Fiber.join(calling))
})

/** Somebody waits until all is quiet, while a call is made and cancelled. */
const idling = Effect.gen(function*() {
  const edge = yield* Edge.Edge
  const { state, tool } = stubborn(edge, "tool")
  const registry = yield* registryOf([tool])
  const calling = yield* Effect.forkChild(Effect.andThen(Edge.wait("call"), registry.execute(input("tool"))))
  yield* Edge.action("INTERRUPT", () => calling.interruptUnsafe())
  const waiting = yield* Effect.forkChild(Effect.gen(function*() {
    yield* Edge.wait("WAIT")
    const made = state.entered
    yield* registry.whenIdle
    // One that is made only now was not waited for.
    claim(made === 0 || state.running === 0, "the registry was said to be idle, and a body that was running runs")
  }))
  yield* Fiber.await(calling)
  yield* registry.whenIdle
  claim(state.running === 0, "the registry is idle, and a body runs")
  yield* Fiber.join(waiting)
  return state.entered === 0 ? "never made" : "made"
})

/** Two bodies ask for a shutdown, each from inside its call: neither waits for itself, and both end. */
const shutdownFromInside = Effect.gen(function*() {
  const itself = yield* Deferred.make<ToolRegistry.Shape>()
  const tool = Tool.make("tool", {
    description: "",
    parameters,
    success,
    execute: () => Effect.as(Effect.flatMap(Deferred.await(itself), ({ shutdown }) => shutdown), "value")
  })
  const registry = yield* registryOf([tool])
  yield* Deferred.succeed(itself, registry)
  const calls = yield* Effect.forEach(
    ["one", "two"],
    (callId) => Effect.forkChild(Effect.andThen(Edge.wait(callId), registry.execute({ ...input("tool"), callId })))
  )
  const codes: Array<string> = []
  for (const call of calls) codes.push(codeOf(yield* Fiber.join(call)))
  claim((yield* registry.inFlight).length === 0, "a call is still in flight")
  return codes.sort().join(" ")
})

const race = (ci: number, name: string, program: Race["program"], ...clauses: Race["clauses"]): Race => ({
  name,
  clauses,
  program,
  preemptions: { ci }
})

export const coreRegistry: Subject = {
  subject: "calls among others",
  races: [
    race(0, "a call by the token of another, at any moment of it", byToken, "CALL-26"),
    race(0, "a call that a body starts and leaves running", leftRunning, "CALL-26", "CALL-18"),
    race(1, "a call through the signal of a part of a body", partOfABody, "CALL-26", "BRIDGE-01"),
    race(1, "a tool that goes while it is called", unregistering, "CALL-25"),
    race(0, "who waits for quiescence while a call is made", idling, "CALL-28"),
    race(0, "shutdown from inside of two calls", shutdownFromInside, "CALL-28")
  ]
}
