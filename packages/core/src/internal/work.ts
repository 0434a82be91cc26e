/**
 * Something that runs, can be asked to stop, and is over when it is quiet.
 *
 * A promise is asked through its AbortSignal, a fiber through interruption; everything above this file treats both the
 * same. `tie` binds such a piece of work to the fiber that awaits it, and is the one place where a wait for quiescence
 * is written: the bridge, the deadlines, the bodies and the `next` of a wrapper are all ties.
 *
 * 1. `interrupt` asks once: the first cancellation counts, later ones and those after the end change nothing.
 * 2. A settled work has one `exit`. Cancelled, it is never a success: a late success is dropped, a late failure is kept
 *    beside the interruption, and the abort itself is no failure.
 * 3. An expired work failed with its deadline, however it then ended.
 * 4. A work that owns calls is over after them, and whoever observes is told once, when timer and listener are released.
 */
import * as Cause from "effect/Cause"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as Cancellation from "./cancellation.ts"
import * as Failure from "./failure.ts"
import { failures } from "./failure.ts"
import * as SignalHub from "./signalHub.ts"
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
  readonly owner?: Ward.Owner | undefined
}

export abstract class Work<A, E> implements Ward.Ward {
  cancellation: Cancellation.Cancellation | undefined = undefined
  exit: Exit.Exit<A, E> | undefined = undefined
  /** It was cancelled with what is around it, and failed then. */
  failedLate = false
  /** The fiber that awaits it, or in whose name promise code did that recovered from whatever it failed with. */
  awaitedBy: Fiber.Fiber<unknown, unknown> | undefined = undefined
  owner: Ward.Owner | undefined
  outer: Ward.Ward | undefined = undefined
  readonly #options: Options<E>
  readonly #observers: Array<(exit: Exit.Exit<A, E>) => void> = []
  #controller: AbortController | undefined = undefined
  #timer: Fiber.Fiber<void> | undefined = undefined
  #subscription: SignalHub.Subscription | undefined = undefined

  constructor(options: Options<E>) {
    this.#options = options
    this.owner = options.owner
  }

