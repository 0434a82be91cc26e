import { assert, describe, it } from "@effect/vitest"
import { Abortable, Deadline } from "@quiesce/core"
import { Cause, Channel, Clock, Context, Duration, Effect, Exit, Fiber, Scope, Stream } from "effect"
import { TestClock } from "effect/testing"
import { cites } from "../../../tests/conformance/cites.ts"
import { body, listeners, settle, shapeOf, thrownIn } from "./support/bridge.ts"
import * as Faces from "./support/faces.ts"
import { effectTool, promiseTool } from "./support/registry.ts"
import { codeOf, failureOf } from "./support/results.ts"
import { StepClock } from "./support/StepClock.ts"

const now = { startImmediately: true } as const
const options = { timeout: "5 seconds", code: "SILENT" } as const

/** Gives 1, 2, 3, …, each after so many seconds, and then ends. */
const after = (...seconds: ReadonlyArray<number>): Stream.Stream<number> =>
  Stream.fromIterable(seconds).pipe(
    Stream.rechunk(1),
    Stream.mapEffect((delay) => Effect.sleep(Duration.seconds(delay))),
    Stream.zipWithIndex,
    Stream.map(([, i]) => i + 1)
  )

const exceeded = (exit: Exit.Exit<unknown, unknown>): Deadline.DeadlineExceeded => {
  assert.strictEqual(shapeOf(exit), "Fail")
  assert.instanceOf(thrownIn(exit), Deadline.DeadlineExceeded)
  return thrownIn(exit) as Deadline.DeadlineExceeded
}

/** Collects what `stream` gives, and how it ended. */
const collect = Effect.fnUntraced(function*<A, E>(stream: Stream.Stream<A, E>) {
  const items: Array<A> = []
  const fiber = yield* Effect.forkDetach(Stream.runForEach(stream, (item) => Effect.sync(() => items.push(item))), now)
  return { items, fiber, isOver: () => fiber.pollUnsafe() !== undefined, exit: Fiber.await(fiber) }
})

/** A source whose every pull is a promise in the hands of the test, which may listen to nothing but the guard's signal. */
const source = () => {
  const pulls: Array<ReturnType<typeof body>> = []
  let idle: Deadline.Idle | undefined
  const make = (given: Deadline.Idle): Stream.Stream<string, Cause.UnknownError> => {
    idle = given
    return Stream.fromEffectRepeat(Abortable.promise((signal) => {
      const pull = body()
      pulls.push(pull)
      return pull.run(signal)
    }))
  }
  return { make, pulls, last: () => pulls.at(-1)!, idle: () => idle! }
}

