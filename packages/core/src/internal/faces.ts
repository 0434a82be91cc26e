/**
 * The faces of a registry: every way to make a call and to look at the calls there are, on the same launch.
 */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Queue from "effect/Queue"
import * as Stream from "effect/Stream"
import type { CancelReason } from "../CancelReason.ts"
import type * as Tool from "../Tool.ts"
import type * as ToolCall from "../ToolCall.ts"
import type * as ToolRegistry from "../ToolRegistry.ts"
import * as ToolResult from "../ToolResult.ts"
import type { Call } from "./call.ts"
import * as Cancellation from "./cancellation.ts"
import { capture } from "./context.ts"
import { TypeId } from "./definition.ts"
import { DuplicateTool, type Registry } from "./registry.ts"
import { Token } from "./token.ts"
import * as Ward from "./ward.ts"

export const make = (registry: Registry): ToolRegistry.Shape => {
  const execute = (input: ToolCall.Input): Effect.Effect<ToolResult.ToolResult> =>
    Effect.withFiber((fiber) =>
      Effect.callback((resume) => {
        const call = registry.launch(input, { ...origin(input, fiber.context), fiber })
        call.exit.observe(resume)
        return Effect.suspend(() => {
          call.cancel(Ward.of(fiber.context)?.cancellation ?? Cancellation.interrupted())
          return Effect.callback((resume) => call.exit.observe(() => resume(Effect.void)))
        })
      })
    )

  let lastId = 0
  const call: ToolRegistry.Shape["call"] = (tool, parameters, options) =>
    Effect.withFiber((fiber) => {
      // The schemas need what the tool needs, and whoever calls it does not have that.
      const services = registry.contextOf(registry.lookup(tool.name), fiber.context)
      const make = (args: unknown) =>
        Effect.flatMap(
          execute({ callId: `${tool.name}-${++lastId}`, ...options, name: tool.name, arguments: args }),
          (result) => Effect.provideContext(decode(tool, result), services)
        )
      const { toJson } = tool[TypeId].parameters
      if (toJson === undefined) return make(parameters)
      // What cannot be written is refused as the argument that it is.
      const written = Effect.matchCause(toJson(parameters), { onFailure: () => parameters, onSuccess: (json) => json })
      return Effect.flatMap(Effect.provideContext(written, services), make)
    })

  return {
    execute,
    start: (input) =>
      Effect.withFiber((fiber) =>
        Effect.succeed(handle(registry, registry.launch(input, origin(input, fiber.context))))
      ),
    executePromise: (input) => executePromise(registry, input),
    call,
    register: (...tools) =>
      Effect.asVoid(Effect.acquireRelease(
        Effect.contextWith((context: Context.Context<never>) => {
          registry.check(context)
          const added = registry.add(tools, capture(context))
          return added instanceof DuplicateTool ? Effect.fail(added) : Effect.succeed(added)
        }),
        (entries) => exceptCaller((except) => registry.remove(entries, except))
      )),
    tools: Effect.sync(() => registry.tools),
    schemas: Effect.sync(() => schemas(registry)),
    schemaChanges: listen(registry.toolListeners, () => schemas(registry)),
    cancel: (which, reason) => Effect.sync(() => cancel(registry, which, byHand(reason))),
    observe: (observer) =>
      Effect.asVoid(Effect.acquireRelease(
        Effect.sync(() => registry.observers.add(observer)),
        (remove) => Effect.sync(remove)
      )),
    inFlight: Effect.sync(() => Array.from(registry.inFlight, status)),
    changes: listen(registry.callListeners, status),
    whenIdle: exceptCaller((except) => registry.waits.idle(except)),
    shutdown: exceptCaller((except) => registry.shutdown(except))
  }
}

export const executePromise = (
  registry: Registry,
  input: ToolCall.Input & { readonly signal: AbortSignal }
): Promise<ToolResult.ToolResult> =>
  new Promise((resolve, reject) => {
    const { signal } = input
    // The types say so; this sentence is for code that has none.
    if (signal === undefined) throw new TypeError("a call needs its caller's AbortSignal, as `signal`")
    const parent = parentOf(input) ?? Ward.ofSignal(signal)
    registry.check(Fiber.getCurrent()?.context ?? Context.empty())
    // Promise code has no context of its own: what it calls inside a call runs in the context of that. And it listens
    // also to a signal of that call, which may belong to a part of it that ends alone.
    registry.launch(input, { caller: parent?.call.context, parent, signal })
      .exit.observe((exit) => exit._tag === "Success" ? resolve(exit.value) : reject(Cause.squash(exit.cause)))
  })

