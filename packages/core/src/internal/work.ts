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
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as Cancellation from "./cancellation.ts"
import * as SignalHub from "./signalHub.ts"
import { isAbort } from "./thrown.ts"
import * as Ward from "./ward.ts"

export interface Expiry<E> {
  readonly timeout: Duration.Duration
  readonly cancellation: Cancellation.Cancellation
  /** `late` is what the work failed with after the deadline fired, if it did. */
  readonly error: (late: Cause.Cause<unknown> | undefined) => E
}

/** A signal that asks the work to stop. Whoever gives it has seen that it is not aborted yet. */
export interface Source {
  readonly signal: AbortSignal
  readonly cancellation: (abortReason: unknown) => Cancellation.Cancellation
}

export interface Options<E> {
  /** Turns a failure or defect of the work into its one typed failure; without it the cause is kept as it is. */
  readonly failure?: ((thrown: unknown) => E) | undefined
  readonly expiry?: Expiry<E> | undefined
  readonly source?: Source | undefined
  /** The work is a run of a tool's body: it owns the calls made inside it, and is over after them. */
  readonly owner?: Ward.Owner | undefined
}

export abstract class Work<A, E> implements Ward.Ward {
  started = false
  cancellation: Cancellation.Cancellation | undefined = undefined
  exit: Exit.Exit<A, E> | undefined = undefined
  owner: Ward.Owner | undefined
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

