/**
 * A function in the hands of a test: it tells when it was invoked and when it was asked to stop, and ends when the test
 * says so, as the test says.
 *
 * Tool bodies, policies, approval channels and wrappers made of probes hold a pipeline at any point without sleeping.
 * Being asked to stop ends nothing by itself: whether the probed function obeys, succeeds all the same or fails late is
 * the test's to decide.
 *
 * **Example**
 *
 * ```ts run
 * import { ToolRegistry } from "@quiesce/core"
 * import { Probe } from "@quiesce/testing"
 * import { Effect } from "effect"
 *
 * const { body, tool } = Probe.tool("work")
 *
 * const program = Effect.gen(function*() {
 *   const registry = yield* ToolRegistry.ToolRegistry
 *   const call = yield* registry.start({ callId: "c1", name: "work", arguments: {} })
 *
 *   const run = yield* body.invoked // the body has started
 *   yield* call.cancel()
 *   yield* run.stopping // it has been asked to stop
 *   run.succeed("too late")
 *   const result = yield* call.result
 *   console.log(result._tag === "Failure" && result.error.code) // ABORTED: a late success is dropped
 * })
 *
 * await Effect.runPromise(Effect.provide(program, ToolRegistry.layer([tool])))
 * ```
 */
import type * as Approval from "@quiesce/core/Approval"
import type { Json } from "@quiesce/core/Json"
import type * as Policy from "@quiesce/core/Policy"
import * as Tool from "@quiesce/core/Tool"
import type * as ToolCall from "@quiesce/core/ToolCall"
import type * as ToolResult from "@quiesce/core/ToolResult"
import type * as Wrapper from "@quiesce/core/Wrapper"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Schema from "effect/Schema"
import { Once } from "./internal/once.ts"

/** One invocation of a probed function. The first ending counts; later ones change nothing. */
export interface Invocation<out Args extends ReadonlyArray<unknown>, in A, in E> {
  readonly args: Args
  /** Waits until it was asked to stop, and yields the reason of its signal, if it has one. */
  readonly stopping: Effect.Effect<unknown>
  readonly isStopping: () => boolean
  readonly isOver: () => boolean
  readonly succeed: (value: A) => void
  readonly fail: (error: E) => void
  readonly die: (defect: unknown) => void
  /** Ends as what was asked to stop ought to: interrupted, or rejected with the reason of its signal. */
  readonly obey: () => void
}

/** A function that a test holds. */
export interface Probe<Args extends ReadonlyArray<unknown>, A, E = never> {
  /** The function as an effect. Interrupted, it ends when the test says so; a late failure stays beside the interruption. */
  readonly effect: (...args: Args) => Effect.Effect<A, E>
  /** The function as a promise function, which `signal` asks to stop. */
  readonly promise: (signal: AbortSignal, ...args: Args) => Promise<A>
  /** Waits for the next invocation that no one has waited for yet. */
  readonly invoked: Effect.Effect<Invocation<Args, A, E>>
  /** All invocations so far, in order. */
  readonly invocations: ReadonlyArray<Invocation<Args, A, E>>
}

class Held<Args extends ReadonlyArray<unknown>, A, E> implements Invocation<Args, A, E> {
  readonly args: Args
  readonly asked = new Once<unknown>()
  readonly ended = new Once<Exit.Exit<A, E>>()

  constructor(args: Args) {
    this.args = args
  }

  readonly stopping = this.asked.wait
  readonly isStopping = (): boolean => this.asked.happened
  readonly isOver = (): boolean => this.ended.happened
  readonly succeed = (value: A): void => this.ended.happen(Exit.succeed(value))
  readonly fail = (error: E): void => this.ended.happen(Exit.fail(error))
  readonly die = (defect: unknown): void => this.ended.happen(Exit.die(defect))
  readonly obey = (): void => this.ended.happen(Exit.interrupt())
}

const lateFailure = <A, E>(exit: Exit.Exit<A, E>): Effect.Effect<void, E> =>
  Exit.isFailure(exit) && !Cause.hasInterruptsOnly(exit.cause) ? Effect.failCause(exit.cause) : Effect.void

