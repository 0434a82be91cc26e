/**
 * Something that runs, can be asked to stop, and is over when it is quiet.
 *
 * A promise is asked through its AbortSignal, a fiber through interruption; everything above this file treats both the
 * same. `tie` binds such a piece of work to the fiber that awaits it.
 *
 * 1. `interrupt` asks once: the first cancellation counts, later ones and those after the end change nothing.
 * 2. A settled work has one `exit`. Cancelled, it is never a success: a late success is dropped, a late failure is kept
 *    beside the interruption, and the abort itself is no failure.
 * 3. An expired work failed with its deadline, however it then ended.
 * 4. A work that owns calls is over after them, and whoever observes is told once, when timer and listener are released.
 */
import type * as Cause from "effect/Cause"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import type * as Cancellation from "./cancellation.ts"
import * as Failure from "./failure.ts"
import { failures } from "./failure.ts"
import { Once } from "./once.ts"
import * as SignalHub from "./signalHub.ts"
import { stop, type Stoppable } from "./stopping.ts"
import { isAbort } from "./thrown.ts"
import * as Ward from "./ward.ts"

export interface Expiry<E> {
  /** Starts to count, in the context of the work. What it returns ends when the deadline is due. */
  readonly begin: (context: Context.Context<never>) => Effect.Effect<void>
  readonly cancellation: Cancellation.Cancellation
  /** `late` is what the work failed with after the deadline fired. */
  readonly error: (late: ReadonlyArray<unknown>) => E
}

/** A signal that asks the work to stop. Work whose signal is aborted when it is started does not begin. */
export interface Source {
  readonly signal: AbortSignal
  readonly cancellation: (abortReason: unknown) => Cancellation.Cancellation
}

export interface Options<E> {
  /** Turns a failure or defect of the work into its one typed failure; without it the first is kept as it is. */
  readonly failure?: ((thrown: unknown) => E) | undefined
  readonly expiry?: Expiry<E> | undefined
  readonly source?: Source | undefined
  /** The work is a run of a tool's body: it owns the calls made inside it, and is over after them. */
  readonly owns?: Ward.Owner | undefined
  /** Makes ready what `failure` has to know of what was thrown, and calls `done`: at once, or once it is quiet. */
  readonly prepare?: ((thrown: unknown, done: () => void) => void) | undefined
}

export abstract class Work<A, E> implements Ward.Ward, Stoppable {
  cancellation: Cancellation.Cancellation | undefined = undefined
  /** It was cancelled with what is around it, and failed then. */
  failedLate = false
  /** The fiber that awaits it, or in whose name promise code did that recovered from whatever it failed with. */
  awaitedBy: Fiber.Fiber<unknown, unknown> | undefined = undefined
  owner: Ward.Owner | undefined
  outer: Ward.Ward | undefined = undefined
  readonly #options: Options<E>
  readonly #end = new Once<Exit.Exit<A, E>>()
  #controller: AbortController | undefined = undefined
  #timer: Fiber.Fiber<void> | undefined = undefined
  #subscription: SignalHub.Subscription | undefined = undefined

  constructor(options: Options<E>) {
    this.#options = options
    this.owner = options.owns
  }

  /** Begins the work; it may settle, and may be interrupted, before this returns. */
  protected abstract run(context: Context.Context<never>): void
  /** Delivers the request to stop, after the signal has aborted. */
  protected abstract abort(cancellation: Cancellation.Cancellation): void

  get exit(): Exit.Exit<A, E> | undefined {
    return this.#end.value
  }

  get over(): boolean {
    return this.exit !== undefined
  }