describe("Deadline.idle", () => {
  it.effect(cites("fails when one pull takes longer than its time", "TIME-07"), () =>
    Effect.gen(function*() {
      const run = yield* collect(Deadline.idle(after(1, 4.999, 6), options))
      yield* TestClock.adjust("5999 millis")
      assert.deepStrictEqual(run.items, [1, 2])
      yield* TestClock.adjust("4999 millis")
      assert.isFalse(run.isOver())
      yield* TestClock.adjust("1 millis")
      const error = exceeded(yield* run.exit)
      assert.strictEqual(error.code, "SILENT")
      assert.strictEqual(Duration.toMillis(error.timeout), 5_000)
      assert.deepStrictEqual(run.items, [1, 2])
    }))

  it.effect(cites("gives each pull the whole time, and passes on the end", "TIME-07"), () =>
    Effect.gen(function*() {
      const run = yield* collect(Deadline.idle(after(4, 4, 4, 4), options))
      yield* TestClock.adjust("16 seconds")
      assert.deepStrictEqual(yield* run.exit, Exit.void)
      assert.deepStrictEqual(run.items, [1, 2, 3, 4])
    }))

  it.effect(
    cites("does not count the consumer's time, and has no timer then", "TIME-07"),
    () =>
      Effect.gen(function*() {
        const clock = new StepClock()
        const { last, make } = source()
        const program = Effect.gen(function*() {
          const pull = yield* Stream.toPull(Deadline.idle(make, options))
          for (let i = 0; i < 3; i++) {
            const pulling = yield* Effect.forkDetach(pull, now)
            assert.strictEqual(clock.sleepers, 1)
            yield* clock.pass(4_999)
            last().resolve("item")
            assert.deepStrictEqual(yield* Fiber.join(pulling), ["item"])
            assert.strictEqual(clock.sleepers, 0, "while the consumer thinks")
            yield* clock.pass(60_000)
          }
          const silent = yield* Effect.forkDetach(pull, now)
          yield* clock.pass(4_999)
          assert.isUndefined(silent.pollUnsafe())
          yield* clock.pass(1)
          last().resolve("too late")
          exceeded(yield* Fiber.await(silent))
        })
        yield* Effect.provideService(Effect.scoped(program), Clock.Clock, clock)
      })
  )

  it.effect(
    cites("counts from the last pulse of the pull, to the millisecond", "TIME-07"),
    () =>
      Effect.gen(function*() {
        const { idle, last, make } = source()
        const run = yield* collect(Deadline.idle(make, options))
        for (let i = 0; i < 5; i++) {
          yield* TestClock.adjust("3 seconds")
          idle().pulse()
        }
        yield* TestClock.adjust("4999 millis")
        assert.isFalse(last().signal.aborted)
        yield* TestClock.adjust("1 millis")
        assert.isTrue(last().signal.aborted)
        last().resolve("too late")
        exceeded(yield* run.exit)
      })
  )

  it.effect(cites("takes a pulse between pulls for nothing", "TIME-07"), () =>
    Effect.gen(function*() {
      const { idle, last, make } = source()
      const stream = Deadline.idle(make, options).pipe(
        Stream.tap(() => Effect.andThen(Effect.sleep("1 minute"), Effect.sync(() => idle().pulse())))
      )
      const run = yield* collect(stream)
      last().resolve("item")
      yield* settle
      // A minute of thinking, and then the next pull.
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(run.items, ["item"])
      yield* TestClock.adjust("4999 millis")
      assert.isFalse(last().signal.aborted)
      yield* TestClock.adjust("1 millis")
      assert.isTrue(last().signal.aborted)
      last().resolve("too late")
      exceeded(yield* run.exit)
      idle().pulse()
    }))

  it.effect(
    cites("has one signal for the whole stream, and aborts it with what it fails with", "TIME-07"),
    () =>
      Effect.gen(function*() {
        const { idle, last, make } = source()
        const run = yield* collect(Deadline.idle(make, options))
        const { signal } = idle()
        for (const item of ["a", "b"]) {
          yield* TestClock.adjust("4 seconds")
          last().resolve(item)
          yield* settle
          assert.strictEqual(idle().signal, signal)
          assert.isFalse(signal.aborted)
        }
        yield* TestClock.adjust("5 seconds")
        assert.isFalse(run.isOver(), "its pull is not quiet")
        assert.strictEqual(last().signal.reason, signal.reason, "the pull's own signal says the same")
        last().reject(signal.reason)
        assert.strictEqual(exceeded(yield* run.exit), signal.reason)
        assert.deepStrictEqual(run.items, ["a", "b"])
      })
  )

  it.effect(cites("lets go code that listens to nothing but that signal", "TIME-07"), () =>
    Effect.gen(function*() {
      const deaf = ({ signal }: Deadline.Idle) =>
        Stream.fromEffect(Abortable.promise(() =>
          new Promise<string>((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)))
        ))
      const timed = yield* collect(Deadline.idle(deaf, options))
      yield* TestClock.adjust("5 seconds")
      exceeded(yield* timed.exit)
      const controller = new AbortController()
      let reason: unknown
      const bound = yield* Effect.forkDetach(
        Abortable.interruptOn(
          Stream.runDrain(Deadline.idle((idle) => {
            idle.signal.addEventListener("abort", () =>
              reason = idle.signal.reason)
            return deaf(idle)
          }, options)),
          controller.signal
        ),
        now
      )
      controller.abort(null)
      assert.strictEqual(shapeOf(yield* Fiber.await(bound)), "Interrupt")
      assert.strictEqual(reason, null, "the caller's own reason")
    }))

  it.effect(
    cites("refuses a second pull, and the first goes on with its own time", "TIME-07"),
    () =>
      Effect.gen(function*() {
        const { make, pulls } = source()
        // `Stream.toPull` would queue them.
        const stream = Stream.toChannel(Deadline.idle(make, options))
        const pull = yield* Channel.toPullScoped(stream, yield* Scope.Scope)
        const first = yield* Effect.forkDetach(pull, now)
        yield* TestClock.adjust("4 seconds")
        const second = yield* Effect.exit(pull)
        assert.strictEqual(shapeOf(second), "Die")
        assert.instanceOf(thrownIn(second), Deadline.ConcurrentPull)
        assert.strictEqual(pulls.length, 1)
        yield* TestClock.adjust("999 millis")
        assert.isFalse(pulls[0]!.signal.aborted)
        yield* TestClock.adjust("1 millis")
        assert.isTrue(pulls[0]!.signal.aborted)
        pulls[0]!.resolve("too late")
        exceeded(yield* Fiber.await(first))
      })
  )

  it.effect(
    cites("is over once it fired: another pull fails as that one did, and pulls nothing", "TIME-07"),
    () =>
      Effect.gen(function*() {
        const { last, make, pulls } = source()
        const pull = yield* Stream.toPull(Deadline.idle(make, options))
        const first = yield* Effect.forkDetach(pull, now)
        yield* TestClock.adjust("5 seconds")
        last().resolve("too late")
        const error = exceeded(yield* Fiber.await(first))
        assert.strictEqual(exceeded(yield* Effect.exit(pull)), error)
        assert.strictEqual(pulls.length, 1)
      })
  )

  it.effect(
    cites("disarms and aborts its signal when the consumer has had enough", "TIME-07"),
    () =>
      Effect.gen(function*() {
        const clock = new StepClock()
        const { idle, last, make } = source()
        const events: Array<string> = []
        const stream = Deadline.idle((idle) => {
          idle.signal.addEventListener("abort", () => events.push("aborted"))
          return Stream.ensuring(make(idle), Effect.andThen(settle, Effect.sync(() => events.push("finalized"))))
        }, options)
        const run = yield* Effect.forkDetach(
          Effect.provideService(Stream.runCollect(Stream.take(stream, 1)), Clock.Clock, clock),
          now
        )
        last().resolve("item")
        assert.deepStrictEqual(yield* Fiber.join(run), ["item"])
        // Told first: what a finalizer waits for may wait for the signal.
        assert.deepStrictEqual(events, ["aborted", "finalized"])
        assert.strictEqual(idle().signal.reason.name, "AbortError")
        assert.strictEqual(clock.sleepers, 0)
      })
  )

  it.effect(
    cites("closed while a pull is outstanding, interrupts it and waits for it", "TIME-07"),
    () =>
      Effect.gen(function*() {
        const { last, make } = source()
        let finalized = false
        const scope = yield* Scope.make()
        const pull = yield* Scope.provide(scope)(
          Stream.toPull(Stream.ensuring(Deadline.idle(make, options), Effect.sync(() => finalized = true)))
        )
        const pulling = yield* Effect.forkDetach(pull, now)
        const closing = yield* Effect.forkDetach(Scope.close(scope, Exit.void), now)
        yield* settle
        assert.isTrue(last().signal.aborted)
        assert.isUndefined(closing.pollUnsafe())
        last().resolve("too late")
        yield* Fiber.join(closing)
        assert.isTrue(finalized)
        assert.strictEqual(shapeOf(yield* Fiber.await(pulling)), "Interrupt")
      })
  )

  it.effect(
    cites("keeps as cause what the pull fails with after it fired, and the end is no failure", "TIME-07"),
    () =>
      Effect.gen(function*() {
        const failing = source()
        const failed = yield* collect(Deadline.idle(failing.make, options))
        yield* TestClock.adjust("5 seconds")
        failing.last().reject("late")
        const { cause } = exceeded(yield* failed.exit)
        assert.strictEqual(Cause.isUnknownError(cause) && cause.cause, "late")

        const after = <E>(end: Effect.Effect<never, E>) =>
          Stream.fromPull(Effect.succeed(Effect.uninterruptible(Effect.andThen(Effect.sleep(6_000), end))))
        const broken = yield* collect(Deadline.idle(after(Effect.fail("later")), options))
        yield* TestClock.adjust("6 seconds")
        assert.strictEqual(exceeded(yield* broken.exit).cause, "later")

        const ending = after(Cause.done())
        const ended = yield* collect(Deadline.idle(ending, options))
        yield* TestClock.adjust("6 seconds")
        assert.isUndefined(exceeded(yield* ended.exit).cause)
      })
  )

  it.effect(cites("passes on what the stream itself fails with", "TIME-07"), () =>
    Effect.gen(function*() {
      const fails = yield* collect(Deadline.idle(Stream.fail("no"), options))
      assert.strictEqual(thrownIn(yield* fails.exit), "no")
      const throws = yield* collect(Deadline.idle(() => {
        throw new Error("cannot be made")
      }, options))
      assert.strictEqual(shapeOf(yield* throws.exit), "Die")
    }))

  it.effect(
    cites("makes the stream anew for each run, with the services of its consumer", "TIME-07"),
    () =>
      Effect.gen(function*() {
        class Name extends Context.Service<Name, { readonly name: string }>()("test/Name") {}
        const signals = new Set<AbortSignal>()
        const stream = Deadline.idle((idle) => {
          signals.add(idle.signal)
          return Stream.fromEffect(Effect.map(Name, ({ name }) => name))
        }, options)
        const piped = Stream.make(1).pipe(Deadline.idle(options))
        const run = Effect.provideService(Stream.runCollect(stream), Name, { name: "here" })
        assert.deepStrictEqual(yield* Effect.all([run, run]), [["here"], ["here"]])
        assert.strictEqual(signals.size, 2)
        assert.deepStrictEqual(yield* Stream.runCollect(piped), [1])
      })
  )

  it.effect(
    cites("a cancelled call whose stream ends because of the abort is aborted, and no failure", "CALL-09"),
    () =>
      Effect.gen(function*() {
        const tool = effectTool("tool", () =>
          Effect.as(
            Stream.runDrain(Deadline.idle(({ signal }) =>
              Stream.fromPull(Effect.succeed(
                Effect.uninterruptible(Effect.andThen(
                  Effect.callback<void>((resume) => {
                    signal.addEventListener("abort", () => resume(Effect.void))
                  }),
                  Cause.done()
                ))
              )), options)),
            "ended"
          ))
        for (const face of Faces.registryFaces) {
          const host = yield* face.open({ tools: [tool] })
          const call = yield* host.call("tool")
          yield* call.cancel
          assert.strictEqual(codeOf(yield* call.result), "ABORTED")
        }
      })
  )
})