/** Makes a probed function. */
export const make = <Args extends ReadonlyArray<unknown>, A, E = never>(): Probe<Args, A, E> => {
  const invocations: Array<Held<Args, A, E>> = []
  const waiting: Array<(invocation: Held<Args, A, E>) => void> = []
  let taken = 0

  const invoke = (args: Args): Held<Args, A, E> => {
    const invocation = new Held<Args, A, E>(args)
    invocations.push(invocation)
    if (waiting.length > 0) {
      taken++
      waiting.shift()!(invocation)
    }
    return invocation
  }

  return {
    invocations,
    effect: (...args) =>
      Effect.callback<A, E>((resume) => {
        const invocation = invoke(args)
        invocation.ended.observe(resume)
        return Effect.suspend(() => {
          invocation.asked.happen(undefined)
          // The runtime keeps what a finalizer fails with beside the interruption; only the type leaves it out.
          return Effect.flatMap(invocation.ended.wait, lateFailure) as Effect.Effect<void>
        })
      }),
    promise: (signal, ...args) =>
      new Promise<A>((resolve, reject) => {
        const invocation = invoke(args)
        const onAbort = () => invocation.asked.happen(signal.reason)
        if (signal.aborted) onAbort()
        else signal.addEventListener("abort", onAbort, { once: true })
        invocation.ended.observe((exit) => {
          signal.removeEventListener("abort", onAbort)
          if (Exit.isSuccess(exit)) resolve(exit.value)
          else reject(Cause.hasInterruptsOnly(exit.cause) ? signal.reason : Cause.squash(exit.cause))
        })
      }),
    invoked: Effect.callback((resume) => {
      const next = invocations[taken]
      if (next !== undefined) {
        taken++
        return resume(Effect.succeed(next))
      }
      const taker = (invocation: Held<Args, A, E>) => resume(Effect.succeed(invocation))
      waiting.push(taker)
      return Effect.sync(() => {
        const index = waiting.indexOf(taker)
        if (index >= 0) waiting.splice(index, 1)
      })
    })
  }
}

/** What a probed body is: a call's body that yields JSON. */
export type Body = Probe<[arguments: Json, call: ToolCall.Running], Json, unknown>

const anyJson = Schema.Json as Schema.Codec<Json>

/** A tool whose body is an effect in the hands of the test. Any arguments and any JSON will do. */
export const tool = <const Name extends string>(
  name: Name,
  options?: { readonly timeout?: number; readonly mode?: "parallel" | "exclusive" }
) => {
  const body: Body = make()
  const definition = { description: "a probe", parameters: anyJson, success: anyJson, ...options }
  return { body, tool: Tool.make(name, { ...definition, execute: body.effect }) }
}

/** A tool whose body is a promise function in the hands of the test. */
export const toolFromPromise = <const Name extends string>(
  name: Name,
  options?: { readonly timeout?: number; readonly mode?: "parallel" | "exclusive" }
) => {
  const body: Body = make()
  const definition = { description: "a probe", parameters: anyJson, success: anyJson, ...options }
  const execute = (json: Json, call: ToolCall.Running) => body.promise(call.signal, json, call)
  return { body, tool: Tool.fromPromise(name, { ...definition, execute }) }
}

/** A policy whose decisions and reviews are in the hands of the test. */
export const policy = () => {
  const pre: Probe<[call: ToolCall.Pending], Policy.Decision, Policy.Denied> = make()
  const post: Probe<[call: ToolCall.Pending, result: ToolResult.ToolResult], Policy.Review> = make()
  return { pre, post, policy: { pre: pre.effect, post: post.effect } satisfies Policy.Policy }
}

/** An approval channel whose answers are in the hands of the test. */
export const approval = () => {
  const asked: Probe<[call: ToolCall.Pending, reason: string | undefined], Approval.Outcome> = make()
  const channel: Approval.Channel = { ask: (call, reason) => asked.effect(call, reason) }
  return { asked, channel }
}

/** A wrapper that stops before it runs the rest of the call, and again with what that yielded. */
export const wrapper = () => {
  const before: Probe<[call: ToolCall.Pending], void, unknown> = make()
  const after: Probe<[value: Json, call: ToolCall.Pending], Json, unknown> = make()
  const wrapper: Wrapper.Wrapper = (next, call) =>
    Effect.flatMap(Effect.andThen(before.effect(call), next), (value) => after.effect(value, call))
  return { before, after, wrapper }
}
