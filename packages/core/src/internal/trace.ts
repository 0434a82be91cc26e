/**
 * A span for a call, where somebody listens: where the call's context has a tracer, or a span to be inside of. Elsewhere
 * it costs two look-ups.
 *
 * Name and attributes are those that OpenTelemetry has for a tool that a model calls. The events are the stages, and the
 * request to stop: what lies between that and the end is the time the call took to become quiet. A tracer is foreign
 * code, and what it throws is no fault of the call.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as References from "effect/References"
import * as Tracer from "effect/Tracer"
import * as ToolResult from "../ToolResult.ts"
import type { Call } from "./call.ts"

export class Trace {
  readonly #call: Call
  readonly #span: Tracer.Span

  constructor(call: Call, span: Tracer.Span) {
    this.#call = call
    this.#span = span
  }

  /** The context of the call, inside its span. */
  get context(): Context.Context<never> {
    return Context.add(this.#call.context, Tracer.ParentSpan, this.#span) as Context.Context<never>
  }

  event(name: string, attributes?: Record<string, unknown>): void {
    this.#tell((span) => span.event(name, this.#now(), attributes))
  }

  end(result: ToolResult.ToolResult): void {
    this.#tell((span) => {
      span.attribute("quiesce.dispatched", result.dispatched)
      if (result._tag === "Failure") span.attribute("error.type", result.error.code)
      span.end(this.#now(), exitOf(result))
    })
  }

  #now(): bigint {
    const { clock, context } = this.#call
    return Context.get(context, References.TracerTimingEnabled) ? clock.currentTimeNanosUnsafe() : 0n
  }

  #tell(tell: (span: Tracer.Span) => void): void {
    try {
      tell(this.#span)
    } catch {
      // whoever wrote the tracer has lost a span
    }
  }
}

/** Opens the span of `call`. `undefined` where nobody listens. */
export const open = (call: Call): Trace | undefined => {
  const { context } = call
  if (
    Context.getOrUndefined(context, Tracer.Tracer) === undefined &&
    Context.getOrUndefined(context, Tracer.ParentSpan) === undefined
  ) return undefined
  const { callId, name } = call.pending
  const span = Effect.runSyncExitWith(context)(Effect.makeSpan(`execute_tool ${name}`, {
    attributes: {
      "gen_ai.operation.name": "execute_tool",
      "gen_ai.tool.name": name,
      "gen_ai.tool.call.id": callId
    }
  }))
  return span._tag === "Success" ? new Trace(call, span.value) : undefined
}

/** How an exporter is to show the end of the span: data to the caller, but a failure is a failure there. */
const exitOf = (result: ToolResult.ToolResult): Exit.Exit<unknown, unknown> => {
  if (result._tag === "Success") return Exit.void
  const { code } = result.error
  return code === "ABORTED" || code === "ABORTED_BEFORE_DISPATCH"
    ? Exit.interrupt()
    : Exit.fail(new ToolResult.ToolCallFailed<never>({ result }))
}