/** An async generator in the hands of the test. */
const iterable = () => {
  const pulls: Array<ReturnType<typeof body>> = []
  const events: Array<string> = []
  let idle: Deadline.Idle | undefined
  const make = async function*(given: Deadline.Idle) {
    idle = given
    given.signal.addEventListener("abort", () => events.push("aborted"))
    try {
      for (;;) {
        const pull = body()
        pulls.push(pull)
        yield await pull.run(given.signal)
      }
    } finally {
      events.push("cleaned up")
    }
  }
  return { make, pulls, events, last: () => pulls.at(-1)!, idle: () => idle! }
}

const iterate = <A>(
  make: (idle: Deadline.Idle) => AsyncIterable<A>,
  signal: AbortSignal = new AbortController().signal
): Required<AsyncIterator<A>> =>
  Deadline.idleIterable(make, { ...options, signal })[Symbol.asyncIterator]() as Required<AsyncIterator<A>>

const rejectionOf = async (promise: PromiseLike<unknown>): Promise<unknown> => {
  try {
    await promise
  } catch (thrown) {
    return thrown
  }
  throw new Error("it was not rejected")
}

describe("Deadline.idleIterable", () => {
  it(cites("gives what the iterable gives, and its end", "TIME-07"), async () => {
    const controller = new AbortController()
    let signal: AbortSignal | undefined
    const all = Deadline.idleIterable(async function*(idle) {
      signal = idle.signal
      yield* [1, 2, 3]
    }, { ...options, signal: controller.signal })
    for (let i = 0; i < 2; i++) {
      const items: Array<number> = []
      for await (const item of all) {
        items.push(item)
        assert.isFalse(signal!.aborted)
        assert.strictEqual(listeners(controller.signal), 1)
      }
      assert.deepStrictEqual(items, [1, 2, 3])
      assert.isTrue(signal!.aborted)
      assert.strictEqual(listeners(controller.signal), 0)
    }
  })

  it.effect(
    cites("inside a call counts by the call's clock, and rejects once the iterable has cleaned up", "TIME-07"),
    () =>
      Effect.gen(function*() {
        const { events, idle, last, make } = iterable()
        let rejection: unknown
        const tool = promiseTool("tool", async (_, { signal }) => {
          try {
            for await (const item of Deadline.idleIterable(make, { ...options, signal })) events.push(item)
          } catch (thrown) {
            rejection = thrown
            events.push("rejected")
            throw thrown
          }
          return null
        })
        for (const face of Faces.registryFaces) {
          events.length = 0
          const host = yield* face.open({ tools: [tool] })
          const call = yield* host.call("tool")
          yield* settle
          yield* TestClock.adjust("4 seconds")
          last().resolve("item")
          yield* settle
          yield* TestClock.adjust("3 seconds")
          idle().pulse()
          yield* TestClock.adjust("4999 millis")
          assert.deepStrictEqual(events, ["item"])
          yield* TestClock.adjust("1 millis")
          assert.deepStrictEqual(events, ["item", "aborted"])
          yield* settle
          assert.isFalse(call.isOver(), "the pull is not quiet")
          last().reject(idle().signal.reason)
          const { error } = failureOf(yield* call.result)
          assert.deepStrictEqual(events, ["item", "aborted", "cleaned up", "rejected"])
          assert.strictEqual(rejection, idle().signal.reason)
          assert.strictEqual(error.code, "TOOL_FAILURE")
          assert.strictEqual(error.name, "DeadlineExceeded")
        }
      })
  )

  for (const reason of [0, "", null, Object.freeze({ why: "because" })]) {
    it(
      cites(`rejects with the reason of an abort, once it is quiet: ${JSON.stringify(reason)}`, "TIME-07"),
      async () => {
        const controller = new AbortController()
        const { events, idle, last, make } = iterable()
        const iterator = iterate(make, controller.signal)
        let over = false
        const next = iterator.next()
        next.then(() => over = true, () => over = true)
        controller.abort(reason)
        await null
        assert.strictEqual(idle().signal.reason, reason)
        await new Promise(setImmediate)
        assert.isFalse(over)
        last().resolve("too late")
        assert.strictEqual(await rejectionOf(next), reason)
        assert.deepStrictEqual(events, ["aborted", "cleaned up"])
        assert.deepStrictEqual(await iterator.next(), { done: true, value: undefined })
        assert.strictEqual(listeners(controller.signal), 0)
      }
    )
  }

  it(cites("aborted between two pulls, pulls no more", "TIME-07"), async () => {
    const controller = new AbortController()
    const { events, last, make, pulls } = iterable()
    const iterator = iterate(make, controller.signal)
    const first = iterator.next()
    await null
    last().resolve("item")
    assert.deepStrictEqual(await first, { done: false, value: "item" })
    controller.abort("why")
    assert.deepStrictEqual(events, ["aborted"])
    assert.strictEqual(await rejectionOf(iterator.next()), "why")
    assert.deepStrictEqual(events, ["aborted", "cleaned up"])
    assert.strictEqual(pulls.length, 1)
  })

  it(cites("aborted before the first pull, makes nothing", "TIME-07"), async () => {
    const { make, pulls } = iterable()
    const signal = AbortSignal.abort("before")
    assert.strictEqual(await rejectionOf(iterate(make, signal).next()), "before")
    assert.strictEqual(pulls.length, 0)
    assert.strictEqual(listeners(signal), 0)
  })

  it(cites("refuses a second pull, and the first goes on", "TIME-07"), async () => {
    const { last, make, pulls } = iterable()
    const iterator = iterate(make)
    const first = iterator.next()
    assert.instanceOf(await rejectionOf(iterator.next()), Deadline.ConcurrentPull)
    last().resolve("item")
    assert.deepStrictEqual(await first, { done: false, value: "item" })
    assert.strictEqual(pulls.length, 1)
    const second = iterator.next()
    await new Promise(setImmediate)
    last().resolve("next")
    assert.deepStrictEqual(await second, { done: false, value: "next" })
  })

  it(cites("left early, aborts the signal, lets the iterable clean up and leaves no listener", "TIME-07"), async () => {
    const controller = new AbortController()
    const { events, last, make } = iterable()
    const all = Deadline.idleIterable(make, { ...options, signal: controller.signal })
    setImmediate(() => last().resolve("item"))
    for await (const _ of all) break
    assert.deepStrictEqual(events, ["aborted", "cleaned up"])
    assert.strictEqual(listeners(controller.signal), 0)
  })

  it(cites("returned while a pull is outstanding, ends both once the pull is quiet", "TIME-07"), async () => {
    const { events, idle, last, make } = iterable()
    const iterator = iterate(make)
    const next = iterator.next()
    await null
    const returned = iterator.return()
    assert.isTrue(idle().signal.aborted)
    await new Promise(setImmediate)
    assert.deepStrictEqual(events, ["aborted"])
    last().reject(idle().signal.reason)
    const over = { done: true, value: undefined } as const
    assert.deepStrictEqual(await Promise.all([next, returned, iterator.return()]), [over, over, over])
    assert.deepStrictEqual(events, ["aborted", "cleaned up"])
  })

  it(cites("passes on what the iterable fails with, also while it cleans up", "TIME-07"), async () => {
    const error = new Error("no")
    const { last, make } = iterable()
    const failing = iterate(make).next()
    await null
    last().reject(error)
    assert.strictEqual(await rejectionOf(failing), error)

    const unmakeable = iterate(() => {
      throw error
    })
    assert.strictEqual(await rejectionOf(unmakeable.next()), error)
    assert.deepStrictEqual(await unmakeable.next(), { done: true, value: undefined })

    const broken = (returns: () => Promise<never>) =>
      iterate(() => ({
        [Symbol.asyncIterator]: () => ({ next: () => Promise.resolve({ value: 1, done: false }), return: returns })
      }))
    const iterator = broken(() => Promise.reject(error))
    await iterator.next()
    assert.strictEqual(await rejectionOf(iterator.return()), error)

    const noResult = iterate(() => ({
      [Symbol.asyncIterator]: () => ({ next: (): any => Promise.resolve(undefined) })
    }))
    assert.instanceOf(await rejectionOf(noResult.next()), TypeError)
  })

  it(cites("does not let what goes wrong while cleaning up replace the first cause", "TIME-07"), async () => {
    const controller = new AbortController()
    const pull = body()
    const iterator = iterate(() => ({
      [Symbol.asyncIterator]: () => ({
        next: async () => ({ value: await pull.run(controller.signal), done: false }),
        return: () => Promise.reject(new Error("while cleaning up"))
      })
    }), controller.signal)
    const next = iterator.next()
    controller.abort("why")
    pull.resolve("too late")
    assert.strictEqual(await rejectionOf(next), "why")
    assert.deepStrictEqual(await iterator.next(), { done: true, value: undefined })
  })
})