  /** Made when first asked for: work that never looks costs no controller. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController()
      if (this.owner !== undefined) Ward.sign(this.#controller.signal, this.owner)
      if (this.cancellation !== undefined) this.#controller.abort(this.cancellation.abortReason)
    }
    return this.#controller.signal
  }

  /** Begins. Work that was cancelled before settles without having run. */
  start(context: Context.Context<never>): void {
    if (this.cancellation !== undefined) return this.settle(Exit.interrupt())
    const outer = Ward.of(context)
    this.owner ??= outer?.owner
    // Begun in what is cancelled already, it is clean-up: that cancellation neither stops it nor came first.
    this.outer = Ward.cancellationOf(outer) === undefined ? outer : undefined
    const { expiry, source } = this.#options
    if (source !== undefined) {
      const { cancellation, signal } = source
      if (signal.aborted) {
        this.cancellation = cancellation(signal.reason)
        return this.settle(Exit.interrupt())
      }
      this.#subscription = SignalHub.subscribe(signal, (reason) => this.interrupt(cancellation(reason)))
    }
    const due = expiry?.begin(context)
    this.run(context)
    if (expiry !== undefined && due !== undefined) this.whileRunning(() => this.#time(expiry, due, context))
  }

  /** Calls `f`, which costs something, unless the work is over as soon as it was begun. */
  protected whileRunning(f: () => void): void {
    if (this.exit === undefined) f()
  }

  #time(expiry: Expiry<E>, due: Effect.Effect<void>, context: Context.Context<never>): void {
    this.#timer = Effect.runForkWith(context)(due)
    this.#timer.addObserver((exit) => {
      if (exit._tag === "Success") this.interrupt(expiry.cancellation)
    })
  }

  interrupt(cancellation: Cancellation.Cancellation): void {
    stop(this, cancellation)
  }

  note(cancellation: Cancellation.Cancellation): Cancellation.Cancellation | undefined {
    if (this.cancellation !== undefined || this.exit !== undefined) return undefined
    // The work around this one may be cancelled already, and its interruption on the way inwards: that came first.
    return this.cancellation = Ward.cancellationOf(this.outer) ?? cancellation
  }

  addInside(to: Array<Stoppable>): void {
    if (this.#options.owns !== undefined) to.push(this.#options.owns)
    const works = this.owner?.call.works ?? []
    // On whatever fiber and in whatever region a work further in is awaited.
    for (let index = works.length - 1; index >= 0; index--) {
      const inner = works[index]!
      if (Ward.isInside(inner.outer, this)) to.push(inner)
    }
  }

  deliver(cancellation: Cancellation.Cancellation): void {
    if (this.exit !== undefined) return
    this.#controller?.abort(cancellation.abortReason)
    this.abort(cancellation)
  }

  observe(observer: (exit: Exit.Exit<A, E>) => void): void {
    this.#end.observe(observer)
  }

  /** For one who no longer waits. */
  unobserve(observer: (exit: Exit.Exit<A, E>) => void): void {
    this.#end.unobserve(observer)
  }

  protected settle(exit: Exit.Exit<A, unknown>): void {
    const { owns } = this.#options
    if (owns === undefined) this.#prepare(exit)
    else owns.end(() => this.#prepare(exit))
  }

  #prepare(exit: Exit.Exit<A, unknown>): void {
    if (this.#options.prepare === undefined || exit._tag === "Success") return this.#settled(exit)
    const thrown = this.#ownFailures(exit.cause)
    if (thrown.length === 0) this.#settled(exit)
    else this.#options.prepare(thrown[0], () => this.#settled(exit))
  }

  #settled(exit: Exit.Exit<A, unknown>): void {
    const { source } = this.#options
    // An abort that we have not heard of: the event is still on its way through the listeners, or one of them stopped it.
    if (source?.signal.aborted === true) this.cancellation ??= source.cancellation(source.signal.reason)
    const concluded = this.#conclude(exit)
    this.#timer?.interruptUnsafe()
    if (this.#subscription !== undefined) SignalHub.unsubscribe(this.#subscription)
    this.#end.tell(concluded)
  }

  /** What it failed with, less the abort itself. */
  #ownFailures(cause: Cause.Cause<unknown>): ReadonlyArray<unknown> {
    const { cancellation } = this
    const thrown = failures(cause)
    return cancellation === undefined ? thrown : thrown.filter((it) => !isAbort(it, cancellation.abortReason))
  }

  #conclude(exit: Exit.Exit<A, unknown>): Exit.Exit<A, E> {
    const { cancellation } = this
    const { expiry } = this.#options
    if (cancellation === undefined) return exit._tag === "Success" ? Exit.succeed(exit.value) : this.#fail(exit.cause)
    const late = exit._tag === "Success" ? [] : this.#ownFailures(exit.cause)
    const around = Ward.cancellationOf(this.outer)
    this.failedLate = around !== undefined && (late.length > 0 || cancellation === expiry?.cancellation)
    if (cancellation === expiry?.cancellation) {
      const error = expiry.error(late)
      // An interruption by what is around it is on its way to whoever awaits this, and may pass over handlers there.
      return Exit.failCause(around === undefined ? Failure.fail(error) : Failure.late(around, error))
    }
    return Exit.failCause(
      late.length === 0
        ? Failure.interruptedBy(cancellation)
        : Failure.late(cancellation, this.#translate(late[0]))
    )
  }

  #fail(cause: Cause.Cause<unknown>): Exit.Exit<never, E> {
    const thrown = failures(cause)
    // Interrupted by nobody we know: the work interrupted itself.
    if (thrown.length === 0 || this.#options.failure === undefined) return Exit.failCause(cause as Cause.Cause<E>)
    return Exit.fail(this.#translate(thrown[0]))
  }

  #translate(thrown: unknown): E {
    return this.#options.failure === undefined ? thrown as E : this.#options.failure(thrown)
  }
}

