/**
 * The state of one call, and the ways to ask it to stop.
 *
 * A call is one fiber, started uninterruptible; the pipeline opens windows in it in which it waits. What the pipeline
 * runs on other fibers (a body, the rest of the call inside a wrapper) is in `works`.
 *
 * 1. The first cancellation counts. All that is inside knows it before anything is interrupted, the innermost first.
 * 2. Once it is `sealed` its outcome stands. What is left is the end of the child fibers that a stage may have forked; a
 *    call that is cancelled while they hold it up shows it, and is reported like any other.
 * 3. `dispatched` is set in the operation that invokes the body, and never taken back.
 */
import type * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Equal from "effect/Equal"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import type { Json } from "../Json.ts"
import type * as ToolCall from "../ToolCall.ts"
import type { Stage } from "../ToolRegistry.ts"
import * as ToolResult from "../ToolResult.ts"
import { Caller } from "./caller.ts"
import type * as Cancellation from "./cancellation.ts"
import { inherit } from "./context.ts"
import { type Pipeline, run } from "./fiber.ts"
import { Once } from "./once.ts"
import * as Outcome from "./outcome.ts"
import type { Publish } from "./pipeline.ts"
import type { Entry, Registry } from "./registry.ts"
import { stop, type Stoppable } from "./stopping.ts"
import { Token } from "./token.ts"
import * as Trace from "./trace.ts"
import * as Ward from "./ward.ts"
import type { Work } from "./work.ts"

/**
 * How far a call has come, whatever its stage: no call can be made inside it any more (`closed`), its outcome stands
 * (`sealed`), its result is published (`over`).
 */
type Phase = "open" | "closed" | "sealed" | "over"

export class Call implements Ward.Ward, Stoppable {
  readonly registry: Registry
  readonly input: ToolCall.Input
  /** The context of the call's fiber, less its ward. */
  context: Context.Context<never>
  readonly token: Token = new Token(this)
  /** The owner inside which this call was made. */
  readonly parent: Ward.Owner | undefined
  readonly outer = undefined
  /** How many levels are around it and its own, wrappers included. */
  readonly depth: number
  readonly clock: Clock.Clock
  /** The tool as it was visible when the call was launched. */
  readonly launched: Entry | undefined
  /** The tool, as far as it is known: first when the call is launched, and again when it is looked up for good. */
  entry: Entry | undefined
  #pending: ToolCall.Pending | undefined = undefined

  readonly launchedMillis: number
  stage: Stage = "pre"
  sinceMillis: number
  /** What a failure of the stage at hand makes of the call; none before the first. */
  reading: ((call: Call, cause: Cause.Cause<unknown>) => Outcome.Failed) | undefined = undefined
  /** Present where somebody traces. */
  trace: Trace.Trace | undefined = undefined
  cancellation: Cancellation.Cancellation | undefined = undefined
  cancelledAtMillis = 0
  /** Wrappers and body are over: nothing of them can be started any more. */
  attempted = false
  dispatched = false
  journaled = false
  concludesTurn = false
  /** The latest run of the body. */
  body: Work<any, any> | undefined = undefined
  /** Replaced and never changed. They are few: one for each level that is under way. */
  works: ReadonlyArray<Work<any, any>> = Outcome.none
  readonly bodyContexts: Array<Json> = []
  readonly wrapperContexts: Array<Json> = []
  /** Kept here, since a later review can end the fiber. */
  reviewedContexts: ReadonlyArray<Json> | undefined = undefined
  readonly residue: Array<ToolResult.Residue> = []

  fiber: Fiber.Fiber<unknown, unknown> | undefined = undefined
  /** Told once the call has settled and its fiber is over. */
  readonly exit = new Once<Exit.Exit<ToolResult.ToolResult>>()
  /** Whether the call got past policy and approval; only the first word counts. */
  readonly admission = new Once<boolean>()
  readonly #caller: Caller
  #phase: Phase = "open"
  #owner: Ward.Owner | undefined = undefined
  /** Weak, since a wrapper may retry for as long as it likes. */
  #errors: WeakSet<object> | undefined = undefined

  constructor(launch: {
    readonly registry: Registry
    readonly input: ToolCall.Input
    readonly entry: Entry | undefined
    readonly parent: Ward.Owner | undefined
    readonly depth: number
    readonly signal: AbortSignal | undefined
    readonly fiber: Fiber.Fiber<unknown, unknown> | undefined
    readonly context: Context.Context<never>
  }) {
    this.registry = launch.registry
    this.input = launch.input
    this.context = launch.context
    this.parent = launch.parent
    this.depth = launch.depth
    this.clock = Context.get(launch.context, Clock.Clock)
    this.launchedMillis = this.sinceMillis = this.clock.currentTimeMillisUnsafe()
    this.entry = this.launched = launch.entry
    this.#caller = new Caller(launch.signal, launch.fiber)
  }

  /** Runs `pipeline` in the call's fiber, up to its first wait. */
  start(pipeline: Pipeline): void {
    this.trace = Trace.open(this)
    if (this.trace !== undefined) this.context = this.trace.context
    run(this, pipeline)
    this.#caller.launched()
  }

  /** The end of the call's fiber, and so of everything that a stage left in it. */
  settle(exit: Exit.Exit<Publish>): void {
    this.#phase = "over"
    if (exit._tag === "Failure") this.drop(exit.cause)
    else this.exit.tell(Exit.succeed(exit.value()))
  }

