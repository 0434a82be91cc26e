import { Wrapper } from "@quiesce/core"
import { Context, Effect, Schedule, Semaphore } from "effect"

declare const next: Wrapper.Next
declare const other: AbortSignal
class Db extends Context.Service<Db, { readonly ok: boolean }>()("test/Db") {}

// Combinators of effect are wrappers as they stand.
export const wrappers: ReadonlyArray<Wrapper.Wrapper> = [
  (next) => next,
  (next) => Effect.timeout(next, "1 second"),
  Effect.retry({ schedule: Schedule.exponential("10 millis"), times: 2 }),
  Effect.withSpan("tool"),
  Semaphore.makeUnsafe(1).withPermit,
  (next) => Effect.andThen(Wrapper.deferContext("context"), next),
  () => Effect.succeed("an answer without the body"),
  () => Effect.fail("an error of its own"),
  (next) => Wrapper.withCancel(next, other)
]

// @ts-expect-error what runs it elsewhere lacks the lease
Effect.runFork(next)
// @ts-expect-error as a promise, too
void Effect.runPromise(next)
// @ts-expect-error it cannot be dropped
export const dropped: Effect.Effect<unknown, unknown> = next
// @ts-expect-error nor forged
Effect.provideService(next, Wrapper.Dispatch, {})
// @ts-expect-error nor made
new Wrapper.DispatchLease()
// @ts-expect-error what else a wrapper needs is captured when its layer is built
export const needy: Wrapper.Wrapper = (next) => Effect.andThen(Db, next)
// @ts-expect-error its value is JSON
export const wrong: Wrapper.Wrapper = () => Effect.succeed(() => 1)

Wrapper.fromPromise((next, _, { signal }) => next(signal))
Wrapper.fromPromise((next, _, { derive }) => next(derive(other)))
// @ts-expect-error a signal of elsewhere leaves the caller's cancellation out
Wrapper.fromPromise((next) => next(other))
// @ts-expect-error one made here is no better
Wrapper.fromPromise((next) => next(new AbortController().signal))
// @ts-expect-error as does none
Wrapper.fromPromise((next) => next())
// @ts-expect-error nor one that the platform derives
Wrapper.fromPromise((next, _, { signal }) => next(AbortSignal.any([signal, other])))
