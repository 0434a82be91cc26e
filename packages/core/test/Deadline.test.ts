import { assert, describe, it } from "@effect/vitest"
import { Abortable, Deadline } from "@quiesce/core"
import { Cause, Clock, Context, Duration, Effect, Exit, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { cites } from "../../../tests/conformance/cites.ts"
import { body, settle, shapeOf, thrownIn } from "./support/bridge.ts"
import { StepClock } from "./support/StepClock.ts"

const now = { startImmediately: true } as const

/** Runs `self` under a deadline of 100 ms. */
const within100 = <A, E, R>(self: Effect.Effect<A, E, R>) => Deadline.within(self, { timeout: 100, code: "SLOW" })

/** Never ends by itself, and takes `cleanup` to stop. */
const stopsIn = (cleanup: Duration.Input) => Effect.ensuring(Effect.never, Effect.sleep(cleanup))

const exceeded = (exit: Exit.Exit<unknown, unknown>): Deadline.DeadlineExceeded => {
  assert.strictEqual(shapeOf(exit), "Fail")
  const error = thrownIn(exit)
  assert.instanceOf(error, Deadline.DeadlineExceeded)
  return error as Deadline.DeadlineExceeded
}

// The first sleep on a TestClock starts the clock's warning in an interruptible region, where the finalizer of an
// interrupted fiber ends at once. Adjusting the clock turns the warning off, so that finalizers can sleep.
const quietClock = TestClock.adjust(0)

describe("Deadline.within", () => {
  it.effect(cites("passes on what ends in time, and disarms", "TIME-01", "TIME-08"), () =>
    Effect.gen(function*() {
      const clock = new StepClock()
      const run = <A, E>(self: Effect.Effect<A, E>) =>
        Effect.provideService(Effect.exit(within100(self)), Clock.Clock, clock)
      assert.deepStrictEqual(yield* run(Effect.succeed(1)), Exit.succeed(1))
      assert.strictEqual(thrownIn(yield* run(Effect.andThen(settle, Effect.fail("no")))), "no")
      assert.strictEqual(shapeOf(yield* run(Effect.andThen(settle, Effect.die("bug")))), "Die")
      assert.strictEqual(shapeOf(yield* run(Effect.andThen(settle, Effect.interrupt))), "Interrupt")
      assert.strictEqual(clock.sleepers, 0)
    }))

  it.effect(cites("notifies at its time and fails when the work is quiet", "TIME-01"), () =>
    Effect.gen(function*() {
      yield* quietClock
      let told = false
      const work = Effect.onInterrupt(Effect.never, () =>
        Effect.suspend(() => {
          told = true
          return Effect.sleep("1 second")
        }))
      const fiber = yield* Effect.forkDetach(within100(work), now)
      yield* TestClock.adjust(99)
      assert.isFalse(told)
      yield* TestClock.adjust(1)
      assert.isTrue(told)
      yield* TestClock.adjust(999)
      assert.isUndefined(fiber.pollUnsafe(), "asked to stop is not stopped")
      yield* TestClock.adjust(1)
      const error = exceeded(yield* Fiber.await(fiber))
      assert.strictEqual(error._tag, "DeadlineExceeded")
      assert.strictEqual(error.code, "SLOW")
      assert.deepStrictEqual(error.timeout, Duration.millis(100))
      assert.isFalse("cause" in error)
      assert.match(error.message, /100ms.*SLOW/)
    }))

  it.effect(
    cites("waits for work that cannot be interrupted, and drops its success", "TIME-01", "TIME-03"),
    () =>
      Effect.gen(function*() {
        const fiber = yield* Effect.forkDetach(
          Deadline.within(Effect.uninterruptible(Effect.as(Effect.sleep(200), "too late")), {
            timeout: 50,
            code: "SLOW"
          }),
          now
        )
        yield* TestClock.adjust(199)
        assert.isUndefined(fiber.pollUnsafe())
        yield* TestClock.adjust(1)
        exceeded(yield* Fiber.await(fiber))
      })
  )

  it.effect(
    cites("fires also where it is run in an uninterruptible region", "TIME-01"),
    () =>
      Effect.gen(function*() {
        const fiber = yield* Effect.forkDetach(Effect.uninterruptible(within100(Effect.never)), now)
        yield* TestClock.adjust(100)
        exceeded(yield* Fiber.await(fiber))
      })
  )

  it.effect(
    cites("is no failure of work that something else stopped first", "TIME-01", "TIME-02"),
    () =>
      Effect.gen(function*() {
        yield* quietClock
        const fiber = yield* Effect.forkDetach(within100(stopsIn("1 second")), now)
        yield* TestClock.adjust(99)
        fiber.interruptUnsafe()
        // Its time comes while the work stops.
        yield* TestClock.adjust("1 second")
        assert.strictEqual(shapeOf(yield* Fiber.await(fiber)), "Interrupt")
      })
  )

  it.effect(
    cites("stays the failure when the fiber is interrupted after it fired", "TIME-02"),
    () =>
      Effect.gen(function*() {
        yield* quietClock
        const fiber = yield* Effect.forkDetach(within100(stopsIn("1 second")), now)
        yield* TestClock.adjust(100)
        fiber.interruptUnsafe()
        yield* TestClock.adjust("1 second")
        const exit = yield* Fiber.await(fiber)
        assert.strictEqual(shapeOf(exit), "Interrupt+Fail")
        assert.instanceOf(thrownIn(exit), Deadline.DeadlineExceeded)
      })
  )

  for (const [first, shape] of [["deadline", "Interrupt+Fail"], ["interruption", "Interrupt"]] as const) {
    it.effect(cites(`the first cause counts within one tick: the ${first}`, "TIME-02"), () =>
      Effect.gen(function*() {
        yield* quietClock
        let fiber: Fiber.Fiber<unknown, unknown> | undefined
        // Timers of one moment fire in the order in which they were set.
        const interrupt = Effect.forkDetach(
          Effect.andThen(Effect.sleep(100), Effect.sync(() => fiber!.interruptUnsafe())),
          now
        )
        if (first === "interruption") yield* interrupt
        fiber = yield* Effect.forkDetach(within100(stopsIn("1 second")), now)
        if (first === "deadline") yield* interrupt
        yield* TestClock.adjust(100)
        yield* TestClock.adjust("1 second")
        assert.strictEqual(shapeOf(yield* Fiber.await(fiber)), shape)
      }))
  }

  it.effect(
    cites("shows a promise inside the error it fails with", "CALL-17", "TIME-01"),
    () =>
      Effect.gen(function*() {
        const promise = body()
        const fiber = yield* Effect.forkDetach(within100(Abortable.promise(promise.run)), now)
        yield* TestClock.adjust(100)
        const { reason } = promise.signal
        promise.reject(reason)
        assert.strictEqual(exceeded(yield* Fiber.await(fiber)), reason)
      })
  )

  it.effect(
    cites("keeps what the work fails with after it fired, and no more than that", "TIME-03"),
    () =>
      Effect.gen(function*() {
        const run = Effect.fnUntraced(function*(end: (promise: ReturnType<typeof body>) => void) {
          const promise = body()
          const fiber = yield* Effect.forkDetach(within100(Abortable.promise(promise.run)), now)
          yield* TestClock.adjust(100)
          end(promise)
          return exceeded(yield* Fiber.await(fiber))
        })
        const late = new Error("late")
        const failed = yield* run((promise) => promise.reject(late))
        assert.strictEqual(Cause.isUnknownError(failed.cause) && failed.cause.cause, late)
        for (
          const error of [
            yield* run((promise) => promise.resolve("too late")),
            yield* run((promise) => promise.reject(promise.signal.reason)),
            yield* run((promise) => promise.reject(new DOMException("stopped", "AbortError")))
          ]
        ) assert.isUndefined(error.cause)
      })
  )

  it.effect(
    cites("is told from an inner one by identity, though both have one code", "TIME-02"),
    () =>
      Effect.gen(function*() {
        const nested = (inner: number, outer: number) =>
          Deadline.within(
            // Recovers from the inner deadline, and from that alone.
            Effect.catchTag(
              Deadline.within(Effect.never, { timeout: inner, code: "SAME" }),
              "DeadlineExceeded",
              (error) => Effect.succeed(Duration.toMillis(error.timeout))
            ),
            { timeout: outer, code: "SAME" }
          )
        const [first, second] = [
          yield* Effect.forkDetach(nested(50, 100), now),
          yield* Effect.forkDetach(nested(100, 50), now)
        ]
        yield* TestClock.adjust(100)
        assert.deepStrictEqual(yield* Fiber.await(first), Exit.succeed(50))
        const error = exceeded(yield* Fiber.await(second))
        assert.strictEqual(Duration.toMillis(error.timeout), 50)
        assert.isUndefined(error.cause, "the inner one did not fire")

        const both = yield* Effect.forkDetach(
          Deadline.within(Deadline.within(Effect.never, { timeout: 100, code: "SAME" }), { timeout: 50, code: "SAME" }),
          now
        )
        yield* TestClock.adjust(50)
        assert.isUndefined(exceeded(yield* Fiber.await(both)).cause, "the inner one was stopped, and did not fire")
      })
  )

  it.effect(cites("counts anew for each run of one effect", "TIME-01", "TIME-02"), () =>
    Effect.gen(function*() {
      const effect = Effect.exit(within100(Effect.never))
      const fiber = yield* Effect.forkDetach(Effect.all([effect, effect]), now)
      yield* TestClock.adjust(199)
      assert.isUndefined(fiber.pollUnsafe())
      yield* TestClock.adjust(1)
      const errors = (yield* Fiber.join(fiber)).map(exceeded)
      assert.notStrictEqual(errors[0], errors[1])
    }))

  it.effect(cites("charges what the work does before it first waits", "TIME-04"), () =>
    Effect.gen(function*() {
      const clock = new StepClock()
      const run = (busy: number) =>
        Effect.forkDetach(
          Effect.provideService(
            within100(Effect.andThen(Effect.sync(() => clock.busy(busy)), Effect.never)),
            Clock.Clock,
            clock
          ),
          now
        )
      const late = yield* run(70)
      yield* clock.pass(29)
      assert.isUndefined(late.pollUnsafe())
      yield* clock.pass(1)
      exceeded(yield* Fiber.await(late))
      // Over its time before it could be told.
      exceeded(yield* Fiber.await(yield* run(1_000)))
      assert.strictEqual(clock.sleepers, 0)
    }))

  it.effect(
    cites("bounds the clean-up of work that was cancelled: there it fires first", "TIME-01", "TIME-02"),
    () =>
      Effect.gen(function*() {
        yield* quietClock
        const controller = new AbortController()
        const cleanups: Array<Exit.Exit<unknown, unknown>> = []
        const bounded = (cleanup: Effect.Effect<unknown>) =>
          Effect.flatMap(Effect.exit(within100(cleanup)), (exit) => Effect.sync(() => cleanups.push(exit)))
        const promise = body()
        const work = Effect.never.pipe(
          Effect.ensuring(bounded(Effect.never)),
          Effect.ensuring(
            bounded(Effect.asVoid(within100(Effect.never)).pipe(Effect.ignore, Effect.andThen(Effect.never)))
          ),
          Effect.ensuring(Effect.ignore(Effect.timeout(Effect.interruptible(Abortable.promise(promise.run)), 100)))
        )
        const fiber = yield* Effect.forkDetach(Abortable.interruptOn(work, controller.signal), now)
        controller.abort("why")
        yield* TestClock.adjust(200)
        assert.deepStrictEqual(cleanups.map(exceeded).map(({ code }) => code), ["SLOW", "SLOW"])
        yield* TestClock.adjust(100)
        promise.reject("late")
        assert.strictEqual(shapeOf(yield* Fiber.await(fiber)), "Interrupt")
      })
  )

  it.effect(
    cites("counts in what outlives the work that started it, though that was cancelled", "TIME-01", "TIME-02"),
    () =>
      Effect.gen(function*() {
        const controller = new AbortController()
        let outlives: Fiber.Fiber<unknown, unknown> | undefined
        const work = Effect.andThen(
          Effect.map(Effect.forkDetach(within100(Effect.never), now), (fiber) => outlives = fiber),
          Effect.never
        )
        const fiber = yield* Effect.forkDetach(Abortable.interruptOn(work, controller.signal), now)
        controller.abort("why")
        yield* Fiber.await(fiber)
        yield* TestClock.adjust(100)
        exceeded(yield* Fiber.await(outlives!))
      })
  )

  it.effect(cites("an endless one never fires", "TIME-01"), () =>
    Effect.gen(function*() {
      const fiber = yield* Effect.forkDetach(Deadline.within(Effect.never, { timeout: "Infinity", code: "NO" }), now)
      yield* TestClock.adjust("365 days")
      assert.isUndefined(fiber.pollUnsafe())
      yield* Fiber.interrupt(fiber)
    }))

  it.effect(
    cites("a text that is no duration is a defect, and the work does not start", "TIME-01"),
    () =>
      Effect.gen(function*() {
        let started = false
        const exit = yield* Effect.exit(
          Deadline.within(Effect.sync(() => started = true), { timeout: "soon" as Duration.Input, code: "NO" })
        )
        assert.strictEqual(shapeOf(exit), "Die")
        assert.isFalse(started)
      })
  )

  it.effect(
    cites("runs the work with the services of its fiber, data-first and data-last", "TIME-01"),
    () =>
      Effect.gen(function*() {
        class Name extends Context.Service<Name, { readonly name: string }>()("test/Name") {}
        const work = Effect.map(Name, ({ name }) => name)
        const options = { timeout: 100, code: "SLOW" }
        assert.deepStrictEqual(
          yield* Effect.provideService(
            Effect.all([Deadline.within(work, options), work.pipe(Deadline.within(options))]),
            Name,
            { name: "here" }
          ),
          ["here", "here"]
        )
      })
  )
})

describe("Deadline.clamp", () => {
  const clamp = (requested: unknown, fallback: Duration.Input = "30 seconds", max: Duration.Input = "10 minutes") =>
    Deadline.clamp({ requested: requested as Duration.Input, default: fallback, max })

  const cases: ReadonlyArray<readonly [what: string, timeouts: Parameters<typeof clamp>, millis: number]> = [
    ["fills in the default where nothing is requested", [undefined], 30_000],
    ["gives what is requested", [1], 1],
    ["gives what is requested, in words", ["2 minutes"], 120_000],
    ["gives what is requested, to the nanosecond", [Duration.nanos(1n)], 1e-6],
    ["gives exactly the maximum", ["10 minutes"], 600_000],
    ["caps what is requested", ["11 minutes"], 600_000],
    ["caps the largest number there is", [Number.MAX_VALUE], 600_000],
    ["caps the default too", [undefined, "1 hour"], 600_000]
  ]
  for (const [what, timeouts, millis] of cases) {
    it.effect(cites(what, "TIME-06"), () =>
      Effect.gen(function*() {
        assert.strictEqual(Duration.toMillis(yield* clamp(...timeouts)), millis)
      }))
  }

  const invalid: ReadonlyArray<readonly [what: string, value: unknown]> = [
    ["zero", 0],
    ["negative zero", -0],
    ["a negative number", -1],
    ["not a number", Number.NaN],
    ["infinity", Number.POSITIVE_INFINITY],
    ["infinity, in words", "Infinity"],
    ["no duration", "soon"],
    ["an empty text", ""],
    ["null", null],
    ["an object that claims to be a duration", { "~effect/Duration": "~effect/Duration" }]
  ]
  for (const [what, value] of invalid) {
    for (const which of ["requested", "default", "max"] as const) {
      it.effect(cites(`refuses a ${which} that is ${what}`, "TIME-06"), () =>
        Effect.gen(function*() {
          const timeouts = { requested: 1, default: 1, max: 1, [which]: value as Duration.Input }
          const error = yield* Effect.flip(Deadline.clamp(timeouts))
          assert.instanceOf(error, Deadline.InvalidTimeout)
          assert.strictEqual(error.which, which)
          assert.isTrue(Object.is(error.given, value))
          assert.throws(() => Deadline.clampUnsafe(timeouts), Deadline.InvalidTimeout)
        }))
    }
  }

  it(cites("serves promise code by its value, or by throwing", "TIME-06"), () => {
    const timeouts = { requested: 5, default: 1, max: 3 }
    assert.strictEqual(Duration.toMillis(Deadline.clampUnsafe(timeouts)), 3)
  })
})
