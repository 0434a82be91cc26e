import { assert, describe, it } from "@effect/vitest"
import { assertEquals } from "@effect/vitest/utils"
import { Abortable, CancelReason } from "@quiesce/core"
import { Cause, Context, Effect, Exit, Fiber, Option, Scope } from "effect"
import { TestClock } from "effect/testing"
import { cites } from "../../../tests/conformance/cites.ts"
import { body, listeners, settle, shapeOf, thrownIn } from "./support/bridge.ts"
import * as Gate from "./support/Gate.ts"

const now = { startImmediately: true } as const

/** Reasons that are easily lost: falsy ones, and one whose identity matters. */
const reasons: ReadonlyArray<readonly [name: string, reason: unknown]> = [
  ["0", 0],
  ["an empty string", ""],
  ["null", null],
  ["false", false],
  ["an object", Object.freeze({ why: "because" })]
]

const chain = (depth: number, end: unknown): unknown =>
  depth === 0 ? end : new Error(`wrapped ${depth} times`, { cause: chain(depth - 1, end) })

const named = (name: string) => Object.assign(new Error("stopped"), { name })

/** Rejections after the signal aborted, and whether they are the abort itself. */
const rejections: ReadonlyArray<readonly [what: string, isAbort: boolean, make: (signal: AbortSignal) => unknown]> = [
  ["the signal's reason", true, (signal) => signal.reason],
  ["an error named AbortError", true, () => named("AbortError")],
  ["an object that is no error, named AbortError", true, () => ({ name: "AbortError" })],
  ["an error coded ABORT_ERR", true, () => Object.assign(new Error("stopped"), { code: "ABORT_ERR" })],
  ["an error whose cause is the signal's reason", true, (signal) => chain(1, signal.reason)],
  ["an abort eight causes deep", true, () => chain(8, named("AbortError"))],
  ["an abort nine causes deep", false, () => chain(9, named("AbortError"))],
  ["causes in a circle", false, () => {
    const error = new Error("round")
    error.cause = error
    return error
  }],
  ["an error of another name", false, () => named("TimeoutError")],
  ["the name alone", false, () => "AbortError"],
  ["undefined", false, () => undefined],
  ["a proxy that throws whatever is asked", false, () =>
    new Proxy({}, {
      get: () => {
        throw new Error("trapped")
      },
      getPrototypeOf: () => {
        throw new Error("trapped")
      }
    })]
]

