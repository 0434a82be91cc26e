/**
 * Awaiting a piece of work: the one place where a fiber's wait for quiescence is written. The bridge, the deadlines, the
 * bodies and the `next` of a wrapper are all ties.
 */
import * as Cause from "effect/Cause"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as Cancellation from "./cancellation.ts"
import { failures } from "./failure.ts"
import * as Ward from "./ward.ts"
import { FiberWork, type Work } from "./work.ts"

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
      return halt(work) as Effect.Effect<void>
    })
  )

const halt = <A, E>(work: Work<A, E>): Effect.Effect<void, E> =>
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
      : Effect.callback((resume) => {
        const observer = (exit: Exit.Exit<A, E>) => resume(Effect.succeed(exit))
        work.observe(observer)
        return Effect.sync(() => work.unobserve(observer))
      })
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
const causeOf = <E>(exit: Exit.Exit<unknown, E> | undefined): Cause.Cause<E> =>
  exit?._tag === "Failure" ? exit.cause : Cause.empty