  /** Begins the work; it may settle, and may be interrupted, before this returns. */
  protected abstract run(context: Context.Context<never>): void
  /** Delivers the request to stop, after the signal has aborted. */
  protected abstract abort(cancellation: Cancellation.Cancellation): void

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
    if (expiry !== undefined && due !== undefined && this.exit === undefined) {
      this.#timer = Effect.runForkWith(context)(due)
      this.#timer.addObserver((exit) => {
        if (exit._tag === "Success") this.interrupt(expiry.cancellation)
      })
    }
  }

  interrupt(cancellation: Cancellation.Cancellation): void {
    if (this.cancellation !== undefined || this.exit !== undefined) return
    // The work around this one may be cancelled already, and its interruption on the way inwards: that came first.
    this.cancellation = Ward.cancellationOf(this.outer) ?? cancellation
    // The innermost first: an inner call that is told by its own fiber's interruption would not know its parent's reason.
    this.#options.owner?.cancel(this.cancellation)
    this.owner?.call.interruptInside(this, this.cancellation)
    this.#controller?.abort(this.cancellation.abortReason)
    this.abort(this.cancellation)
  }

  observe(observer: (exit: Exit.Exit<A, E>) => void): void {
    if (this.exit === undefined) this.#observers.push(observer)
    else observer(this.exit)
  }

  protected settle(exit: Exit.Exit<A, unknown>): void {
    const { owner } = this.#options
    if (owner === undefined) this.#settled(exit)
    else owner.end(() => this.#settled(exit))
  }

  #settled(exit: Exit.Exit<A, unknown>): void {
    const { source } = this.#options
    // An abort that we have not heard of: the event is still on its way through the listeners, or one of them stopped it.
    if (source?.signal.aborted === true) this.cancellation ??= source.cancellation(source.signal.reason)
    this.exit = this.#conclude(exit)
    this.#timer?.interruptUnsafe()
    if (this.#subscription !== undefined) SignalHub.unsubscribe(this.#subscription)
    for (const observer of this.#observers) observer(this.exit)
  }

  #conclude(exit: Exit.Exit<A, unknown>): Exit.Exit<A, E> {
    const { cancellation } = this
    const { expiry } = this.#options
    if (cancellation === undefined) return exit._tag === "Success" ? Exit.succeed(exit.value) : this.#fail(exit.cause)
    const thrown = exit._tag === "Success" ? [] : failures(exit.cause)
    const late = thrown.filter((it) => !isAbort(it, cancellation.abortReason))
    const around = Ward.cancellationOf(this.outer)
    if (cancellation !== expiry?.cancellation && late.length === 0) {
      return Exit.failCause(Failure.interruptedBy(cancellation))
    }
    this.failedLate = around !== undefined
    if (cancellation !== expiry?.cancellation) {
      return Exit.failCause(Failure.late(cancellation, this.#translate(late[0])))
    }
    // An interruption by what is around it is on its way to whoever awaits this, and may pass over handlers there.
    const error = expiry.error(late)
    return Exit.failCause(around === undefined ? Failure.fail(error) : Failure.late(around, error))
  }

  #fail(cause: Cause.Cause<unknown>): Exit.Exit<never, E> {
    const thrown = failures(cause)
    // Interrupted by nobody we know: the work interrupted itself.
    if (thrown.length === 0 || this.#options.failure === undefined) return Exit.failCause(cause as Cause.Cause<E>)
    return Exit.fail(this.#translate(thrown[0]))
  }

  #translate(thrown: unknown): E {
    const { failure } = this.#options
    return failure === undefined ? thrown as E : failure(thrown)
  }
}

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

/**
 * Makes work, starts it and awaits it.
 *
 * **Interruption**: interrupts the work, for the reason that the ward of this fiber was cancelled for, and waits until
 * it is quiet. A failure it then ends with is kept beside the interruption.
 *
 * The work is made and started inside `register`: earlier, a fiber that yields in between would abandon it, or be waited
 * for although it never starts. And there is no operation between its end and the handler of whoever awaits it: an
 * interrupt that came in between would drop the failure as if it had been handled.
 */
export const tie = <A, E>(make: (context: Context.Context<never>) => Work<A, E>): Effect.Effect<A, E> =>
  Effect.withFiber((fiber) =>
    Effect.callback<A, E>((resume) => {
      const work = make(fiber.context)
      work.awaitedBy = fiber
      work.start(fiber.context)
      if (work.exit === undefined) {
        work.observe(resume)
      } else if (work.exit._tag === "Success") {
        return resume(work.exit)
      } else {
        // Failed within this operation. An interrupt of this fiber, pending or before the next operation, would replace
        // what is resumed now by itself: the finalizer must be in place first.
        const { exit } = work
        fiber.currentDispatcher.scheduleTask(() => resume(exit), 0)
      }
      // The runtime keeps what a finalizer fails with beside the interruption; only the type leaves it out.
      return finish(work) as Effect.Effect<void>
    })
  )

const finish = <A, E>(work: Work<A, E>): Effect.Effect<void, E> =>
  Effect.withFiber((fiber) => {
    work.interrupt(Ward.cancellationOf(Ward.of(fiber.context)) ?? Cancellation.interrupted())
    return Effect.flatMap(quiescence(work), (exit) =>
      exit._tag === "Failure" && !Cause.hasInterruptsOnly(exit.cause) ? Effect.failCause(exit.cause) : Effect.void)
  })

/** Waits until `work`, which has been started, is quiet. */
export const quiescence = <A, E>(work: Work<A, E>): Effect.Effect<Exit.Exit<A, E>> =>
  Effect.suspend(() =>
    work.exit !== undefined
      ? Effect.succeed(work.exit)
      : Effect.callback((resume) => work.observe((exit) => resume(Effect.succeed(exit))))
  )

/**
 * What `work` failed with late and `fiber`, which ran it, dropped on the way to its own exit: no reasons where a handler
 * took it.
 *
 * What arrived in `fiber` itself and has gone from its exit was handled there, and what arrived in another fiber and has
 * gone from the exit of that one, there. A failure that another fiber exits with was handed to somebody who did not pass
 * it on: races, timeouts and interrupted joins look at no such exit, and a handler cannot be told from these.
 */
export const dropped = (work: Work<any, any>, fiber: Fiber.Fiber<unknown, unknown>): Cause.Cause<unknown> => {
  let at = work
  let { failedLate } = work
  while (at.awaitedBy !== fiber) {
    const { awaitedBy, outer } = at
    const around = outer instanceof FiberWork && outer.fiber === awaitedBy ? outer : undefined
    if (around?.exit === undefined) {
      // Promise code that did not recover awaits it, or a fiber that still runs and has dealt with nothing yet.
      return failedLate ? causeOf(awaitedBy?.pollUnsafe() ?? at.exit) : Cause.empty
    }
    failedLate = around.failedLate || (failedLate && failures(causeOf(around.exit)).length > 0)
    at = around
  }
  return Cause.empty
}

/** No reasons for one that did not fail. */
export const causeOf = <E>(exit: Exit.Exit<unknown, E> | undefined): Cause.Cause<E> =>
  exit?._tag === "Failure" ? exit.cause : Cause.empty