describe("Abortable.promise", () => {
  it.effect(
    cites("gives what the promise gives, and what it rejects with as a typed failure", "BRIDGE-01"),
    () =>
      Effect.gen(function*() {
        assert.strictEqual(yield* Abortable.promise(() => Promise.resolve(1)), 1)
        assert.strictEqual(yield* Abortable.promise(() => 2), 2)
        const error = new Error("no")
        const rejected = yield* Effect.exit(Abortable.promise(() => Promise.reject(error)))
        const thrown = yield* Effect.exit(Abortable.promise(() => {
          throw error
        }))
        for (const exit of [rejected, thrown]) {
          assert.strictEqual(shapeOf(exit), "Fail")
          assert.strictEqual(thrownIn(exit), error)
        }
      })
  )

  it.effect(cites("reads a foreign thenable once, whatever it does", "BRIDGE-01"), () =>
    Effect.gen(function*() {
      const both: PromiseLike<number> = {
        then: (resolve, reject): any => {
          void resolve?.(1)
          void reject?.(new Error("after"))
          throw new Error("and again")
        }
      }
      assert.strictEqual(yield* Abortable.promise(() => both), 1)
      const unreadable = Object.defineProperty({}, "then", {
        get: () => {
          throw new Error("no then")
        }
      }) as PromiseLike<number>
      const exit = yield* Effect.exit(Abortable.promise(() => unreadable))
      assert.strictEqual((thrownIn(exit) as Error).message, "no then")
    }))

  it.effect(
    cites("when interrupted, aborts the signal and waits until the promise has settled", "BRIDGE-01"),
    () =>
      Effect.gen(function*() {
        const promise = body()
        const fiber = yield* Effect.forkDetach(Abortable.promise(promise.run), now)
        assert.isFalse(promise.signal.aborted)
        fiber.interruptUnsafe()
        assert.isTrue(promise.signal.aborted, "told in the same step")
        yield* settle
        yield* TestClock.adjust("1 day")
        assert.isUndefined(fiber.pollUnsafe(), "asked to stop is not stopped")
        promise.resolve("too late")
        assert.strictEqual(shapeOf(yield* Fiber.await(fiber)), "Interrupt")
      })
  )

  for (const [what, isAbort, make] of rejections) {
    it.effect(
      cites(`${isAbort ? "takes for the abort itself" : "keeps beside the interruption"}: ${what}`, "BRIDGE-01"),
      () =>
        Effect.gen(function*() {
          const promise = body()
          const fiber = yield* Effect.forkDetach(Abortable.promise(promise.run), now)
          fiber.interruptUnsafe()
          const rejection = make(promise.signal)
          promise.reject(rejection)
          const exit = yield* Fiber.await(fiber)
          if (isAbort) return assert.strictEqual(shapeOf(exit), "Interrupt")
          assert.strictEqual(shapeOf(exit), "Interrupt+Fail")
          assert.isTrue(Object.is(thrownIn(exit), rejection))
        })
    )
  }

  it.effect(
    cites("without an abort, a rejection named AbortError is a failure like others", "BRIDGE-01"),
    () =>
      Effect.gen(function*() {
        const error = named("AbortError")
        const exit = yield* Effect.exit(Abortable.promise(() => Promise.reject(error)))
        assert.strictEqual(shapeOf(exit), "Fail")
        assert.strictEqual(thrownIn(exit), error)
      })
  )

  it.effect(
    cites("keeps the failure of a promise function that throws as it interrupts its own fiber", "BRIDGE-01"),
    () =>
      Effect.gen(function*() {
        const error = new Error("thrown at once")
        const fiber = yield* Effect.forkDetach(
          Effect.withFiber((own) =>
            Abortable.promise(() => {
              own.interruptUnsafe()
              throw error
            })
          ),
          now
        )
        const exit = yield* Fiber.await(fiber)
        assert.strictEqual(shapeOf(exit), "Interrupt+Fail")
        assert.strictEqual(thrownIn(exit), error)
      })
  )

  it.effect(
    cites("tells each promise that a fiber was interrupted by an AbortError of its own", "CALL-17", "BRIDGE-01"),
    () =>
      Effect.gen(function*() {
        const promise = body()
        const fiber = yield* Effect.forkDetach(Abortable.promise(promise.run), now)
        fiber.interruptUnsafe()
        assert.strictEqual(promise.signal.reason.name, "AbortError")
        assert.match(promise.signal.reason.message, /interrupted/)
        promise.reject(promise.signal.reason)
        yield* Fiber.await(fiber)
        const other = body()
        const second = yield* Effect.forkDetach(Abortable.promise(other.run), now)
        second.interruptUnsafe()
        other.resolve("dropped")
        yield* Fiber.await(second)
        assert.notStrictEqual(other.signal.reason, promise.signal.reason)
      })
  )

  it.effect(
    cites("is started again for each run, with a signal of its own", "BRIDGE-01"),
    () =>
      Effect.gen(function*() {
        const signals: Array<AbortSignal> = []
        const effect = Abortable.promise((signal) => Promise.resolve(signals.push(signal)))
        assert.deepStrictEqual([yield* effect, yield* effect], [1, 2])
        assert.notStrictEqual(signals[0], signals[1])
        assert.deepStrictEqual(signals.map(({ aborted }) => aborted), [false, false])
      })
  )
})