/** Whoever waits for it comes behind the reactions that are in line already. */
const turn = Promise.resolve()

/** Runs `execute` at once and is over when what it returned has settled, if that is a promise. */
export class PromiseWork<A, E> extends Work<A, E> {
  readonly #execute: (work: PromiseWork<A, E>) => PromiseLike<A> | A

  constructor(execute: (work: PromiseWork<A, E>) => PromiseLike<A> | A, options: Options<E>) {
    super(options)
    this.#execute = execute
  }

  protected run(): void {
    let returned: PromiseLike<A> | A
    try {
      returned = this.#execute(this)
    } catch (thrown) {
      return this.settle(Exit.fail(thrown))
    }
    void this.#settleWith(returned)
  }

  // `await` and not `then`: it reads a foreign thenable safely and never calls a native promise's overridden `then`.
  async #settleWith(returned: PromiseLike<A> | A): Promise<void> {
    let value: A
    try {
      value = await returned
    } catch (thrown) {
      return this.settle(Exit.fail(thrown))
    }
    this.settle(Exit.succeed(value))
  }

  /** A turn later: a promise that was settled when it was returned has told so by then. */
  protected override whileRunning(f: () => void): void {
    void turn.then(() => super.whileRunning(f))
  }

  // The signal has said it.
  protected abort(): void {}
}

/** Runs `effect` at once in a fiber of its own, interruptible whatever region it was started from. */
export class FiberWork<A, E> extends Work<A, E> {
  readonly #effect: Effect.Effect<A, unknown>
  fiber: Fiber.Fiber<A, unknown> | undefined = undefined

  constructor(effect: Effect.Effect<A, unknown>, options: Options<E>) {
    super(options)
    this.#effect = effect
  }

  protected run(context: Context.Context<never>): void {
    this.fiber = Effect.runForkWith(Ward.enter(context, this))(Effect.withFiber((fiber) => {
      // Known from the first operation on, for an effect that cancels itself before it suspends.
      this.fiber = fiber as Fiber.Fiber<A, unknown>
      return this.#effect
    }))
    this.fiber.addObserver((exit) => this.settle(exit))
  }

  protected abort(cancellation: Cancellation.Cancellation): void {
    this.fiber?.interruptUnsafe(undefined, cancellation.annotations)
  }
}
