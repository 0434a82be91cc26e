/**
 * The calls in flight and the tools they can call.
 *
 * 1. A call is in `inFlight` from its launch until its result is published, whatever happens in between.
 * 2. Publishing comes after the end of the call's fiber, and is synchronous: the listener goes, the call leaves `inFlight`,
 *    the observers are started, and only then does its caller look.
 */
import * as Cause from "effect/Cause"
import type * as Context from "effect/Context"
import * as Data from "effect/Data"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import { identity } from "effect/Function"
import * as Metric from "effect/Metric"
import type { Channel } from "../Approval.ts"
import type { Observer } from "../Observer.ts"
import type { Policy, Post } from "../Policy.ts"
import type * as Tool from "../Tool.ts"
import type * as ToolCall from "../ToolCall.ts"
import type * as ToolResult from "../ToolResult.ts"
import type { Wrapper } from "../Wrapper.ts"
import { Call } from "./call.ts"
import * as Cancellation from "./cancellation.ts"
import { inherit, undivided } from "./context.ts"
import { type Definition, TypeId } from "./definition.ts"
import { Observers } from "./observers.ts"
import { pipeline } from "./pipeline.ts"
import { Waits } from "./waits.ts"
import type * as Ward from "./ward.ts"
import { Watch } from "./watch.ts"

/** What a registry captures when it is built. */
export interface Services {
  readonly policy: Policy
  /** The reviews of the policy, one by one. */
  readonly reviews: ReadonlyArray<Post>
  readonly approval: Channel
  /** With composed ones taken apart, so that each part is a level of its own. */
  readonly wrappers: ReadonlyArray<Wrapper>
  /** Whether `Wrapper.timeout` stands among them: where not, the body alone is timed. */
  readonly listsTimeout: boolean
  readonly observers: ReadonlyArray<Observer>
  /** How long a cancelled call may take to become quiet before it is reported. */
  readonly grace: Duration.Duration
}

/** One registration of a tool. */
export interface Entry {
  readonly tool: Tool.Any
  readonly definition: Definition
  /** The services its body and schemas need. */
  readonly context: Context.Context<never>
}

/** A tool of that name is registered already; none of the tools given with it was registered. */
export class DuplicateTool extends Data.TaggedError("DuplicateTool")<{ readonly name: string }> {
  override get message(): string {
    return `a tool named ${JSON.stringify(this.name)} is registered already`
  }
}

/** Where a call comes from. */
export interface Origin {
  /** The context of the fiber that makes the call; promise code has none. */
  readonly caller?: Context.Context<never> | undefined
  readonly parent?: Ward.Owner | undefined
  readonly signal?: AbortSignal | undefined
  /** The fiber that waits for the call, and launches it in one of its own operations. */
  readonly fiber?: Fiber.Fiber<unknown, unknown> | undefined
}

export class Registry {
  readonly services: Services
  /** Throws for a context that holds something else than what was captured. */
  readonly check: (caller: Context.Context<never>) => void
  readonly inFlight = new Set<Call>()
  readonly waits = new Waits(this.inFlight)
  readonly observers: Observers
  closed = false
  readonly #context: Context.Context<never>
  /** The context of a call of `entry` that `caller` makes. */
  readonly contextOf: (entry: Entry | undefined, caller: Context.Context<never>) => Context.Context<never>
  /** The context of a call's fiber, made of the call's. */
  readonly fiberContext: (context: Context.Context<never>) => Context.Context<never>
  readonly #tools = new Map<string, Entry>()
  readonly #watch: Watch
  /** How many levels are being launched in one another: calls that name no parent are only known to nest by this. */
  #launching = 0
  /** Told of every change of a call in flight, and of the tools. */
  readonly callListeners = new Set<(call: Call) => void>()
  readonly toolListeners = new Set<() => void>()

  constructor(services: Services, context: Context.Context<never>, check: (caller: Context.Context<never>) => void) {
    this.services = services
    this.check = check
    this.#context = context
    this.observers = new Observers(services.observers)
    this.#watch = new Watch(context, services.grace, (call) => this.#notQuiescent(call))
    const undividedOnce = memoizeLast(undivided)
    this.fiberContext = services.wrappers.length === 0 ? identity : (context) => undividedOnce(context, undefined)
    this.contextOf = memoizeLast((entry, caller) => {
      check(caller)
      return inherit(entry?.context ?? context, caller)
    })
  }