class Dependency extends Context.Service<Dependency, { readonly name: string }>()("test/Dependency") {}

/** The ways in which an effect that is bound to a signal can end. */
const endings: ReadonlyArray<readonly [name: string, effect: Effect.Effect<unknown, unknown>, aborts: boolean]> = [
  ["succeeds at once", Effect.succeed(1), false],
  ["succeeds later", Effect.andThen(settle, Effect.succeed(1)), false],
  ["fails", Effect.andThen(settle, Effect.fail("no")), false],
  ["fails at once", Effect.fail("no"), false],
  ["dies", Effect.andThen(settle, Effect.die("bug")), false],
  ["interrupts itself", Effect.andThen(settle, Effect.interrupt), false],
  ["is aborted", Effect.never, true],
  ["is aborted and then fails", Effect.ensuring(Effect.never, Effect.die("late")), true]
]

describe("Abortable.interruptOn", () => {
  it.effect(
    cites("interrupts the effect when the signal aborts, and waits for its finalizers", "BRIDGE-03"),
    () =>
      Effect.gen(function*() {
        yield* TestClock.adjust(0)
        const controller = new AbortController()
        const events: Array<string> = []
        const effect = Effect.ensuring(
          Effect.never,
          Effect.andThen(
            Effect.sync(() => events.push("asked")),
            Effect.andThen(Effect.sleep(100), Effect.sync(() => events.push("quiet")))
          )
        )
        const fiber = yield* Effect.forkDetach(Abortable.interruptOn(effect, controller.signal), now)
        controller.abort("why")
        assert.deepStrictEqual(events, ["asked"])
        yield* TestClock.adjust(99)
        assert.isUndefined(fiber.pollUnsafe())
        yield* TestClock.adjust(1)
        const exit = yield* Fiber.await(fiber)
        assert.deepStrictEqual(events, ["asked", "quiet"])
        assert.strictEqual(shapeOf(exit), "Interrupt")
        assertEquals(Exit.isFailure(exit) && CancelReason.fromCause(exit.cause), CancelReason.caller("why"))
      })
  )

  it.effect(
    cites("reaches an effect also where it is run in an uninterruptible region", "BRIDGE-03"),
    () =>
      Effect.gen(function*() {
        const controller = new AbortController()
        const fiber = yield* Effect.forkDetach(
          Effect.uninterruptible(Abortable.interruptOn(Effect.never, controller.signal)),
          now
        )
        fiber.interruptUnsafe()
        yield* settle
        assert.isUndefined(fiber.pollUnsafe())
        controller.abort()
        assert.strictEqual(shapeOf(yield* Fiber.await(fiber)), "Interrupt")
      })
  )

  it.effect(
    cites("does not start an effect whose signal is aborted already", "BRIDGE-03"),
    () =>
      Effect.gen(function*() {
        let started = false
        const signal = AbortSignal.abort("before")
        const exit = yield* Effect.exit(Abortable.interruptOn(Effect.sync(() => started = true), signal))
        assert.isFalse(started)
        assert.strictEqual(shapeOf(exit), "Interrupt")
        assertEquals(Exit.isFailure(exit) && CancelReason.fromCause(exit.cause), CancelReason.caller("before"))
        assert.strictEqual(listeners(signal), 0)
      })
  )

  for (const [name, effect, aborts] of endings) {
    it.effect(cites(`leaves no listener when the effect ${name}`, "BRIDGE-03"), () =>
      Effect.gen(function*() {
        const controller = new AbortController()
        const fiber = yield* Effect.forkDetach(Abortable.interruptOn(effect, controller.signal), now)
        if (aborts) {
          assert.strictEqual(listeners(controller.signal), 1)
          controller.abort()
        }
        yield* Fiber.await(fiber)
        assert.strictEqual(listeners(controller.signal), 0)
      }))
  }

  it.effect(
    cites("interrupting it interrupts the effect, waits, and leaves no listener", "BRIDGE-03"),
    () =>
      Effect.gen(function*() {
        const controller = new AbortController()
        const promise = body()
        const fiber = yield* Effect.forkDetach(
          Abortable.interruptOn(Abortable.promise(promise.run), controller.signal),
          now
        )
        fiber.interruptUnsafe()
        yield* settle
        assert.isUndefined(fiber.pollUnsafe())
        // Too late to be the reason: the first cause wins.
        controller.abort("later")
        promise.reject(promise.signal.reason)
        yield* Fiber.await(fiber)
        assert.match(promise.signal.reason.message, /interrupted/)
        assert.strictEqual(listeners(controller.signal), 0)
      })
  )

  for (const [name, reason] of reasons) {
    it.effect(
      cites(`shows a promise inside the caller's own reason: ${name}`, "CALL-17", "BRIDGE-03"),
      () =>
        Effect.gen(function*() {
          const controller = new AbortController()
          const promise = body()
          const fiber = yield* Effect.forkDetach(
            Abortable.interruptOn(Abortable.promise(promise.run), controller.signal),
            now
          )
          controller.abort(reason)
          assert.strictEqual(promise.signal.reason, reason)
          promise.reject(reason)
          assert.strictEqual(shapeOf(yield* Fiber.await(fiber)), "Interrupt")
        })
    )
  }

  it.effect(
    cites("runs the effect with the services of the fiber that runs it", "BRIDGE-03"),
    () =>
      Effect.gen(function*() {
        const effect = Effect.map(Dependency, ({ name }) => name)
        const bound = Abortable.interruptOn(effect, new AbortController().signal)
        assert.strictEqual(yield* Effect.provideService(bound, Dependency, { name: "here" }), "here")
      })
  )

  it.effect(cites("keeps what the effect fails with while it ends", "BRIDGE-03"), () =>
    Effect.gen(function*() {
      const controller = new AbortController()
      const promise = body()
      const fiber = yield* Effect.forkDetach(
        Abortable.interruptOn(Abortable.promise(promise.run), controller.signal),
        now
      )
      controller.abort()
      const late = new Error("late")
      promise.reject(late)
      const exit = yield* Fiber.await(fiber)
      assert.strictEqual(shapeOf(exit), "Interrupt+Fail")
      assert.strictEqual(thrownIn(exit), late)
    }))
})

