/**
 * One run of a tool's body, as work of its call.
 *
 * A body that fails is over once its scope is closed and the tool's failure schema, if there is one, has written what may
 * be told of it.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { identity } from "effect/Function"
import * as Scope from "effect/Scope"
import type { Json } from "../Json.ts"
import type * as ToolResult from "../ToolResult.ts"
import type { Call } from "./call.ts"
import { yielding } from "./context.ts"
import { Deadline } from "./deadline.ts"
import { begin } from "./foreign.ts"
import * as Outcome from "./outcome.ts"
import type { Entry } from "./registry.ts"
import { Running } from "./running.ts"
import { writeFailure } from "./value.ts"
import * as Ward from "./ward.ts"
import { type Expiry, FiberWork, type Options, PromiseWork, type Work } from "./work.ts"

/** Makes the work of one run; it begins when it is started. */
export const run = (
  call: Call,
  entry: Entry,
  parameters: unknown
): Work<unknown, ToolResult.ToolCallFailed> => new Run(call, entry, parameters).work

/** The work, and what it asks for: one object, since there is one for each call. */
class Run implements Options<ToolResult.ToolCallFailed> {
  readonly owns: Ward.Owner
  readonly expiry: Expiry<ToolResult.ToolCallFailed> | undefined = undefined
  readonly work: Work<unknown, ToolResult.ToolCallFailed>
  readonly #call: Call
  readonly #entry: Entry
  readonly #parameters: unknown
  /** That of a body which is an effect, once it has begun. */
  #scope: Scope.Scope | undefined = undefined
  #written: { readonly thrown: unknown; readonly json: Json | undefined } | undefined = undefined

  constructor(call: Call, entry: Entry, parameters: unknown) {
    this.#call = call
    this.#entry = entry
    this.#parameters = parameters
    this.owns = new Ward.Owner(call)
    const { body, timeout } = entry.definition
    const { listsTimeout, wrappers } = call.registry.services
    // Where `Wrapper.timeout` is listed, the budget is enforced there.
    if (timeout !== undefined && !listsTimeout) {
      this.expiry = new Deadline(timeout, "TOOL_TIMEOUT", (exceeded) => call.toError(Outcome.timedOut(exceeded)))
    }
    const wrapped = wrappers.length === 0 ? identity : yielding
    call.body = this.work = body._tag === "Promise"
      ? new PromiseWork<unknown, ToolResult.ToolCallFailed>(() => this.#invoke(), this)
      : new FiberWork<unknown, ToolResult.ToolCallFailed>(
        wrapped(Effect.scoped(Effect.withFiber((fiber) => {
          this.#scope = Context.getOrUndefined(fiber.context, Scope.Scope)
          return begin(() => this.#invoke() as Effect.Effect<unknown, unknown>)
        }))),
        this
      )
  }

  /** Whoever is told of the stage, a tracer for one, may cancel. The check, the mark and the invocation are one operation. */
  #invoke(): unknown {
    const call = this.#call
    call.enter("body")
    call.hear()
    if (this.work.cancellation !== undefined) throw this.work.cancellation.abortReason
    call.dispatched = true
    return this.#entry.definition.body.execute(this.#parameters, new Running(call, this.work))
  }

  prepare(thrown: unknown, done: () => void): void {
    close(this.#call, this.#scope, thrown, () => {
      if (this.#entry.definition.failure === undefined) return done()
      writeFailure(this.#call, this.#entry, this.work, thrown, (json) => {
        this.#written = { thrown, json }
        done()
      })
    })
  }

  failure(thrown: unknown): ToolResult.ToolCallFailed {
    const written = this.#written
    return this.#call.toError(
      this.#entry.definition.failure === undefined
        ? Outcome.toolFailed(thrown)
        : Outcome.toolFailedAs(thrown, Object.is(written?.thrown, thrown) ? written?.json : undefined)
    )
  }
}

/** Calls `done` once `scope` is closed. It is by then, unless the body ended its fiber past every finalizer. */
const close = (call: Call, scope: Scope.Scope | undefined, thrown: unknown, done: () => void): void => {
  if (scope === undefined || scope.state._tag === "Closed") return done()
  const closing = Scope.close(scope as Scope.Closeable, Exit.die(thrown))
  Effect.runForkWith(call.services)(closing, { uninterruptible: true }).addObserver(done)
}