export const schemas = (registry: Registry): ReadonlyArray<ToolRegistry.ToolSchema> =>
  registry.tools.map(({ description, inputSchema, name }) => ({ name, description, inputSchema }))

export const cancel = (
  registry: Registry,
  which: ToolCall.Token | string,
  cancellation: Cancellation.Cancellation
): number => {
  const reached = [...registry.inFlight].filter((call) =>
    typeof which === "string" ? call.pending.callId === which : call.token === which
  )
  for (const call of reached) call.cancel(cancellation)
  return reached.length
}

const handle = (registry: Registry, call: Call): ToolRegistry.Call => ({
  callId: call.pending.callId,
  token: call.token,
  cancel: (reason) => Effect.sync(() => call.cancel(byHand(reason))),
  result: Effect.callback((resume) => {
    call.exit.observe(resume)
    return Effect.sync(() => call.exit.unobserve(resume))
  }),
  admitted: Effect.callback((resume) => {
    const observer = (admitted: boolean) => resume(Effect.succeed(admitted))
    call.admission.observe(observer)
    return Effect.sync(() => call.admission.unobserve(observer))
  }),
  status: Effect.sync(() => registry.inFlight.has(call) ? status(call) : undefined)
})

export const byHand = (reason?: CancelReason): Cancellation.Cancellation =>
  reason === undefined
    ? Cancellation.byCaller(Cancellation.abortError("the call was cancelled"))
    : Cancellation.make(reason)

export const status = (call: Call): ToolRegistry.InFlight => {
  const { cancellation, pending: { callId, name }, sinceMillis, stage, token } = call
  return cancellation === undefined
    ? { callId, name, token, stage, sinceMillis }
    : { callId, name, token, stage, sinceMillis, cancelling: cancellation.reason }
}

const origin = (input: ToolCall.Input, caller: Context.Context<never>) => ({
  caller,
  parent: parentOf(input) ?? Ward.of(caller)?.owner
})

const parentOf = ({ parent }: ToolCall.Input): Ward.Owner | undefined =>
  parent === undefined ? undefined : Token.call(parent).currentOwner

/** The call in whose name the fiber runs and those around it: waiting for them would be waiting for oneself. */
const exceptCaller = (wait: (except: ReadonlySet<Call>) => Effect.Effect<void>): Effect.Effect<void> =>
  Effect.withFiber((fiber) => wait(Ward.of(fiber.context)?.owner?.call.lineage ?? new Set()))

/**
 * What listeners are told, as a stream. A consumer that lags loses the oldest news and not the latest: what it misses
 * is in `inFlight` and `schemas`. 1,024 is some hundred calls' worth, a burst that a slow terminal survives.
 */
const listen = <A, B>(listeners: Set<(value: A) => void>, view: (value: A) => B): Stream.Stream<B> =>
  Stream.callback<B>((queue) =>
    Effect.acquireRelease(
      Effect.sync(() => {
        const listener = (value: A) => void Queue.offerUnsafe(queue, view(value))
        listeners.add(listener)
        return listener
      }),
      (listener) => Effect.sync(() => listeners.delete(listener))
    ), { bufferSize: 1024, strategy: "sliding" })

/** The typed side of a result. */
const decode = <T extends Tool.Any>(
  tool: T,
  result: ToolResult.ToolResult
): Effect.Effect<Tool.Success<T>, ToolResult.ToolCallFailed<Tool.Failure<T>>> => {
  const { failure, success } = tool[TypeId]
  if (result._tag === "Success") return Effect.orDie(success.decode(result.value)) as Effect.Effect<Tool.Success<T>>
  const fail = (failure: unknown) =>
    Effect.fail(new ToolResult.ToolCallFailed<Tool.Failure<T>>({ result, failure: failure as Tool.Failure<T> }))
  if (failure === undefined || result.error.code !== "TOOL_FAILURE") return fail(undefined)
  return Effect.matchCauseEffect(failure.decode(result.error.detail), {
    onFailure: () => fail(undefined),
    onSuccess: fail
  })
}