/** How a promise ended, as a value. */
const outcome = (promise: Promise<unknown>): Effect.Effect<readonly ["resolved" | "rejected", unknown]> =>
  Effect.callback((resume) => {
    promise.then(
      (value) => resume(Effect.succeed(["resolved", value] as const)),
      (reason) => resume(Effect.succeed(["rejected", reason] as const))
    )
  })

describe("Abortable.runPromise", () => {
  it.effect(cites("settles once the finalizers have run, and not before", "BRIDGE-04"), () =>
    Effect.gen(function*() {
      const controller = new AbortController()
      const cleaning = body()
      const running = Abortable.runPromise(
        Effect.ensuring(
          Effect.never,
          Effect.callback<void>((resume) => {
            void cleaning.run(controller.signal).then(() => resume(Effect.void))
          })
        ),
        controller
      )
      let settled = false
      running.catch(() => settled = true)
      controller.abort("why")
      yield* settle
      assert.strictEqual(cleaning.calls, 1)
      assert.isFalse(settled)
      cleaning.resolve("clean")
      assert.deepStrictEqual(yield* outcome(running), ["rejected", "why"])
    }))

  it.effect(
    cites("does not start an effect whose signal is aborted already", "BRIDGE-04"),
    () =>
      Effect.gen(function*() {
        let started = false
        const signal = AbortSignal.abort("before")
        const running = Abortable.runPromise(Effect.sync(() => started = true), { signal })
        assert.deepStrictEqual(yield* outcome(running), ["rejected", "before"])
        assert.isFalse(started)
        assert.strictEqual(listeners(signal), 0)
      })
  )

  for (const [name, reason] of reasons) {
    it.effect(
      cites(`rejects with the signal's own reason when only the abort happened: ${name}`, "BRIDGE-04"),
      () =>
        Effect.gen(function*() {
          for (const aborted of [true, false]) {
            const controller = new AbortController()
            if (aborted) controller.abort(reason)
            const running = Abortable.runPromise(Effect.never, controller)
            controller.abort(reason)
            const [how, rejection] = yield* outcome(running)
            assert.strictEqual(how, "rejected")
            assert.strictEqual(rejection, reason)
          }
        })
    )
  }

  it.effect(cites("otherwise rejects with the failure or the defect", "BRIDGE-04"), () =>
    Effect.gen(function*() {
      const error = new Error("no")
      const late = new Error("late")
      const { signal } = new AbortController()
      assert.deepStrictEqual(yield* outcome(Abortable.runPromise(Effect.succeed(1), { signal })), ["resolved", 1])
      assert.strictEqual((yield* outcome(Abortable.runPromise(Effect.fail(error), { signal })))[1], error)
      assert.strictEqual((yield* outcome(Abortable.runPromise(Effect.die(error), { signal })))[1], error)
      const controller = new AbortController()
      const running = Abortable.runPromise(Effect.ensuring(Effect.never, Effect.die(late)), controller)
      controller.abort("why")
      assert.deepStrictEqual(yield* outcome(running), ["rejected", late])
    }))

  it.effect(cites("drops a success that comes after the abort", "BRIDGE-04"), () =>
    Effect.gen(function*() {
      const controller = new AbortController()
      const promise = body()
      const running = Abortable.runPromise(
        Effect.uninterruptible(Effect.callback<string>((resume) => {
          void promise.run(controller.signal).then((value) => resume(Effect.succeed(value)))
        })),
        controller
      )
      controller.abort("why")
      promise.resolve("too late")
      assert.deepStrictEqual(yield* outcome(running), ["rejected", "why"])
    }))

  it.effect(
    cites("does not take the effect's own interruption for an abort", "BRIDGE-04"),
    () =>
      Effect.gen(function*() {
        const { signal } = new AbortController()
        const [how, reason] = yield* outcome(Abortable.runPromise(Effect.interrupt, { signal }))
        assert.strictEqual(how, "rejected")
        assert.notStrictEqual(reason, signal.reason)
        assert.instanceOf(reason, Error)
      })
  )

  for (const [name, effect, aborts] of endings) {
    it.effect(
      cites(`has no listener left when its caller can look: the effect ${name}`, "BRIDGE-04"),
      () =>
        Effect.gen(function*() {
          const controller = new AbortController()
          const running = Abortable.runPromise(effect, controller)
          if (aborts) {
            assert.strictEqual(listeners(controller.signal), 1)
            controller.abort()
          }
          const look = () => listeners(controller.signal)
          assert.strictEqual(
            yield* Effect.callback((resume) => {
              running.then(look, look).then((left) => resume(Effect.succeed(left)), () => resume(Effect.die("no")))
            }),
            0
          )
        })
    )
  }

  it.effect(cites("gives the effect the services it is given", "BRIDGE-04"), () =>
    Effect.gen(function*() {
      const { signal } = new AbortController()
      const run = Abortable.runPromiseWith(Context.make(Dependency, { name: "given" }))
      assert.deepStrictEqual(yield* outcome(run(Effect.map(Dependency, (it) => it.name), { signal })), [
        "resolved",
        "given"
      ])
    }))
})

