/**
 * The tools of a registry as handlers of an MCP server: one fiber for each call, bound to its request.
 *
 * A handler settles when its call is quiet, whatever became of it. What a cancelled one settles with is sent to nobody:
 * whoever runs this place sees it in the registry.
 */
import type { CallToolResult, ListToolsResult } from "@modelcontextprotocol/server"
import * as Abortable from "@quiesce/core/Abortable"
import type * as ToolCall from "@quiesce/core/ToolCall"
import * as ToolRegistry from "@quiesce/core/ToolRegistry"
import type * as ToolResult from "@quiesce/core/ToolResult"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import * as Semaphore from "effect/Semaphore"
import * as Stream from "effect/Stream"
import * as Cancelled from "../Cancelled.ts"
import type { InFlight } from "./inFlight.ts"
import type * as Message from "./message.ts"
import * as Results from "./results.ts"

export interface Concurrency {
  /** How many calls run at once, over all connections. */
  readonly max: number
  /** What becomes of a call beyond: it waits, and can be cancelled meanwhile, or it is refused. */
  readonly excess: "queue" | "refuse"
}

/** A request for a call, as every SDK hands it to a handler. */
export interface Call {
  readonly name: string
  readonly arguments?: unknown
  readonly _meta?: { readonly [key: string]: unknown } | undefined
}

/** What a handler is given beside the request. */
export interface Place {
  readonly inFlight: InFlight
  /** The id under which the SDK knows the request. */
  readonly key: unknown
  /** The SDK's own signal for it. */
  readonly signal: AbortSignal
  readonly report: (progress: Progress) => Promise<void>
}

/** The parameters of `notifications/progress`. */
export interface Progress extends ToolCall.Progress {
  readonly progressToken: Message.Id
  readonly [key: string]: unknown
}

export interface Tools {
  readonly schemas: () => ReadonlyArray<ToolRegistry.ToolSchema>
  readonly list: () => ListToolsResult
  readonly call: (call: Call, place: Place) => Promise<CallToolResult>
  /** Calls `listener` after each change of the list. Returns how to stop that. */
  readonly onChange: (listener: () => void) => () => void
}

export const make = Effect.fnUntraced(function*(
  concurrency: Concurrency | undefined
): Effect.fn.Return<Tools, never, ToolRegistry.ToolRegistry | Scope.Scope> {
  const registry = yield* ToolRegistry.ToolRegistry
  const context = yield* Effect.context<never>()
  const run = Abortable.runPromiseWith(context)
  const gate = gateOf(concurrency)

  const reports = new Map<string, (progress: ToolCall.Progress) => void>()
  yield* registry.observe({
    progress: ({ callId }, progress) => Effect.sync(() => reports.get(callId)?.(progress))
  })
  const listeners = new Set<() => void>()
  yield* Effect.forkScoped(
    Stream.runForEach(registry.schemaChanges, () => Effect.sync(() => listeners.forEach((listener) => listener()))),
    { startImmediately: true }
  )
  let calls = 0

  const call: Tools["call"] = async ({ arguments: args = {}, name, _meta }, { inFlight, key, report, signal }) => {
    const arrived = inFlight.live(key)
    if (arrived !== undefined && signal.aborted) inFlight.cancelEntry(arrived, causeOf(signal.reason))
    const callId = `mcp-${++calls}`
    const entry = inFlight.begin(key, { callId, name })
    // Cancelled before it could begin: the SDK starts its handlers nevertheless. Nothing of this is sent.
    if (entry === undefined) return { content: [] }
    const { progressToken } = entry
    if (progressToken !== undefined) {
      reports.set(callId, reporting(entry, (progress) => report({ ...progress, progressToken })))
    }
    // What nobody told us of otherwise: who was told, has said why, and the first cause counts.
    const abort = () => inFlight.cancelEntry(entry, causeOf(signal.reason))
    signal.addEventListener("abort", abort, { once: true })
    try {
      const execute = registry.execute({
        callId,
        name,
        arguments: args,
        metadata: { "mcp/request": entry.id, ...traceOf(_meta) }
      })
      return Results.toMcp(await run(gate(execute), { signal: entry.signal }))
    } finally {
      signal.removeEventListener("abort", abort)
      reports.delete(callId)
      inFlight.end(entry)
    }
  }

  return {
    schemas: () => Effect.runSync(registry.schemas),
    list: () => Results.listing(Effect.runSync(registry.schemas)),
    call,
    onChange: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    }
  }
})

type Gate = (
  execute: Effect.Effect<ToolResult.ToolResult>
) => Effect.Effect<ToolResult.ToolResult, Results.Refused>

const gateOf = (concurrency: Concurrency | undefined): Gate => {
  if (concurrency === undefined) return (execute) => execute
  const { excess, max } = concurrency
  const semaphore = Semaphore.makeUnsafe(max)
  if (excess === "queue") return (execute) => semaphore.withPermit(execute)
  return (execute) =>
    Effect.flatMap(
      semaphore.withPermitsIfAvailable(1)(execute),
      Option.match({ onNone: () => Effect.fail(Results.busy(max)), onSome: Effect.succeed })
    )
}

/** Progress must grow, says the protocol, and nothing is said of a request that is over. */
const reporting = (
  entry: { readonly cancelled: boolean },
  send: (progress: ToolCall.Progress) => Promise<void>
) => {
  let last = Number.NEGATIVE_INFINITY
  return (progress: ToolCall.Progress): void => {
    if (entry.cancelled || !(progress.progress > last)) return
    last = progress.progress
    // A report that does not arrive is missed by nobody: the connection is gone, and says so itself.
    send(progress).catch(() => undefined)
  }
}

/** An SDK aborts with what its client gave as a reason, an `AbortError` where it gave none, and else with its own errors. */
const causeOf = (reason: unknown): Cancelled.Cancelled =>
  typeof reason === "string" || (reason instanceof DOMException && reason.name === "AbortError")
    ? Cancelled.byClient(reason)
    : Cancelled.connectionClosed()

/** The trace of the caller, for a policy or an observer to go on with. */
const traceOf = (meta: Call["_meta"]): { readonly [key: string]: string } => {
  const traceparent = meta?.["traceparent"]
  return typeof traceparent === "string" ? { traceparent } : {}
}
