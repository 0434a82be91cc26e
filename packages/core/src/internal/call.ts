/**
 * The state of one call, and the ways to ask it to stop.
 *
 * A call is one fiber, started uninterruptible; the pipeline opens windows in it in which it waits. What the pipeline
 * runs on other fibers (a body, the rest of the call inside a wrapper) is in `works`.
 *
 * 1. The first cancellation counts. It is recorded before anything is interrupted, and reaches the innermost work first.
 * 2. Once `sealed` a call cannot be cancelled: its outcome stands. What is left is the end of the child fibers that a stage
 *    may have forked, and then synchronous.
 * 3. `dispatched` is set in the operation that invokes the body, and never taken back.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Equal from "effect/Equal"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import type { Json } from "../Json.ts"
import type * as ToolCall from "../ToolCall.ts"
import * as ToolResult from "../ToolResult.ts"
import * as Cancellation from "./cancellation.ts"
import { inherit } from "./context.ts"
import { type Failed, none, toFailure } from "./outcome.ts"
import type { Publish } from "./pipeline.ts"
import type { Entry, Registry } from "./registry.ts"
import * as SignalHub from "./signalHub.ts"
import { Token } from "./token.ts"
import * as Trace from "./trace.ts"
import * as Ward from "./ward.ts"
import type { Work } from "./work.ts"

export type Stage = "pre" | "approval" | "wrappers" | "body" | "post" | "settling"

export class Call implements Ward.Ward, Ward.Owned {
  readonly registry: Registry
  readonly input: ToolCall.Input
  /** The context of the call's fiber, less its ward. */
  context: Context.Context<never>
  readonly token: Token = new Token(this)
  /** The owner inside which this call was made. */
  readonly parent: Ward.Owner | undefined
  readonly outer = undefined
  readonly clock: Clock.Clock
  /** The tool, as far as it is known: first when the call is launched, and again when it is looked up for good. */
  entry: Entry | undefined
  pending: ToolCall.Pending

  readonly launchedMillis: number
  stage: Stage = "pre"
  sinceMillis: number
  /** Present where somebody traces. */
  trace: Trace.Trace | undefined = undefined
  cancellation: Cancellation.Cancellation | undefined = undefined
  cancelledAtMillis = 0
  sealed = false
  dispatched = false
  journaled = false
  concludesTurn = false
  /** The latest run of the body. */
  body: Work<any, any> | undefined = undefined
  readonly bodyContexts: Array<Json> = []
  readonly wrapperContexts: Array<Json> = []
  readonly residue: Array<ToolResult.Residue> = []

  readonly #signal: AbortSignal | undefined
  readonly #launched: Entry | undefined
  /** While the call is being launched: the fiber in whose operation that happens. */
  #launcher: Fiber.Fiber<unknown, unknown> | undefined
  readonly #works: Array<Work<any, any>> = []
  readonly #observers = new Set<(exit: Exit.Exit<ToolResult.ToolResult>) => void>()
  #exit: Exit.Exit<ToolResult.ToolResult> | undefined = undefined
  #fiber: Fiber.Fiber<unknown, unknown> | undefined = undefined
  #owner: Ward.Owner | undefined = undefined
  #closed = false
  #subscription: SignalHub.Subscription | undefined = undefined
  #admitted: boolean | undefined = undefined
  #admissions: Array<(admitted: boolean) => void> | undefined = undefined
  /** Weak, since a wrapper may retry for as long as it likes. */
  #issued: WeakSet<object> | undefined = undefined

  constructor(launch: {
    readonly registry: Registry
    readonly input: ToolCall.Input
    readonly entry: Entry | undefined
    readonly parent: Ward.Owner | undefined
    readonly signal: AbortSignal | undefined
    readonly fiber: Fiber.Fiber<unknown, unknown> | undefined
    readonly context: Context.Context<never>
  }) {
    this.registry = launch.registry
    this.input = launch.input
    this.context = launch.context
    this.parent = launch.parent
    this.clock = Context.get(launch.context, Clock.Clock)
    this.launchedMillis = this.sinceMillis = this.clock.currentTimeMillisUnsafe()
    this.entry = this.#launched = launch.entry
    this.#signal = launch.signal
    this.#launcher = launch.fiber
    this.pending = this.#view(null, emptyMetadata)
  }

  /** Runs the pipeline in the call's fiber, up to its first wait. */
  start(pipeline: Effect.Effect<Publish>): void {
    this.trace = Trace.open(this)
    if (this.trace !== undefined) this.context = this.trace.context
    const fiber = Effect.runForkWith(Ward.enter(this.registry.fiberContext(this.context), this))(
      Effect.withFiber((fiber) => {
        this.#fiber = fiber
        return pipeline
      }),
      { uninterruptible: true }
    )
    this.#launcher = undefined
    // A fiber is over after the child fibers that a stage left in it: only then is there nothing of the call alive.
    fiber.addObserver((exit) => {
      if (exit._tag === "Failure") this.registry.drop(this)
      const settled = this.#exit = Exit.map(exit, (publish) => publish())
      for (const observer of this.#observers) observer(settled)
    })
  }

  get over(): boolean {
    return this.#exit !== undefined
  }

  /** Owns the calls that policies, wrappers and approval channels make; a run of the body has an owner of its own. */
  get owner(): Ward.Owner {
    if (this.#owner === undefined) {
      this.#owner = new Ward.Owner(this)
      if (this.cancellation !== undefined) this.#owner.cancel(this.cancellation)
      this.#owner.over = this.#closed
    }
    return this.#owner
  }

  /** From now on no call can be made inside this one. Returns the owner of those that were, if there is one. */
  close(): Ward.Owner | undefined {
    this.#closed = true
    return this.#owner
  }

  /** What body and wrappers deferred, in this order. */
  get deferred(): ReadonlyArray<Json> {
    return this.bodyContexts.length + this.wrapperContexts.length === 0
      ? none
      : [...this.bodyContexts, ...this.wrapperContexts]
  }

  seal(): void {
    this.sealed = true
    this.#closed = true
    this.admit(false)
    this.enter("settling")
  }

  /** The owner for a call that names this one as its parent: a run of the body while one is under way. */
  get currentOwner(): Ward.Owner {
    const run = this.body?.owner
    return run?.over === false ? run : this.owner
  }

  get budget(): Duration.Duration | undefined {
    return this.entry?.definition.timeout
  }

  show(args: Json, metadata: { readonly [key: string]: Json } | undefined): void {
    this.pending = this.#view(args, metadata ?? emptyMetadata)
  }

  #view(args: Json, metadata: { readonly [key: string]: Json }): ToolCall.Pending {
    const { callId, name } = this.input
    return {
      callId,
      rootCallId: this.parent?.call.pending.rootCallId ?? callId,
      name,
      arguments: args,
      token: this.token,
      metadata
    }
  }

  enter(stage: Stage): void {
    this.stage = stage
    this.sinceMillis = this.clock.currentTimeMillisUnsafe()
    this.trace?.event(stage)
    this.registry.changed(this)
  }

  /**
   * Asks whether the caller has cancelled without our hearing of it. Called before each thing that a cancelled call must
   * not begin, and at the end.
   *
   * Up to its first wait the call runs within an operation of the fiber that waits for it: if something in there
   * interrupts that fiber (a getter of the arguments, a policy), the fiber sees it only after the operation. And another
   * listener of the caller's signal may come before ours and stop the event, or let the body end first.
   */
  hear(): void {
    const signal = this.#signal
    if (signal?.aborted === true) this.cancel(Cancellation.byCaller(signal.reason))
    else if (this.#launcher !== undefined && isInterruptionPending(this.#launcher)) {
      this.cancel(Cancellation.interrupted())
    }
  }

  /** Listens to the caller's signal, or is refused where that has aborted. */
  listen(): void {
    const signal = this.#signal
    if (signal?.aborted === true) return this.refuse(Cancellation.byCaller(signal.reason))
    this.hear()
    if (signal !== undefined && this.cancellation === undefined) {
      this.#subscription = SignalHub.subscribe(signal, (reason) => this.cancel(Cancellation.byCaller(reason)))
    }
  }

  deafen(): void {
    if (this.#subscription !== undefined) SignalHub.unsubscribe(this.#subscription)
  }

  /** Cancels the call before it has waited for anything: it will not begin. */
  refuse(cancellation: Cancellation.Cancellation): void {
    this.cancellation ??= cancellation
  }

  /** Asks the call to stop. Returns when that was passed on; the call is over when its fiber is. */
  cancel(cancellation: Cancellation.Cancellation): void {
    if (this.sealed || this.cancellation !== undefined) return
    this.cancellation = cancellation
    this.cancelledAtMillis = this.clock.currentTimeMillisUnsafe()
    this.trace?.event("cancel", { reason: cancellation.reason._tag })
    this.registry.changed(this)
    this.#owner?.cancel(cancellation)
    for (let index = this.#works.length - 1; index >= 0; index--) this.#works[index]?.interrupt(cancellation)
    this.#fiber?.interruptUnsafe(undefined, cancellation.annotations)
    if (!this.sealed) this.registry.watch(this)
  }

  /**
   * Interrupts what runs inside `work`, the innermost first: what a wrapper adds as a cancellation reaches what it
   * delegated, on whatever fiber and in whatever region a wrapper further in awaits it.
   */
  interruptInside(work: Ward.Ward, cancellation: Cancellation.Cancellation): void {
    for (let index = this.#works.length - 1; index >= 0; index--) {
      const inner = this.#works[index]
      if (inner !== undefined && Ward.isInside(inner.outer, work)) inner.interrupt(cancellation)
    }
  }

  /** `work` belongs to the call until it is quiet. */
  track(work: Work<any, any>): void {
    this.#works.push(work)
    work.observe(() => {
      this.#works.splice(this.#works.indexOf(work), 1)
    })
  }

  /** Says whether the call got past policy and approval; only the first word counts. */
  admit(admitted: boolean): void {
    if (this.#admitted !== undefined) return
    this.#admitted = admitted
    this.#admissions?.forEach((observer) => observer(admitted))
  }

  onAdmission(observer: (admitted: boolean) => void): void {
    if (this.#admitted !== undefined) observer(this.#admitted)
    else (this.#admissions ??= []).push(observer)
  }

  /** The context of the call with the services of the tool. Its fiber has those of the tool known at its launch. */
  get services(): Context.Context<never> {
    const { entry } = this
    return entry === undefined || entry === this.#launched ? this.context : inherit(entry.context, this.context)
  }

  withServices<A, E>(effect: Effect.Effect<A, E>): Effect.Effect<A, E> {
    const { services } = this
    return services === this.context ? effect : Effect.provideContext(effect, services)
  }

  /** Makes the error with which `next` fails, so that `hasIssued` knows it again. */
  issue(outcome: Failed): ToolResult.ToolCallFailed {
    const result = toFailure(this, outcome, none)
    // By reference: effect compares the failures of a cause by their fields, and these can be anything.
    const error = Equal.byReferenceUnsafe(
      new ToolResult.ToolCallFailed<never>({
        code: result.error.code,
        dispatched: result.dispatched,
        result,
        failure: undefined
      })
    )
    ;(this.#issued ??= new WeakSet()).add(error)
    return error
  }

  hasIssued(error: unknown): error is ToolResult.ToolCallFailed {
    return this.#issued?.has(error as object) === true
  }

  /** Calls `observer` once the call has settled and its fiber is over, at once if it is. */
  observe(observer: (exit: Exit.Exit<ToolResult.ToolResult>) => void): void {
    if (this.#exit === undefined) this.#observers.add(observer)
    else observer(this.#exit)
  }

  /** For one who no longer waits. */
  unobserve(observer: (exit: Exit.Exit<ToolResult.ToolResult>) => void): void {
    this.#observers.delete(observer)
  }
}

/** Effect keeps this to itself, and there is no other sign of it inside the operation. */
const isInterruptionPending = (fiber: Fiber.Fiber<unknown, unknown>): boolean =>
  (fiber as { readonly _deferredInterrupt?: boolean })._deferredInterrupt === true

const emptyMetadata: { readonly [key: string]: Json } = Object.freeze({})