describe("re-entrancy", () => {
  it.effect(
    cites("a promise function that aborts its own caller is awaited", "BRIDGE-07"),
    () =>
      Effect.gen(function*() {
        const controller = new AbortController()
        const promise = body()
        let finalized = 0
        const effect = Effect.ensuring(
          Abortable.promise((signal) => {
            controller.abort("from inside")
            return promise.run(signal)
          }),
          Effect.sync(() => finalized++)
        )
        const fiber = yield* Effect.forkDetach(Abortable.interruptOn(effect, controller.signal), now)
        yield* settle
        assert.isUndefined(fiber.pollUnsafe())
        assert.isTrue(promise.signal.aborted)
        assert.strictEqual(promise.signal.reason, "from inside")
        promise.resolve("dropped")
        assert.strictEqual(shapeOf(yield* Fiber.await(fiber)), "Interrupt")
        assert.strictEqual(finalized, 1)
      })
  )

  it.effect(
    cites("an effect that aborts its own signal before it first waits is interrupted there", "BRIDGE-07"),
    () =>
      Effect.gen(function*() {
        const controller = new AbortController()
        let finalized = 0
        let went = false
        const effect = Effect.ensuring(
          Effect.andThen(Effect.sync(() => controller.abort()), Effect.sync(() => went = true)),
          Effect.sync(() => finalized++)
        )
        assert.strictEqual(shapeOf(yield* Effect.exit(Abortable.interruptOn(effect, controller.signal))), "Interrupt")
        assert.deepStrictEqual({ finalized, went }, { finalized: 1, went: false })
        assert.strictEqual(listeners(controller.signal), 0)
      })
  )

  it.effect(
    cites("an abort inside a listener inside an abort skips no finalizer", "BRIDGE-07"),
    () =>
      Effect.gen(function*() {
        const controllers = [new AbortController(), new AbortController(), new AbortController()] as const
        const finalized: Array<number> = []
        // The second is aborted by the signal of the promise inside the first, the third by a finalizer of the second.
        const effects = [
          Abortable.promise((signal) =>
            new Promise((_, reject) => {
              signal.addEventListener("abort", () => {
                controllers[1].abort("nested")
                reject(signal.reason)
              })
            })
          ),
          Effect.ensuring(Effect.never, Effect.sync(() => controllers[2].abort("deeper"))),
          Effect.never
        ]
        const fibers = yield* Effect.forEach(effects, (effect, i) =>
          Effect.forkDetach(
            Abortable.interruptOn(
              Effect.ensuring(effect, Effect.sync(() => finalized.push(i))),
              controllers[i]!.signal
            ),
            now
          ))
        controllers[0].abort("first")
        assert.deepStrictEqual(controllers.map(({ signal }) => signal.reason), ["first", "nested", "deeper"])
        const exits = yield* Effect.forEach(fibers, Fiber.await)
        assert.deepStrictEqual(exits.map(shapeOf), ["Interrupt", "Interrupt", "Interrupt"])
        assert.deepStrictEqual(finalized.toSorted(), [0, 1, 2])
        assert.deepStrictEqual(controllers.map(({ signal }) => listeners(signal)), [0, 0, 0])
      })
  )

  it.effect(
    cites("a listener that aborts the same signal again changes nothing", "BRIDGE-07"),
    () =>
      Effect.gen(function*() {
        const controller = new AbortController()
        let finalized = 0
        const effect = Effect.ensuring(
          Abortable.promise((signal) =>
            new Promise((_, reject) => {
              signal.addEventListener("abort", () => {
                controller.abort("again")
                reject(signal.reason)
              })
            })
          ),
          Effect.sync(() => finalized++)
        )
        const fiber = yield* Effect.forkDetach(Abortable.interruptOn(effect, controller.signal), now)
        controller.abort("once")
        const exit = yield* Fiber.await(fiber)
        assertEquals(Exit.isFailure(exit) && CancelReason.fromCause(exit.cause), CancelReason.caller("once"))
        assert.strictEqual(finalized, 1)
      })
  )
})

