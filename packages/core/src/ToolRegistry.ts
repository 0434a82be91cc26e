/**
 * The registry: tools, and the calls to them.
 *
 * A call is a fiber. Its faces differ in who owns it: `execute` ties it to the fiber that runs it, `start` to the
 * registry (or to the call it is made inside of), `executePromise` to an AbortSignal. Whoever owns it, cancelling is
 * asking, and the result comes when the call is quiet.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as JsonSchema from "effect/JsonSchema"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import type * as Stream from "effect/Stream"
import type { CancelReason } from "./CancelReason.ts"
import { build, Grace } from "./internal/build.ts"
import * as Faces from "./internal/faces.ts"
import { DuplicateTool } from "./internal/registry.ts"
import type * as Observer from "./Observer.ts"
import type * as Tool from "./Tool.ts"
import type * as ToolCall from "./ToolCall.ts"
import type * as ToolResult from "./ToolResult.ts"

/** A call that was started. */
export interface Call {
  readonly callId: string
  readonly token: ToolCall.Token
  /** Asks the call to stop, and returns when that was passed on: `result` says when it has stopped. */
  readonly cancel: (reason?: CancelReason) => Effect.Effect<void>
  /** The one result, at quiescence. Interrupting the wait leaves the call alone. */
  readonly result: Effect.Effect<ToolResult.ToolResult>
  /** `true` once it is past policy and approval, `false` when it settled without. */
  readonly admitted: Effect.Effect<boolean>
  /** `undefined` once it has settled. */
  readonly status: Effect.Effect<InFlight | undefined>
}

/** Where a call is. `settling`: its outcome stands, and what it left running ends. */
export type Stage = "pre" | "approval" | "wrappers" | "body" | "post" | "settling"

export interface InFlight {
  readonly callId: string
  readonly name: string
  readonly token: ToolCall.Token
  readonly stage: Stage
  /** The time of the clock at which the stage began, in milliseconds. */
  readonly sinceMillis: number
  /** The call was asked to stop, and is not quiet yet. */
  readonly cancelling?: CancelReason | undefined
}

export { DuplicateTool }

/** A tool as a model is told of it. */
export interface ToolSchema {
  readonly name: string
  readonly description: string
  readonly inputSchema: JsonSchema.JsonSchema
}

export interface Shape {
  /**
   * Makes a call and waits for its result. It does not fail: outcomes are data.
   *
   * **Interruption**: cancels the call. The interrupter waits until the body is quiet and the result is published.
   */
  readonly execute: (input: ToolCall.Input) => Effect.Effect<ToolResult.ToolResult>
  /** Starts a call that the fiber does not wait for. Inside a call it ends with that; elsewhere with the registry. */
  readonly start: (input: ToolCall.Input) => Effect.Effect<Call>
  /**
   * The same for promise code. It does not reject: outcomes are data. Aborting `signal` cancels the call.
   */
  readonly executePromise: (
    input: ToolCall.Input & { readonly signal: AbortSignal }
  ) => Promise<ToolResult.ToolResult>
  /**
   * Calls `tool` with typed parameters and a typed value. The registered tool of that name runs.
   *
   * **Errors**: `ToolCallFailed`, with the body's own `failure` where the tool declared one.
   */
  readonly call: <T extends Tool.Any>(
    tool: T,
    parameters: Tool.ParametersEncoded<T>,
    options?: Partial<Omit<ToolCall.Input, "name" | "arguments">>
  ) => Effect.Effect<Tool.Success<T>, ToolResult.ToolCallFailed<Tool.Failure<T>>>
  /** Adds tools until the scope closes, which cancels their calls and waits for them. */
  readonly register: <const Tools extends ReadonlyArray<Tool.Any>>(
    ...tools: Tools
  ) => Effect.Effect<void, DuplicateTool, Scope.Scope | Tool.Services<Tools[number]>>
  readonly tools: Effect.Effect<ReadonlyArray<Tool.Any>>
  readonly schemas: Effect.Effect<ReadonlyArray<ToolSchema>>
  /** The schemas each time that tools were added or removed. */
  readonly schemaChanges: Stream.Stream<ReadonlyArray<ToolSchema>>
  /** Cancels the calls with this token or label and returns how many it reached. */
  readonly cancel: (call: ToolCall.Token | string, reason?: CancelReason) => Effect.Effect<number>
  /** Adds an observer until the scope closes. Contributions of several libraries never override one another. */
  readonly observe: (observer: Observer.Observer) => Effect.Effect<void, never, Scope.Scope>
  readonly inFlight: Effect.Effect<ReadonlyArray<InFlight>>
  /** Each change of a call: the stages it enters, and that it was asked to stop. */
  readonly changes: Stream.Stream<InFlight>
  /** Waits until nothing is in flight. Inside a call: nothing but that call and those around it. */
  readonly whenIdle: Effect.Effect<void>
  /**
   * Refuses new calls, cancels all there are, and waits until they are quiet. Closing the registry's scope does the
   * same. **Interruption**: ends the wait; the registry stays closed.
   */
  readonly shutdown: Effect.Effect<void>
}

export class ToolRegistry extends Context.Service<ToolRegistry, Shape>()("@quiesce/core/ToolRegistry") {}

export { Grace }

const make = Effect.map(Effect.context(), (context) => Faces.make(build(context)))

/** A registry with `tools`. `R` of the tools and of their schemas shows in its type. */
export const layer = <const Tools extends ReadonlyArray<Tool.Any>>(
  tools: Tools
): Layer.Layer<ToolRegistry, DuplicateTool, Exclude<Tool.Services<Tools[number]>, Scope.Scope>> =>
  Layer.effect(
    ToolRegistry,
    Effect.gen(function*() {
      const registry = yield* make
      yield* registry.register(...tools)
      // Added last and so run first: calls are refused from then on, not unknown tools.
      yield* Effect.addFinalizer(() => registry.shutdown)
      return registry
    })
  )

/** Adds tools to a registry that is there already: several packages contribute, and none overrides another. */
export const layerTools = <const Tools extends ReadonlyArray<Tool.Any>>(
  tools: Tools
): Layer.Layer<never, DuplicateTool, ToolRegistry | Exclude<Tool.Services<Tools[number]>, Scope.Scope>> =>
  Layer.effectDiscard(Effect.flatMap(ToolRegistry, (registry) => registry.register(...tools)))

/** `registry.call` of the registry in the context. */
export const call = <T extends Tool.Any>(
  tool: T,
  parameters: Tool.ParametersEncoded<T>,
  options?: Partial<Omit<ToolCall.Input, "name" | "arguments">>
): Effect.Effect<Tool.Success<T>, ToolResult.ToolCallFailed<Tool.Failure<T>>, ToolRegistry> =>
  Effect.flatMap(ToolRegistry, (registry) => registry.call(tool, parameters, options))