  get tools(): ReadonlyArray<Tool.Any> {
    return Array.from(this.#tools.values(), ({ tool }) => tool)
  }

  lookup(name: string): Entry | undefined {
    return this.#tools.get(name)
  }

  /** Adds all of `tools`, or none and names the first that is there already. */
  add(tools: ReadonlyArray<Tool.Any>, context: Context.Context<never>): ReadonlyArray<Entry> | DuplicateTool {
    const names = new Set(this.#tools.keys())
    for (const { name } of tools) {
      if (names.has(name)) return new DuplicateTool({ name })
      names.add(name)
    }
    const entries = tools.map((tool): Entry => ({ tool, definition: tool[TypeId], context }))
    for (const entry of entries) this.#tools.set(entry.tool.name, entry)
    this.#toolsChanged()
    return entries
  }

  /** Removes the tools, cancels their calls, and waits for these. */
  remove(entries: ReadonlyArray<Entry>, except: ReadonlySet<Call>): Effect.Effect<void> {
    return Effect.suspend(() => {
      for (const { tool } of entries) this.#tools.delete(tool.name)
      this.#toolsChanged()
      const calls = [...this.inFlight].filter(({ entry }) => entry !== undefined && entries.includes(entry))
      for (const call of calls) call.cancel(shutdown)
      return this.waits.idle(except, new Set(calls))
    })
  }

  #toolsChanged(): void {
    for (const listener of this.toolListeners) listener()
  }

  /** How many levels a call is: itself and its wrappers. */
  get levels(): number {
    return 1 + this.services.wrappers.length
  }

  /** Starts a call at once. It may have settled when this returns. */
  launch(input: ToolCall.Input, { caller, fiber, parent, signal }: Origin): Call {
    const entry = this.lookup(input.name)
    const context = caller === undefined ? entry?.context ?? this.#context : this.contextOf(entry, caller)
    const depth = (parent === undefined ? this.#launching : parent.call.depth) + this.levels
    const call = new Call({ registry: this, input, entry, parent, depth, signal, fiber, context })
    this.inFlight.add(call)
    this.changed(call)
    if (this.closed) call.refuse(shutdown)
    else if (parent?.cancellation !== undefined) call.refuse(parent.cancellation)
    else parent?.adopt(call)
    this.#launching += this.levels
    try {
      call.start(pipeline)
    } catch (thrown) {
      // A name that is no text, for one: a call that could not begin must not stay.
      call.drop(Cause.die(thrown))
      throw thrown
    } finally {
      this.#launching -= this.levels
    }
    return call
  }

  /** The last, synchronous step of a call. */
  publish(call: Call, result: ToolResult.ToolResult): ToolResult.ToolResult {
    this.#leave(call)
    call.trace?.end(result)
    this.observers.settled(call, result)
    this.waits.release()
    return result
  }

  /** For a call that has no result, which only a defect of ours can do: nobody may wait for it. */
  drop(call: Call): void {
    this.#leave(call)
    this.waits.release()
  }

  #leave(call: Call): void {
    call.deafen()
    this.#watch.remove(call)
    this.inFlight.delete(call)
  }

  changed(call: Call): void {
    if (this.callListeners.size === 0) return
    for (const listener of this.callListeners) listener(call)
  }

  watch(call: Call): void {
    this.#watch.add(call)
  }

  #notQuiescent(call: Call): Effect.Effect<void> {
    return Effect.suspend(() => {
      const { pending } = call
      this.observers.notQuiescent(call)
      return Effect.andThen(
        Metric.update(notQuiescent, 1),
        Effect.logWarning(`The call ${pending.callId} of ${pending.name} was cancelled and is not quiet yet`)
      )
    })
  }

  /** Refuses new calls, cancels all there are and waits for them; then asks what observers still do to stop. */
  shutdown(except: ReadonlySet<Call>): Effect.Effect<void> {
    return Effect.suspend(() => {
      this.closed = true
      // A copy: a call that settles while it is cancelled leaves the set.
      for (const call of Array.from(this.inFlight)) call.cancel(shutdown)
      return Effect.andThen(this.waits.idle(except), this.observers.interrupt)
    })
  }
}

const shutdown = Cancellation.make({ _tag: "Shutdown" })

const notQuiescent = Metric.counter("quiesce_calls_not_quiescent", {
  description: "Reports of a cancelled call that was not quiet after its grace",
  incremental: true
})

/** Remembers the last answer: a fiber that makes many calls makes them all with one context. It allocates nothing. */
const memoizeLast = <K1, K2, A>(f: (one: K1, two: K2) => A): (one: K1, two: K2) => A => {
  let known = false
  let lastOne: K1
  let lastTwo: K2
  let last: A
  return (one, two) => {
    if (known && one === lastOne && two === lastTwo) return last
    last = f(one, two)
    known = true
    lastOne = one
    lastTwo = two
    return last
  }
}