describe("an abort that is kept from us", () => {
  it.effect(
    cites("drops the success of an effect that an earlier listener let succeed", "BRIDGE-03", "BRIDGE-07"),
    () =>
      Effect.gen(function*() {
        const controller = new AbortController()
        const gate = Gate.make<string>()
        controller.signal.addEventListener("abort", () => Effect.runSync(gate.open("aborted, but not yet told")))
        const fiber = yield* Effect.forkDetach(Abortable.interruptOn(gate.wait, controller.signal), now)
        controller.abort("why")
        const exit = yield* Fiber.await(fiber)
        assert.strictEqual(shapeOf(exit), "Interrupt")
        assertEquals(Exit.isFailure(exit) && CancelReason.fromCause(exit.cause), CancelReason.caller("why"))
      })
  )

  it.effect(
    cites("drops the success of an effect whose abort a listener stopped", "BRIDGE-04", "BRIDGE-07"),
    () =>
      Effect.gen(function*() {
        const controller = new AbortController()
        const gate = Gate.make<string>()
        controller.signal.addEventListener("abort", (event) => event.stopImmediatePropagation())
        const running = Abortable.runPromise(gate.wait, controller)
        controller.abort("why")
        yield* gate.open("too late")
        assert.deepStrictEqual(yield* outcome(running), ["rejected", "why"])
        // The one that stopped it.
        assert.strictEqual(listeners(controller.signal), 1)
      })
  )
})

