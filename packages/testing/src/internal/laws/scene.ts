/** What the laws look at: one call, cancelled at any moment, and what was to be seen of it. */
import * as Approval from "@quiesce/core/Approval"
import * as Observer from "@quiesce/core/Observer"
import * as Policy from "@quiesce/core/Policy"
import * as Tool from "@quiesce/core/Tool"
import * as ToolRegistry from "@quiesce/core/ToolRegistry"
import type * as ToolResult from "@quiesce/core/ToolResult"
import * as Wrapper from "@quiesce/core/Wrapper"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { getEventListeners } from "node:events"
import * as Edge from "../../Edge.ts"
import type { Subject } from "../../Script.ts"

/** How a body takes being asked to stop: it does not listen, it stops, or it fails afterwards. */
export type Manner = "deaf" | "obedient" | "failing"

/** Everything there was to be seen of one call, at the moment its result arrived. */
export interface Seen {
  readonly code: string
  readonly dispatched: boolean
  /** How often the body was invoked, how many of its runs were not over, how many ran at once at most. */
  readonly entered: number
  readonly running: number
  readonly atOnce: number
  /** Whether the body failed after it had been asked to stop. */
  readonly failedLate: boolean
  readonly published: ReadonlyArray<ToolResult.ToolResult>
  readonly result: ToolResult.ToolResult
  /** Listeners on the caller's signal. */
  readonly listeners: number
  /** Timers that were set, and not by the law. */
  readonly timers: number
  /** When the caller aborted: before the body was invoked, while it ran, after, or not yet. */
  readonly aborted: "before" | "during" | "after" | "never"
  /** Whether the body had been asked to stop by the time the step of the abort was over. */
  readonly toldAtOnce: boolean
}

interface Parts {
  readonly registry?: Subject | undefined
  readonly manner?: Manner | undefined
  readonly tool?: { readonly tool: Tool.AnyNoServices; readonly arguments: unknown } | undefined
  readonly policy?: Policy.Policy | undefined
  readonly approval?: Approval.Channel | undefined
  readonly wrapper?: Wrapper.Wrapper | undefined
}

/** A registry of the given parts, whose one tool is watched. */
export const open = Effect.fnUntraced(function*(parts: Parts) {
  const edge = yield* Edge.Edge
  const manner = parts.manner ?? "deaf"
  let entered = 0
  let running = 0
  let atOnce = 0
  let told = false
  let failed = false

  const body = async (signal: AbortSignal): Promise<string> => {
    entered++
    running++
    atOnce = Math.max(atOnce, running)
    try {
      return await new Promise<string>((resolve, reject) => {
        signal.addEventListener("abort", () => {
          told = true
          if (manner === "obedient") reject(signal.reason as Error)
        }, { once: true })
        edge.action("settle", () => {
          failed = manner === "failing" && signal.aborted
          if (failed) reject(new Error("failed late"))
          else resolve("done")
        })
      })
    } finally {
      running--
    }
  }
  const given = parts.tool ?? {
    tool: Tool.fromPromise("work", {
      description: "the body of a law",
      parameters: Schema.Struct({}),
      success: Schema.String,
      execute: (_parameters, running) => body(running.signal)
    }),
    arguments: {}
  }

  const published: Array<ToolResult.ToolResult> = []
  const services = Layer.mergeAll(
    // Told by being called: what it returns may run later.
    Observer.layer((_call, result) => {
      published.push(result)
      return Effect.void
    }),
    // The watch over calls that are not quiet would set timers of its own.
    Layer.succeed(ToolRegistry.Grace, "Infinity"),
    parts.policy === undefined ? Layer.empty : Policy.layer(parts.policy),
    parts.approval === undefined ? Layer.empty : Approval.layer(parts.approval),
    parts.wrapper === undefined ? Layer.empty : Wrapper.layer([parts.wrapper])
  )
  const live = parts.registry?.([given.tool], services) ??
    ToolRegistry.layer([given.tool]).pipe(Layer.provide(services))
  const context = yield* Edge.setup(Layer.build(live))
  const registry = Context.get(context, ToolRegistry.ToolRegistry)

  const caller = new AbortController()
  const start = () =>
    registry.executePromise({ callId: "c1", name: given.tool.name, arguments: given.arguments, signal: caller.signal })

  let aborted: Seen["aborted"] = "never"
  let toldAtOnce = true
  const abort = () => {
    aborted = entered === 0 ? "before" : running > 0 ? "during" : "after"
    caller.abort("enough")
    toldAtOnce = running === 0 || told
  }
  const see = (result: ToolResult.ToolResult): Seen => ({
    code: result._tag === "Success" ? "Success" : result.error.code,
    dispatched: result.dispatched,
    entered,
    running,
    atOnce,
    failedLate: failed,
    published,
    result,
    listeners: getEventListeners(caller.signal, "abort").length,
    timers: edge.timers(),
    aborted,
    toldAtOnce
  })
  return { abort, registry, running: () => running, see, start }
})

/** Makes one call, which its caller aborts at any moment, and tells what was to be seen of it. */
export const call = Effect.fnUntraced(function*(parts: Parts & { readonly aborts?: boolean }) {
  const { abort, see, start } = yield* open(parts)
  if (parts.aborts !== false) yield* Edge.action("ABORT", abort)
  return see(yield* settled(start))
})

/** Waits for a promise that does not reject. */
export const settled = <A>(start: () => Promise<A>): Effect.Effect<A> =>
  Effect.callback((resume) => {
    void start().then((value) => resume(Effect.succeed(value)))
  })