  /** Made when first asked for: work that never looks costs no controller. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController()
      if (this.owner !== undefined) Ward.sign(this.#controller.signal, this.owner)
      if (this.cancellation !== undefined) this.#controller.abort(this.cancellation.abortReason)
    }
    return this.#controller.signal
  }

  start(context: Context.Context<never>): void {
    this.started = true
    this.owner ??= Ward.of(context)?.owner
    const { expiry, source } = this.#options
    if (source !== undefined) {
      this.#subscription = SignalHub.subscribe(
        source.signal,
        (abortReason) => this.interrupt(source.cancellation(abortReason))
      )
    }
    this.run(context)
    if (expiry !== undefined && this.exit === undefined) {
      this.#timer = Effect.runForkWith(context)(
        Effect.andThen(Effect.sleep(expiry.timeout), Effect.sync(() => this.interrupt(expiry.cancellation)))
      )
    }
  }

  interrupt(cancellation: Cancellation.Cancellation): void {
    if (this.cancellation !== undefined || this.exit !== undefined) return
    this.cancellation = cancellation
    // The innermost first: an inner call that is told by its own fiber's interruption would not know its parent's reason.
    this.#options.owner?.cancel(cancellation)
    this.#controller?.abort(cancellation.abortReason)
    this.abort(cancellation)
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
    this.exit = this.#conclude(exit)
    this.#timer?.interruptUnsafe()
    if (this.#subscription !== undefined) SignalHub.unsubscribe(this.#subscription)
    for (const observer of this.#observers) observer(this.exit)
  }

  #conclude(exit: Exit.Exit<A, unknown>): Exit.Exit<A, E> {
    const { cancellation } = this
    const { expiry } = this.#options
    if (exit._tag === "Success" && cancellation === undefined) return Exit.succeed(exit.value)
    const failures = exit._tag === "Success" ? [] : exit.cause.reasons.filter((reason) => this.#isFailure(reason))
    if (expiry !== undefined && cancellation === expiry.cancellation) {
      return Exit.fail(expiry.error(failures.length === 0 ? undefined : Cause.fromReasons(failures)))
    }
    const cause = failures.length === 0 ? Cause.empty : this.#translate(failures)
    if (cancellation !== undefined) return Exit.failCause(interruptedBy(cancellation, cause))
    // Interrupted by nobody we know: the work interrupted itself.
    return failures.length === 0 ? exit as Exit.Exit<never, never> : Exit.failCause(cause)
  }

  #isFailure(reason: Cause.Reason<unknown>): boolean {
    if (reason._tag === "Interrupt") return false
    if (this.cancellation === undefined) return true
    return !isAbort(reason._tag === "Fail" ? reason.error : reason.defect, this.cancellation.abortReason)
  }

  #translate(failures: ReadonlyArray<Cause.Reason<unknown>>): Cause.Cause<E> {
    const { failure } = this.#options
    const first = failures[0]
    if (failure === undefined || first === undefined || first._tag === "Interrupt") {
      return Cause.fromReasons(failures as ReadonlyArray<Cause.Reason<E>>)
    }
    return Cause.fail(failure(first._tag === "Fail" ? first.error : first.defect))
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
  #fiber: Fiber.Fiber<A, unknown> | undefined = undefined

  constructor(effect: Effect.Effect<A, unknown>, options: Options<E>) {
    super(options)
    this.#effect = effect
  }

  protected run(context: Context.Context<never>): void {
    const fiber = Effect.runForkWith(Ward.enter(context, this))(Effect.withFiber((fiber) => {
      // Known from the first operation on, for an effect that cancels itself before it suspends.
      this.#fiber = fiber as Fiber.Fiber<A, unknown>
      return this.#effect
    }))
    fiber.addObserver((exit) => this.settle(exit))
  }

  protected abort(cancellation: Cancellation.Cancellation): void {
    this.#fiber?.interruptUnsafe(undefined, cancellation.annotations)
  }
}

/**
 * Starts `work` and awaits it.
 *
 * **Interruption**: interrupts the work, for the reason that the ward of this fiber was cancelled for, and waits until
 * it is quiet. A failure it then ends with is kept beside the interruption, also where a pending interrupt skips the
 * handlers of an enclosing effect: `failures` finds it.
 *
 * The work is started inside `register`: started earlier, a fiber that yields in between would abandon it. And there is
 * no operation between its end and the handler of whoever awaits it: an interrupt that came in between would drop the
 * failure as if it had been handled.
 */
export const tie = <A, E>(work: Work<A, E>): Effect.Effect<A, E> =>
  Effect.withFiber((fiber) =>
    Effect.callback<A, E>((resume) => {
      work.start(fiber.context)
      if (work.exit === undefined) {
        work.observe(resume)
      } else if (work.cancellation === undefined) {
        return resume(work.exit)
      } else {
        // Cancelled and over within this operation. An interrupt of this fiber may be pending, and would replace what
        // is resumed now by itself: the finalizer must be in place first.
        const { exit } = work
        fiber.currentDispatcher.scheduleTask(() => resume(exit), 0)
      }
      // The runtime keeps what a finalizer fails with beside the interruption; only the type leaves it out.
      return finish(work) as Effect.Effect<void>
    })
  )

const finish = <A, E>(work: Work<A, E>): Effect.Effect<void, E> =>
  Effect.withFiber((fiber) => {
    const cancellation = Ward.of(fiber.context)?.cancellation ?? Cancellation.interrupted
    work.interrupt(cancellation)
    return Effect.flatMap(quiescence(work), (exit) =>
      exit._tag === "Failure" && !Cause.hasInterruptsOnly(exit.cause)
        ? Effect.failCause(interruptedBy(work.cancellation ?? cancellation, withoutInterrupts(exit.cause)))
        : Effect.void)
  })

/** Waits until `work`, which has been started, is quiet. */
export const quiescence = <A, E>(work: Work<A, E>): Effect.Effect<Exit.Exit<A, E>> =>
  Effect.suspend(() =>
    work.exit !== undefined
      ? Effect.succeed(work.exit)
      : Effect.callback((resume) => work.observe((exit) => resume(Effect.succeed(exit))))
  )

/** Under this key an interruption carries the failure that its work ended with. */
class LateFailure extends Context.Service<LateFailure, Cause.Cause<unknown>>()("@quiesce/core/LateFailure") {}

const interruptedBy = <E>(cancellation: Cancellation.Cancellation, failure: Cause.Cause<E>): Cause.Cause<E> => {
  const interruption = Cause.makeInterruptReason().annotate(cancellation.annotations)
  return failure.reasons.length === 0
    ? Cause.fromReasons([interruption])
    : Cause.fromReasons<E>([
      interruption.annotate(Context.make(LateFailure, failure) as Context.Context<never>),
      ...failure.reasons
    ])
}

const withoutInterrupts = <E>(cause: Cause.Cause<E>): Cause.Cause<E> =>
  Cause.fromReasons(cause.reasons.filter((reason) => reason._tag !== "Interrupt"))

/**
 * The failures in `cause`, and those that were dropped from it because a pending interrupt skipped a handler: effect
 * removes typed failures there, but keeps the interruption and with it its annotations.
 */
export const failures = (cause: Cause.Cause<unknown>): ReadonlyArray<unknown> => {
  const found: Array<unknown> = []
  for (const reason of cause.reasons) {
    if (reason._tag === "Fail") found.push(reason.error)
    else if (reason._tag === "Die") found.push(reason.defect)
  }
  if (found.length > 0) return found
  for (const reason of cause.reasons) {
    const late = reason._tag === "Interrupt" ? reason.annotations.get(LateFailure.key) : undefined
    if (late !== undefined) return failures(late as Cause.Cause<unknown>)
  }
  return found
}