describe("Abortable.signal", () => {
  it.effect(cites("aborts when its scope closes, with an AbortError", "BRIDGE-08"), () =>
    Effect.gen(function*() {
      const scope = yield* Scope.make()
      const signal = yield* Scope.provide(scope)(Abortable.signal)
      assert.isFalse(signal.aborted)
      yield* Scope.close(scope, Exit.void)
      assert.isTrue(signal.aborted)
      assert.strictEqual(signal.reason.name, "AbortError")
    }))

  for (const [name, reason] of reasons) {
    it.effect(
      cites(`shows the reason of the work it was made in: ${name}`, "CALL-17", "BRIDGE-03"),
      () =>
        Effect.gen(function*() {
          const controller = new AbortController()
          let signal: AbortSignal | undefined
          const work = Effect.scoped(Effect.andThen(
            Effect.tap(Abortable.signal, (made) => {
              signal = made
              return Effect.void
            }),
            Effect.never
          ))
          const fiber = yield* Effect.forkDetach(Abortable.interruptOn(work, controller.signal), now)
          controller.abort(reason)
          yield* Fiber.await(fiber)
          assert.strictEqual(signal?.reason, reason)
        })
    )
  }

  it.effect(
    cites("knows that work also when the fiber that made it is over", "CALL-17", "BRIDGE-03"),
    () =>
      Effect.gen(function*() {
        const controller = new AbortController()
        let signal: AbortSignal | undefined
        const work = Effect.scoped(Effect.gen(function*() {
          const scope = yield* Scope.Scope
          const maker = yield* Effect.forkDetach(Scope.provide(scope)(Abortable.signal))
          signal = yield* Fiber.join(maker)
          return yield* Effect.never
        }))
        const fiber = yield* Effect.forkDetach(Abortable.interruptOn(work, controller.signal), now)
        yield* settle
        controller.abort("why")
        yield* Fiber.await(fiber)
        assert.strictEqual(signal?.reason, "why")
      })
  )
})

