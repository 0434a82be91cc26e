/** Effect's own primitives under the explorer: what everything else here is built on, and a check of the explorer. */
import { Edge } from "@quiesce/testing"
import { Deferred, Effect, Exit, Fiber, Queue, Ref, Scope, Semaphore } from "effect"
import type { Subject } from "./Race.ts"

const mutualExclusion = Effect.gen(function*() {
  const semaphore = Semaphore.makeUnsafe(1)
  let inside = 0
  let x = 0
  const increment = Effect.gen(function*() {
    inside++
    const seen = x
    yield* Effect.yieldNow
    x = seen + 1
    inside--
  })
  yield* Edge.always("one fiber is inside", () => inside <= 1)
  yield* Effect.all([1, 2, 3].map(() => semaphore.withPermit(increment)), { concurrency: "unbounded" })
  if (x !== 3) throw new Error(`x = ${x}`)
})

const firstOfTwo = Effect.gen(function*() {
  const deferred = yield* Deferred.make<string>()
  const complete = (value: string) => Effect.andThen(Effect.yieldNow, Deferred.succeed(deferred, value))
  const waiter = yield* Effect.forkChild(Deferred.await(deferred))
  const won = yield* Effect.all([complete("a"), complete("b")], { concurrency: "unbounded" })
  if (won.filter((it) => it).length !== 1) throw new Error("both completions won")
  return yield* Fiber.join(waiter)
})

const handedOutOnce = Effect.gen(function*() {
  const queue = yield* Queue.unbounded<number>()
  const taken: Array<number> = []
  const take = Effect.flatMap(Queue.take(queue), (item) => Effect.sync(() => taken.push(item)))
  yield* Effect.all([take, take, Queue.offer(queue, 1), Queue.offer(queue, 2)], { concurrency: "unbounded" })
  if (taken.toSorted().join() !== "1,2") throw new Error(`taken: ${taken.join()}`)
})

const finalizedOnce = Effect.gen(function*() {
  const finalized = yield* Ref.make(0)
  const acquired = yield* Ref.make(0)
  const work = Effect.scoped(
    Effect.andThen(
      Effect.acquireRelease(Ref.update(acquired, (n) => n + 1), () => Ref.update(finalized, (n) => n + 1)),
      Edge.wait("settle")
    )
  )
  const fiber = yield* Effect.forkChild(work)
  yield* Edge.action("ABORT", () => fiber.interruptUnsafe())
  yield* Effect.forkChild(Fiber.interrupt(fiber))
  yield* Fiber.await(fiber)
  if ((yield* Ref.get(acquired)) !== (yield* Ref.get(finalized))) throw new Error("acquired, and not released")
})

const closedWhileForking = Effect.gen(function*() {
  const scope = yield* Scope.make()
  let running = 0
  const work = Effect.acquireUseRelease(
    Effect.sync(() => void running++),
    () => Effect.never,
    () => Effect.sync(() => void running--)
  )
  yield* Effect.all([
    Effect.forkIn(work, scope),
    Effect.andThen(Effect.yieldNow, Scope.close(scope, Exit.void))
  ], { concurrency: "unbounded" })
  yield* Edge.atQuiescence("nothing runs in a closed scope", () => running === 0)
})

export const effect: Subject = {
  subject: "Effect's primitives",
  races: [
    {
      name: "a semaphore of one excludes",
      clauses: ["KIT-01"],
      program: mutualExclusion,
      preemptions: { ci: 1 }
    },
    { name: "a deferred is completed once", clauses: ["KIT-01"], program: firstOfTwo, preemptions: {} },
    {
      name: "a queue hands each item out once",
      clauses: ["KIT-01"],
      program: handedOutOnce,
      preemptions: { ci: 1 }
    },
    {
      name: "what was acquired is released, whoever interrupts",
      clauses: ["KIT-01"],
      program: finalizedOnce,
      preemptions: {}
    },
    {
      name: "nothing survives the scope it was forked in",
      clauses: ["KIT-01"],
      program: closedWhileForking,
      preemptions: {}
    }
  ]
}