  /** For a call that did not begin, or whose fiber ended without a result: nobody may wait for it. */
  drop(cause: Cause.Cause<never>): void {
    this.#phase = "over"
    this.registry.drop(this)
    this.admission.tell(false)
    this.exit.tell(Exit.failCause(cause))
  }

  /** The call and those around it, the innermost first. */
  get lineage(): ReadonlySet<Call> {
    const calls = new Set<Call>([this])
    for (let { parent } = this; parent !== undefined; { parent } = parent.call) calls.add(parent.call)
    return calls
  }

  get over(): boolean {
    return this.#phase === "over"
  }

  /** Owns the calls that policies, wrappers and approval channels make; a run of the body has an owner of its own. */
  get owner(): Ward.Owner {
    if (this.#owner === undefined) {
      this.#owner = new Ward.Owner(this)
      if (this.cancellation !== undefined) this.#owner.note(this.cancellation)
      this.#owner.over = this.#phase !== "open"
    }
    return this.#owner
  }

  /** From now on no call can be made inside this one. Returns the owner of those that were, if there is one. */
  close(): Ward.Owner | undefined {
    this.#phase = "closed"
    return this.#owner
  }

  /** What body and wrappers deferred, in this order, or what the reviews so far made of it. Frozen. */
  get contexts(): ReadonlyArray<Json> {
    if (this.reviewedContexts !== undefined) return this.reviewedContexts
    return this.bodyContexts.length + this.wrapperContexts.length === 0
      ? Outcome.none
      : Object.freeze([...this.bodyContexts, ...this.wrapperContexts])
  }

  seal(): void {
    this.#phase = "sealed"
    this.admission.tell(false)
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

  /** What the stages see of the call: without arguments until it can show them. */
  get pending(): ToolCall.Pending {
    return this.#pending ??= this.#view(null, emptyMetadata)
  }

  show(args: Json, metadata: { readonly [key: string]: Json } | undefined): void {
    this.#pending = this.#view(args, metadata ?? emptyMetadata)
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

  /** Asks the caller. Called before each thing that a cancelled call must not begin, and at the end. */
  hear(): void {
    const { cancellation } = this.#caller
    if (cancellation !== undefined) this.cancel(cancellation)
  }

  /** Listens to the caller, or is refused where that has cancelled already. */
  listen(): void {
    const { cancellation } = this.#caller
    if (cancellation !== undefined) this.refuse(cancellation)
    else if (this.cancellation === undefined) this.#caller.listen(this)
  }

  deafen(): void {
    this.#caller.deafen()
  }

  /** Cancels the call before it has waited for anything: it will not begin. */
  refuse(cancellation: Cancellation.Cancellation): void {
    this.cancellation ??= cancellation
  }

  /** Asks the call to stop. Returns when that was passed on; the call is over when its fiber is. */
  cancel(cancellation: Cancellation.Cancellation): void {
    stop(this, cancellation)
  }

  note(cancellation: Cancellation.Cancellation): Cancellation.Cancellation | undefined {
    if (this.over || this.cancellation !== undefined) return undefined
    this.cancellation = cancellation
    this.cancelledAtMillis = this.clock.currentTimeMillisUnsafe()
    this.trace?.event("cancel", { reason: cancellation.reason._tag })
    this.registry.changed(this)
    return cancellation
  }

  addInside(to: Array<Stoppable>): void {
    if (this.#owner !== undefined) to.push(this.#owner)
    for (let index = this.works.length - 1; index >= 0; index--) to.push(this.works[index]!)
  }

  deliver(cancellation: Cancellation.Cancellation): void {
    // Sealed, its fiber only waits for its children, which were interrupted when their parent ended.
    if (this.#phase !== "sealed") this.fiber?.interruptUnsafe(undefined, cancellation.annotations)
    if (!this.over) this.registry.watch(this)
  }

  /** `work` belongs to the call until it is quiet. */
  track(work: Work<any, any>): void {
    this.works = [...this.works, work]
    work.observe(() => {
      this.works = this.works.filter((other) => other !== work)
    })
  }

  /** The context of the call with the services of the tool. Its fiber has those of the tool known at its launch. */
  get services(): Context.Context<never> {
    const { entry } = this
    return entry === undefined || entry === this.launched ? this.context : inherit(entry.context, this.context)
  }

  withServices<A, E>(effect: Effect.Effect<A, E>): Effect.Effect<A, E> {
    const { services } = this
    return services === this.context ? effect : Effect.provideContext(effect, services)
  }

  /** Makes the error with which `next` fails, so that `hasMade` knows it again. */
  toError(outcome: Outcome.Failed): ToolResult.ToolCallFailed {
    // By reference: effect compares the failures of a cause by their fields, and these can be anything.
    const error = Equal.byReferenceUnsafe(
      new ToolResult.ToolCallFailed<never>({ result: Outcome.toFailure(this, outcome, Outcome.none) })
    )
    ;(this.#errors ??= new WeakSet()).add(error)
    return error
  }

  hasMade(error: unknown): error is ToolResult.ToolCallFailed {
    return this.#errors?.has(error as object) === true
  }
}

const emptyMetadata: { readonly [key: string]: Json } = Object.freeze({})
