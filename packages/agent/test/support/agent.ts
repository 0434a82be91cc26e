/**
 * A registry and a log in a test's scope, and tools whose bodies end when the test says so.
 */
import { SessionLog, Turn } from "@quiesce/agent"
import { type Json, Tool, type ToolCall, ToolRegistry, type ToolResult } from "@quiesce/core"
import { Context, type Duration, Effect, Layer, Queue, Schema, type Scope, Stream } from "effect"
import { TestClock } from "effect/testing"
import { type Disk, disk } from "./logs.ts"

export const AnyJson = Schema.Json as Schema.Codec<Json>

/** One run of a held tool's body. */
export interface Run {
  readonly call: ToolCall.Running
  readonly end: (json: Json) => void
  readonly fail: (error: unknown) => void
  interrupted: boolean
  quiet: boolean
}

/** A tool whose bodies run until they are told to end, and take `stopsIn` to become quiet once interrupted. */
export const held = (name: string, options: { readonly mode?: Tool.Mode; readonly stopsIn?: Duration.Input } = {}) => {
  const runs: Array<Run> = []
  const starting = Effect.runSync(Queue.unbounded<Run>())
  const tool: Tool.AnyNoServices = Tool.make(name, {
    description: name,
    parameters: AnyJson,
    success: AnyJson,
    mode: options.mode,
    execute: (_, call) =>
      Effect.callback<Json, unknown>((resume) => {
        const run: Run = {
          call,
          end: (json) => resume(Effect.succeed(json)),
          fail: (error) => resume(Effect.fail(error)),
          interrupted: false,
          quiet: false
        }
        runs.push(run)
        Queue.offerUnsafe(starting, run)
        return Effect.suspend(() => {
          run.interrupted = true
          return Effect.andThen(Effect.sleep(options.stopsIn ?? 0), Effect.sync(() => run.quiet = true))
        })
      })
  })
  return { tool, runs, next: Queue.take(starting) }
}

/** A tool whose body ends at once with its arguments, and how often it ran. */
export const instant = (name: string, mode: Tool.Mode = "parallel") => {
  const runs: Array<Json> = []
  const tool: Tool.AnyNoServices = Tool.make(name, {
    description: name,
    parameters: AnyJson,
    success: AnyJson,
    mode,
    execute: (json) =>
      Effect.sync(() => {
        runs.push(json)
        return json
      })
  })
  return { tool, runs }
}

export interface Agent {
  readonly registry: ToolRegistry.Shape
  readonly log: SessionLog.Shape
  readonly storage: Disk
  readonly context: Context.Context<ToolRegistry.ToolRegistry | SessionLog.SessionLog>
  readonly turn: (options?: Turn.Options) => Effect.Effect<Turn.Turn, never, Scope.Scope>
}

/** The clock's warning is told once, in an interruptible region; adjusting the clock turns it off. */
export const makeAgent = Effect.fnUntraced(function*(
  tools: ReadonlyArray<Tool.AnyNoServices>,
  layers: ReadonlyArray<Layer.Layer<never>> = [],
  storage: Disk = disk()
): Effect.fn.Return<Agent, never, Scope.Scope> {
  yield* TestClock.adjust(0)
  const live = Layer.provide(ToolRegistry.layer(tools), [Layer.empty, ...layers])
  const context = yield* Effect.orDie(
    Layer.build(Layer.merge(live, Layer.effect(SessionLog.SessionLog, SessionLog.make(storage))))
  )
  return {
    registry: Context.get(context, ToolRegistry.ToolRegistry),
    log: Context.get(context, SessionLog.SessionLog),
    storage,
    context,
    turn: (options) => Effect.orDie(Effect.provide(Turn.make(options), context))
  }
})

export const request = (name: string, callId: string = name, json: unknown = {}): Turn.Request => ({
  callId,
  name,
  arguments: Turn.complete(json)
})

export const step = (...calls: ReadonlyArray<Turn.Request | string>): Turn.Assistant => ({
  calls: calls.map((call) => typeof call === "string" ? request(call) : call)
})

/** Lets every fiber go on until it waits: more turns than any chain of wake-ups in these tests is long. */
export const settled: Effect.Effect<void> = Effect.repeat(Effect.yieldNow, { times: 200 })

export const codes = (results: ReadonlyArray<ToolResult.ToolResult>) =>
  results.map((result) => result._tag === "Success" ? "SUCCESS" : result.error.code)

/** Reads what a turn has told up to now. */
export const watch = (turn: Turn.Turn) =>
  Effect.gen(function*() {
    const events: Array<Turn.Event> = []
    yield* Effect.forkScoped(Stream.runForEach(turn.events, (event) => Effect.sync(() => events.push(event))))
    yield* settled
    return events
  })

export const assertBalanced = (log: SessionLog.Shape) =>
  Effect.flatMap(log.verify, (report) =>
    Effect.sync(() => {
      if (!SessionLog.isBalanced(report)) throw new Error(JSON.stringify(report))
    }))
