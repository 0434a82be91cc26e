/**
 * A deadline for silence: it guards a whole stream of pulls, and each pull is work under it.
 *
 * 1. It counts only while a pull is outstanding: from its start, or from the last pulse since. What the consumer does
 *    between two pulls is free, and no timer runs then.
 * 2. The guard is itself work, and its signal is one for the whole stream. Whatever asks an outstanding pull to stop (the
 *    deadline, the consumer) asks the guard first: the code behind the pull may listen to nothing else.
 * 3. One pull at a time. Another is refused and changes nothing.
 * 4. A guard that was cancelled starts no further pull: each ends as the one that was cancelled did.
 */
import * as Cause from "effect/Cause"
import * as Channel from "effect/Channel"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Pull from "effect/Pull"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { Options } from "../Deadline.ts"
import * as Cancellation from "./cancellation.ts"
import { Deadline, type DeadlineExceeded, now, sleepSince } from "./deadline.ts"
import { quiescence, tie } from "./tie.ts"
import { type Expiry, FiberWork, type Source, Work } from "./work.ts"

/** What the code that makes a guarded stream is given. */
export interface Idle {
  /** Aborts when the deadline fires, when the consumer gives up, and when the stream is over. */
  readonly signal: AbortSignal
  /** Says that there is life: the outstanding pull, if there is one, has the whole timeout again. */
  readonly pulse: () => void
}

/** A stream was pulled while its previous pull was outstanding. It is a mistake of the program: a defect. */
export class ConcurrentPull extends Data.TaggedError("ConcurrentPull")<{}> {
  override readonly message = "an idle deadline guards one pull at a time"
}

/** Guards the stream that `make` makes. */
export const stream = <A, E, R>(
  make: (idle: Idle) => Stream.Stream<A, E, R>,
  options: Options
): Stream.Stream<A, E | DeadlineExceeded, R> =>
  Stream.unwrap(Effect.map(
    Effect.acquireRelease(
      Effect.withFiber((fiber) => {
        const guard = new Guard(options)
        guard.start(fiber.context)
        return Effect.succeed({ guard, scope: Scope.makeUnsafe() })
      }),
      // The guard first: what the stream's own finalizers wait for may wait for the signal.
      ({ guard, scope }, exit) => Effect.andThen(guard.close, Scope.close(scope, exit))
    ),
    ({ guard, scope }) =>
      Stream.fromPull(Effect.map(
        // Not `Stream.toPull`: each pull has the context of whoever pulls, and two at once are refused and not queued.
        Effect.suspend(() => Channel.toPullScoped(Stream.toChannel(make(handle(guard))), scope)),
        // That the stream is over is no failure, neither after the deadline nor after an interruption.
        (pull) =>
          Effect.flatMap(
            // Masked: a pending interrupt would skip the handler, and drop what else the pull fails with.
            guard.pull(Effect.uninterruptibleMask((restore) => Pull.catchDone(restore(pull), () => Effect.undefined))),
            (chunk) => chunk === undefined ? Cause.done() : Effect.succeed(chunk)
          )
      ))
  ))

export class Guard extends Work<void, never> {
  readonly expiry: Expiry<DeadlineExceeded>
  readonly #timeout: Duration.Duration
  #pull: PullWork<any, any> | undefined = undefined
  #clock: Clock.Clock | undefined = undefined
  #lifeAt = 0

  constructor({ code, timeout }: Options, source?: Source) {
    super({ source })
    this.#timeout = Duration.fromInputUnsafe(timeout)
    const deadline = new Deadline<DeadlineExceeded>(this.#timeout, code, (exceeded) => exceeded)
    this.expiry = {
      begin: (context) => this.outstanding === undefined ? this.#begin(context) : Effect.never,
      cancellation: deadline.cancellation,
      error: (late) => deadline.error(late)
    }
  }

  /** Runs one pull under the deadline. */
  pull<A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E | DeadlineExceeded, R> {
    // `tie` starts the work with this fiber's context, which holds R.
    return tie(() => this.work(effect as Effect.Effect<A, E>))
  }

  work<A, E>(effect: Effect.Effect<A, E>): Work<A, E | DeadlineExceeded> {
    const pull = new PullWork<A, E | DeadlineExceeded>(this, effect)
    if (this.cancellation !== undefined) pull.interrupt(this.cancellation)
    return pull
  }

  pulse(): void {
    if (this.#clock !== undefined) this.#lifeAt = now(this.#clock)
  }

  /** Ends the guard, and waits until the outstanding pull is quiet. */
  get close(): Effect.Effect<void> {
    return Effect.suspend(() => {
      const { outstanding } = this
      this.interrupt(Cancellation.byCaller(Cancellation.abortError("the stream is over")))
      if (this.exit === undefined) this.settle(Exit.void)
      return outstanding === undefined ? Effect.void : Effect.asVoid(quiescence(outstanding))
    })
  }

  get outstanding(): PullWork<any, any> | undefined {
    return this.#pull?.exit === undefined ? this.#pull : undefined
  }

  /** Makes `pull` the outstanding one, unless there is one. */
  enter(pull: PullWork<any, any>): boolean {
    if (this.outstanding !== undefined) return false
    this.#pull = pull
    return true
  }

  #begin(context: Context.Context<never>): Effect.Effect<void> {
    this.#clock = Context.get(context, Clock.Clock)
    this.pulse()
    return this.#silence(this.#clock)
  }

  /** Ends once nothing has lived for the whole timeout. A pulse moves no timer: the timer looks for it when it is due. */
  #silence(clock: Clock.Clock): Effect.Effect<void> {
    return Effect.suspend(() => {
      const lifeAt = this.#lifeAt
      return Effect.flatMap(
        sleepSince(clock, lifeAt, this.#timeout),
        () => this.#lifeAt === lifeAt ? Effect.void : this.#silence(clock)
      )
    })
  }

  protected run(): void {}

  protected abort(cancellation: Cancellation.Cancellation): void {
    this.outstanding?.interrupt(cancellation)
  }
}

export const handle = (guard: Guard): Idle => ({
  get signal() {
    return guard.signal
  },
  pulse: () => guard.pulse()
})

class PullWork<A, E> extends FiberWork<A, E> {
  readonly #guard: Guard

  constructor(guard: Guard, effect: Effect.Effect<A, unknown>) {
    super(effect, { expiry: guard.expiry as Expiry<any> })
    this.#guard = guard
  }

  protected override run(context: Context.Context<never>): void {
    if (this.#guard.enter(this)) super.run(context)
    else this.settle(Exit.die(new ConcurrentPull()))
  }

  protected override abort(cancellation: Cancellation.Cancellation): void {
    if (this.#guard.outstanding === this) this.#guard.interrupt(cancellation)
    super.abort(cancellation)
  }
}
