/**
 * Registries in a test's scope, and tools whose bodies end when the test says so.
 *
 * A call is launched at once: after `start` its body is running, unless a stage before it waits.
 */
import { type Json, Tool, type ToolCall, ToolRegistry } from "@quiesce/core"
import { Context, type Duration, Effect, Exit, Fiber, Layer, Schema, type Scope } from "effect"
import { TestClock } from "effect/testing"

/**
 * A registry with `tools`, closed with the scope. `layers` are what it captures.
 *
 * The first sleep on a TestClock starts the clock's warning in an interruptible region, where the finalizer of an
 * interrupted fiber ends at once. Adjusting the clock turns the warning off, so that finalizers can sleep.
 */
export const buildRegistry = (
  tools: ReadonlyArray<Tool.AnyNoServices>,
  ...layers: ReadonlyArray<Layer.Layer<never>>
): Effect.Effect<ToolRegistry.Shape, ToolRegistry.DuplicateTool, Scope.Scope> =>
  Effect.andThen(
    TestClock.adjust(0),
    Effect.map(
      Layer.build(Layer.provide(ToolRegistry.layer(tools), [Layer.empty, ...layers])),
      (context) => Context.get(context, ToolRegistry.ToolRegistry)
    )
  )

/** The same in the scope of a test: one that fails ends, whatever its calls still wait for on the clock. */
export const makeRegistry: typeof buildRegistry = (...parts) =>
  Effect.tap(buildRegistry(...parts), ({ shutdown }) =>
    Effect.addFinalizer(() =>
      Effect.gen(function*() {
        const ending = yield* Effect.forkChild(shutdown, { startImmediately: true })
        yield* TestClock.adjust("1 day")
        yield* Fiber.join(ending)
      })
    ))

export const input = (name: string, callId: string = name, args: unknown = {}): ToolCall.Input => ({
  callId,
  name,
  arguments: args
})

export const AnyJson = Schema.Json as Schema.Codec<Json>

/** A tool that takes anything and answers anything, by an effect. */
export const effectTool = <const Name extends string>(
  name: Name,
  execute: (json: Json, call: ToolCall.Running) => Effect.Effect<Json, unknown>,
  options?: Partial<Pick<Tool.Options<typeof AnyJson, typeof AnyJson, never>, "timeout" | "render" | "finalizeContent">>
) =>
  Tool.make(name, {
    description: `the tool ${name}`,
    parameters: AnyJson,
    success: AnyJson,
    ...options,
    execute
  })

/** The same by a promise function. */
export const promiseTool = <const Name extends string>(
  name: Name,
  execute: (json: Json, call: ToolCall.Running) => PromiseLike<Json> | Json,
  options?: Partial<Pick<Tool.Options<typeof AnyJson, typeof AnyJson, never>, "timeout">>
) =>
  Tool.fromPromise(name, {
    description: `the tool ${name}`,
    parameters: AnyJson,
    success: AnyJson,
    ...options,
    execute
  })

/** One run of a held tool's body. */
export interface Run {
  readonly call: ToolCall.Running
  /** Ends the body. */
  readonly end: (exit: Exit.Exit<Json, unknown>) => void
  readonly interrupted: boolean
  readonly quiet: boolean
}

/** A tool whose bodies run until they are told to end, and take `stopsIn` to become quiet once interrupted. */
export const held = <const Name extends string>(name: Name, stopsIn: Duration.Input = 0) => {
  const runs: Array<Run> = []
  const tool = effectTool(name, (_, call) =>
    Effect.callback<Json, unknown>((resume) => {
      const run = { call, end: resume as Run["end"], interrupted: false, quiet: false }
      runs.push(run)
      return Effect.suspend(() => {
        run.interrupted = true
        return Effect.andThen(Effect.sleep(stopsIn), Effect.sync(() => run.quiet = true))
      })
    }))
  return { tool, runs, end: (json: Json) => runs.at(-1)!.end(Exit.succeed(json)) }
}

/** A tool whose body ends at once, and what its runs were given. */
export const counted = <const Name extends string>(name: Name, json: Json = null) => {
  const runs: Array<ToolCall.Running> = []
  const tool = effectTool(name, (_, call) =>
    Effect.sync(() => {
      runs.push(call)
      return json
    }))
  return { tool, runs }
}