describe("Abortable.fuse", () => {
  it.effect(
    cites("takes the reason of the first to abort in time, not in the list", "BRIDGE-06"),
    () =>
      Effect.gen(function*() {
        const [a, b] = [new AbortController(), new AbortController()]
        const fused = yield* Abortable.fuse(a.signal, b.signal)
        b.abort("second in the list")
        a.abort("first in the list")
        assert.strictEqual(fused.reason, "second in the list")
      })
  )

  it.effect(
    cites("of several that are aborted already takes the first in the list", "BRIDGE-06"),
    () =>
      Effect.gen(function*() {
        const live = new AbortController()
        const fused = yield* Abortable.fuse(live.signal, AbortSignal.abort(null), AbortSignal.abort(2))
        assert.isTrue(fused.aborted)
        assert.strictEqual(fused.reason, null)
        live.abort("later")
        assert.strictEqual(fused.reason, null)
      })
  )

  it.effect(
    cites("listens once to each signal, and no longer than its scope", "BRIDGE-06"),
    () =>
      Effect.gen(function*() {
        const [a, b] = [new AbortController(), new AbortController()]
        const scope = yield* Scope.make()
        const fused = yield* Scope.provide(scope)(Abortable.fuse(a.signal, b.signal, a.signal))
        assert.deepStrictEqual([listeners(a.signal), listeners(b.signal)], [1, 1])
        yield* Scope.close(scope, Exit.void)
        assert.deepStrictEqual([listeners(a.signal), listeners(b.signal)], [0, 0])
        a.abort()
        assert.isFalse(fused.aborted)
      })
  )

  it.effect(cites("needs neither AbortSignal.any nor AbortSignal.timeout", "BRIDGE-06"), () =>
    Effect.gen(function*() {
      const { any, timeout } = AbortSignal
      yield* Effect.addFinalizer(() => Effect.sync(() => Object.assign(AbortSignal, { any, timeout })))
      const refuse = () => {
        throw new Error("not this")
      }
      Object.assign(AbortSignal, { any: refuse, timeout: refuse })
      const [a, b] = [new AbortController(), new AbortController()]
      const fused = yield* Abortable.fuse(a.signal, b.signal)
      const bound = yield* Effect.forkDetach(Abortable.interruptOn(Effect.never, fused), now)
      b.abort("why")
      assert.strictEqual(fused.reason, "why")
      assert.strictEqual(shapeOf(yield* Fiber.await(bound)), "Interrupt")
    }))
})

describe("a failure beside an interruption", () => {
  it.effect(
    cites("is what a promise rejects with, also where a handler for it was passed over", "BRIDGE-04"),
    () =>
      Effect.gen(function*() {
        const promise = body()
        const controller = new AbortController()
        const run = Abortable.runPromise(
          Effect.mapError(Abortable.promise(promise.run), () => "mapped"),
          { signal: controller.signal }
        )
        const rejected = run.then(() => "resolved", (thrown: unknown) => thrown)
        controller.abort("why")
        promise.reject(new Error("late"))
        const thrown = yield* Effect.promise(() => rejected)
        assert(Cause.isUnknownError(thrown))
        assert.strictEqual(String(thrown.cause), "Error: late")
      })
  )
})

describe("Abortable.handling", () => {
  const failing = (promise: ReturnType<typeof body>) => Effect.asVoid(Abortable.promise(promise.run))

  it.effect(cites("applies handlers that a pending interrupt would skip", "CALL-09"), () =>
    Effect.gen(function*() {
      const run = Effect.fnUntraced(function*(
        handled: (self: Effect.Effect<void, Cause.UnknownError>) => Effect.Effect<void, unknown>
      ) {
        const promise = body()
        const fiber = yield* Effect.forkDetach(handled(failing(promise)), now)
        fiber.interruptUnsafe()
        promise.reject(new Error("late"))
        return yield* Fiber.await(fiber)
      })
      const skipped = yield* run((self) => Effect.mapError(self, () => "mapped"))
      assert.strictEqual(shapeOf(skipped), "Interrupt")
      const applied = yield* run((self) => Abortable.handling(self, Effect.mapError(() => "mapped")))
      assert.strictEqual(shapeOf(applied), "Interrupt+Fail")
      assert.strictEqual(thrownIn(applied), "mapped")
      assert.deepStrictEqual(
        Exit.isFailure(applied) ? Cause.findErrorOption(applied.cause) : undefined,
        Option.some("mapped")
      )
    }))
})
