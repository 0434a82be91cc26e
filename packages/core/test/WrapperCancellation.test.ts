import { assert, describe, it } from "@effect/vitest"
import { Abortable, Deadline, type Json, Wrapper } from "@quiesce/core"
import { Effect, Exit, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { getEventListeners } from "node:events"
import { cites } from "../../../tests/conformance/cites.ts"
import * as Faces from "./support/faces.ts"
import * as Gate from "./support/Gate.ts"
import { effectTool, promiseTool } from "./support/registry.ts"
import { assertAborted, codeOf, failureOf, valueOf } from "./support/results.ts"
import { watched } from "./support/watched.ts"

const immediately = { startImmediately: true }

/** Ways in which a wrapper may try to keep the caller's cancellation from what it delegates. */
const detachers: ReadonlyArray<readonly [what: string, wrap: Wrapper.Wrapper]> = [
  ["uninterruptibly", Effect.uninterruptible],
  ["on a child fiber", (next) => Effect.flatMap(Effect.forkChild(next, immediately), Fiber.join)],
  ["on a detached fiber", (next) => Effect.flatMap(Effect.forkDetach(next, immediately), Fiber.join)],
  [
    "on a detached fiber, uninterruptibly",
    (next) => Effect.flatMap(Effect.forkDetach(Effect.uninterruptible(next), immediately), Fiber.join)
  ],
  [
    "detached, and waiting for it uninterruptibly",
    (next) => Effect.uninterruptible(Effect.flatMap(Effect.forkDetach(next, immediately), Fiber.join))
  ],
  [
    "through a promise of its own",
    (next) =>
      Effect.flatMap(
        Effect.context<never>(),
        (context) => Effect.promise(() => Effect.runPromiseWith(context)(next as Effect.Effect<Json>))
      )
  ],
  [
    "on a fiber that knows nothing of the call, with the types cast away",
    (next) => Effect.promise(() => Effect.runPromise(next as Effect.Effect<Json>))
  ],
  ["in a race that nobody else can win", (next) => Effect.raceFirst(Effect.never, Effect.uninterruptible(next))],
  ["under a deadline of its own", (next) => Deadline.within(next, { timeout: "1 day", code: "DAY" })],
  ["under another cancellation", (next) => Wrapper.withCancel(next, new AbortController().signal)],
  [
    "under a fused signal",
    (next) =>
      Effect.scoped(
        Effect.flatMap(Abortable.fuse(new AbortController().signal), (signal) => Wrapper.withCancel(next, signal))
      )
  ],
  [
    "in all these ways at once",
    Wrapper.compose(
      Effect.uninterruptible,
      (next) => Effect.flatMap(Effect.forkDetach(next, immediately), Fiber.join),
      (next) => Wrapper.withCancel(next, new AbortController().signal),
      (next) => Effect.raceFirst(Effect.never, Effect.uninterruptible(next))
    )
  ]
]

describe("a wrapper cannot take the caller's cancellation away", () => {
  it.effect.each(detachers)(cites("by running `next` %s", "CALL-12"), ([, wrap]) =>
    Effect.gen(function*() {
      for (const face of Faces.registryFaces) {
        const gate = Gate.make<string>()
        const host = yield* face.open(watched({ wrap, body: () => gate.wait }))
        const call = yield* host.call("tool")
        yield* gate.reached
        yield* call.cancel
        assert.strictEqual(gate.counts.interruptions, 1, "the body is interrupted at once")
        assertAborted(yield* call.result, "ABORTED", face.reason)
      }
    }))

  it.effect.each(detachers)(
    cites("whose reason a promise body sees: %s", "CALL-12", "CALL-17"),
    ([, wrap]) =>
      Effect.gen(function*() {
        const gate = Gate.make<string>()
        let signal: AbortSignal | undefined
        const tool = promiseTool("tool", (_, call) => {
          signal = call.signal
          return gate.promise()
        })
        const registry = yield* Faces.registry({ tools: [tool], wrappers: [wrap] })
        const controller = new AbortController()
        const result = registry.executePromise({ callId: "1", name: "tool", arguments: {}, signal: controller.signal })
        yield* gate.reached
        const reason = { its: "own" }
        controller.abort(reason)
        assert.strictEqual(signal!.reason, reason)
        yield* gate.open("late")
        assertAborted(yield* Effect.promise(() => result), "ABORTED", "Caller")
      })
  )

  it.effect(
    cites("not by a signal of its own either, where types do not keep it from it", "CALL-12"),
    () =>
      Effect.gen(function*() {
        for (const face of Faces.allFaces) {
          const gate = Gate.make<string>()
          let signal: AbortSignal | undefined
          const host = yield* face.open({
            tools: [promiseTool("tool", (_, call) => {
              signal = call.signal
              return gate.promise()
            })],
            wrappers: [(next) => next(new AbortController().signal as Wrapper.LiveSignal)]
          })
          const call = yield* host.call("tool")
          yield* gate.reached
          yield* call.cancel
          assert.isTrue(signal!.aborted)
          yield* gate.open("late")
          assertAborted(yield* call.result, "ABORTED", face.reason)
        }
      })
  )

  it.effect(
    cites("a handler of an interrupted wrapper cannot start the body anew", "CALL-12"),
    () =>
      Effect.gen(function*() {
        let entered = 0
        const gate = Gate.make<string>()
        const tool = effectTool("tool", () => {
          entered++
          return gate.wait
        })
        for (
          const again of [
            (next: Wrapper.Next) => Effect.onInterrupt(next, () => Effect.ignore(next as Effect.Effect<Json, unknown>)),
            (next: Wrapper.Next) => Abortable.handling(next, (self) => Effect.catchCause(self, () => next)),
            (next: Wrapper.Next) => Effect.ensuring(next, Effect.ignore(next as Effect.Effect<Json, unknown>))
          ]
        ) {
          entered = 0
          const host = yield* Faces.start.open({ tools: [tool], wrappers: [again] })
          const call = yield* host.call("tool")
          yield* gate.reached
          yield* call.cancel
          assertAborted(yield* call.result, "ABORTED", "Caller")
          assert.strictEqual(entered, 1)
        }
      })
  )
})

/** Wrappers whose own cancellation is triggered after a second, and what the call then is. */
const cancellers: ReadonlyArray<readonly [what: string, wrap: Wrapper.Wrapper, code: string]> = [
  ["a deadline", (next) => Deadline.within(next, { timeout: "1 second", code: "MINE" }), "TOOL_TIMEOUT"],
  ["a budget", Wrapper.timeout, "TOOL_TIMEOUT"],
  ["an operational signal", (next) =>
    Effect.scoped(Effect.gen(function*() {
      const controller = new AbortController()
      yield* Effect.forkScoped(Effect.andThen(Effect.sleep("1 second"), Effect.sync(() => controller.abort())))
      return yield* Wrapper.withCancel(next, controller.signal)
    })), "ABORTED"],
  ["a timeout of effect", (next) => Effect.timeout(next, "1 second"), "WRAPPER_FAILURE"]
]

/** Effect's own timeout knows nothing of calls: what runs uninterruptibly it waits for, as it does anywhere. */
const reached = (what: string) =>
  what === "a timeout of effect"
    ? detachers.filter(([how]) => !/uninterruptibl|nobody else|all these/.test(how))
    : detachers

describe.each(cancellers)("%s of an outer wrapper", (what, outer, code) => {
  it.effect.each(reached(what))(
    cites("reaches the body also where an inner one runs `next` %s", "CALL-12", "CALL-13"),
    ([, inner]) =>
      Effect.gen(function*() {
        const gate = Gate.make<string>()
        const tool = effectTool("tool", () => gate.wait, what === "a budget" ? { timeout: "1 second" } : {})
        const host = yield* Faces.start.open({
          tools: [tool],
          wrappers: [outer, inner]
        })
        const call = yield* host.call("tool")
        yield* gate.reached
        yield* TestClock.adjust("1 second")
        assert.strictEqual(gate.counts.interruptions, 1)
        assert.strictEqual(codeOf(yield* call.result), code)
      })
  )
})

/** Wrappers that add a signal to what they delegate, and then go on with `after`. */
const adders: ReadonlyArray<
  readonly [what: string, wrap: (signal: AbortSignal, after: Effect.Effect<void>) => Wrapper.Wrapper]
> = [
  ["withCancel", (signal, after) => (next) => Effect.tap(Wrapper.withCancel(next, signal), after)],
  ["Abortable.interruptOn", (signal, after) => (next) => Effect.tap(Abortable.interruptOn(next, signal), after)],
  ["a derived signal", (signal, after) =>
    Wrapper.fromPromise(async (next, _, { derive }) => {
      const value = await next(derive(signal))
      await Effect.runPromise(after)
      return value
    })],
  ["withCancel inside another wrapper", (signal, after) =>
    Wrapper.compose(
      (next) => Effect.tap(next, after),
      (next) => Effect.mapError(next, (error) => error),
      (next) => Wrapper.withCancel(next, signal)
    )],
  ["withCancel around another wrapper", (signal, after) =>
    Wrapper.compose(
      (next) => Effect.tap(Wrapper.withCancel(next, signal), after),
      (next) => Effect.timeout(next, "1 day")
    )]
]

describe.each(adders)("a wrapper that adds %s", (_, wrap) => {
  it.effect(
    cites("cancelled before it delegates: the body never starts, for reason Wrapper", "CALL-13"),
    () =>
      Effect.gen(function*() {
        for (const face of Faces.registryFaces) {
          const parts = watched({ wrap: wrap(AbortSignal.abort("done"), Effect.void) })
          const host = yield* face.open(parts)
          assertAborted(yield* (yield* host.call("tool")).result, "ABORTED_BEFORE_DISPATCH", "Wrapper")
          assert.notInclude(parts.ran, "body")
        }
      })
  )

  it.effect(
    cites("cancelled later: the body is interrupted and awaited, for reason Wrapper", "CALL-13"),
    () =>
      Effect.gen(function*() {
        for (const face of Faces.registryFaces) {
          const controller = new AbortController()
          const gate = Gate.make<string>()
          let signal: AbortSignal | undefined
          const host = yield* face.open({
            tools: [promiseTool("tool", (_, call) => {
              signal = call.signal
              return gate.promise()
            })],
            wrappers: [wrap(controller.signal, Effect.void)]
          })
          const call = yield* host.call("tool")
          yield* gate.reached
          const reason = new Error("operational")
          controller.abort(reason)
          assert.strictEqual(signal!.reason, reason, "its own reason, unchanged")
          yield* TestClock.adjust("1 hour")
          assert.isFalse(call.isOver())
          yield* gate.open("late")
          assertAborted(yield* call.result, "ABORTED", "Wrapper")
        }
      })
  )

  it.effect(
    cites("a failure of the body that comes after it stays", "CALL-13", "CALL-09"),
    () =>
      Effect.gen(function*() {
        const controller = new AbortController()
        const gate = Gate.make<string>()
        const host = yield* Faces.start.open({
          tools: [promiseTool("tool", gate.promise)],
          wrappers: [wrap(controller.signal, Effect.void)]
        })
        const call = yield* host.call("tool")
        yield* gate.reached
        controller.abort()
        yield* gate.fail(new TypeError("late"))
        assert.deepStrictEqual(failureOf(yield* call.result).error, {
          code: "TOOL_FAILURE",
          name: "TypeError",
          message: "late"
        })
      })
  )

  it.effect(
    cites("the first of the two cancellations is the reason", "CALL-13", "CALL-17"),
    () =>
      Effect.gen(function*() {
        for (const callerFirst of [true, false]) {
          const controller = new AbortController()
          const gate = Gate.make<string>()
          const host = yield* Faces.start.open({
            tools: [promiseTool("tool", gate.promise)],
            wrappers: [wrap(controller.signal, Effect.void)]
          })
          const call = yield* host.call("tool")
          yield* gate.reached
          if (callerFirst) yield* call.cancel
          controller.abort()
          if (!callerFirst) yield* call.cancel
          yield* gate.open("late")
          const result = yield* call.result
          // A wrapper's own cancellation ends what it delegated, and the call if it lets it: the caller's ends the call.
          assertAborted(result, "ABORTED", "Caller")
        }
      })
  )

  it.effect(
    cites("what it added ends with what it delegated: triggered later it changes nothing", "CALL-12"),
    () =>
      Effect.gen(function*() {
        const controller = new AbortController()
        const gate = Gate.make()
        const host = yield* Faces.start.open(watched({ wrap: wrap(controller.signal, gate.wait) }))
        const call = yield* host.call("tool")
        yield* gate.reached
        controller.abort()
        assert.strictEqual(gate.counts.interruptions, 0)
        yield* gate.open()
        assert.strictEqual(valueOf(yield* call.result), "done")
      })
  )

  it.effect(
    cites("leaves no listener on its source, however the call ends", "CALL-12", "CALL-16"),
    () =>
      Effect.gen(function*() {
        for (const face of Faces.registryFaces) {
          const { signal } = new AbortController()
          const gate = Gate.make<string>()
          const host = yield* face.open({
            tools: [
              effectTool("succeeds", () => Effect.succeed(1)),
              effectTool("fails", () => Effect.fail("x")),
              effectTool("waits", () => gate.wait)
            ],
            wrappers: [wrap(signal, Effect.void)]
          })
          for (const name of ["succeeds", "fails", "waits"]) {
            const call = yield* host.call(name)
            if (name === "waits") {
              yield* gate.reached
              assert.strictEqual(getEventListeners(signal, "abort").length, 1)
              yield* call.cancel
            }
            yield* call.result
            assert.deepStrictEqual(getEventListeners(signal, "abort"), [])
          }
        }
      })
  )
})

describe("a wrapper's own cancellation", () => {
  it.effect(
    cites("a wrapper that interrupts what it delegated, and lets that through", "CALL-13"),
    () =>
      Effect.gen(function*() {
        for (
          const wrap of [
            (next: Wrapper.Next) =>
              Effect.flatMap(Effect.forkChild(next, immediately), (fiber) =>
                Effect.andThen(Effect.sleep("1 second"), Effect.andThen(Fiber.interrupt(fiber), Fiber.join(fiber)))),
            (next: Wrapper.Next) =>
              Effect.raceFirst(next, Effect.andThen(Effect.sleep("1 second"), Effect.interrupt))
          ]
        ) {
          const gate = Gate.make<string>()
          const host = yield* Faces.start.open(watched({
            wrap,
            body: () =>
              gate.wait
          }))
          const call = yield* host.call("tool")
          yield* gate.reached
          yield* TestClock.adjust("1 second")
          assertAborted(yield* call.result, "ABORTED", "Wrapper")
        }
      })
  )

  it.effect(cites("a wrapper that interrupts itself instead of delegating", "CALL-13"), () =>
    Effect.gen(function*() {
      const host = yield* Faces.start.open(watched({ wrap: () => Effect.interrupt }))
      assertAborted(yield* (yield* host.call("tool")).result, "ABORTED_BEFORE_DISPATCH", "Wrapper")
    }))

  it.effect(
    cites("a body that interrupts itself was not cancelled by a wrapper", "CALL-13"),
    () =>
      Effect.gen(function*() {
        for (const wrappers of [[], [(next: Wrapper.Next) => Effect.timeout(next, "1 day")]]) {
          const host = yield* Faces.start.open({ tools: [effectTool("tool", () => Effect.interrupt)], wrappers })
          assertAborted(yield* (yield* host.call("tool")).result, "ABORTED", "Interrupt")
        }
      })
  )

  it.effect(cites("a deadline is not such a cancellation", "CALL-13"), () =>
    Effect.gen(function*() {
      const gate = Gate.make<string>()
      const host = yield* Faces.start.open(watched({
        wrap: (next) => Deadline.within(next, { timeout: "1 second", code: "MINE" }),
        body: () => gate.wait
      }))
      const call = yield* host.call("tool")
      yield* gate.reached
      yield* TestClock.adjust("1 second")
      const { dispatched, error } = failureOf(yield* call.result)
      assert.deepStrictEqual([error.code, error.detail, dispatched], [
        "TOOL_TIMEOUT",
        { code: "MINE", timeoutMillis: 1000 },
        true
      ])
    }))

  it.effect(
    cites("a wrapper may recover from its own, and delegate again", "CALL-13", "CALL-15"),
    () =>
      Effect.gen(function*() {
        const controller = new AbortController()
        const gate = Gate.make<string>()
        let runs = 0
        const host = yield* Faces.start.open(watched({
          body: () => ++runs === 1 ? gate.wait : Effect.succeed("second"),
          wrap: (next) =>
            Effect.flatMap(
              Effect.forkChild(Wrapper.withCancel(next, controller.signal), immediately),
              (fiber) => Effect.flatMap(Fiber.await(fiber), (exit) => Exit.isSuccess(exit) ? exit : next)
            )
        }))
        const call = yield* host.call("tool")
        yield* gate.reached
        controller.abort()
        assert.strictEqual(valueOf(yield* call.result), "second")
      })
  )

  it.effect(
    cites("of promise functions: a rejection with its reason, or a value in its place", "CALL-13", "CALL-14"),
    () =>
      Effect.gen(function*() {
        for (const face of Faces.allFaces) {
          const controller = new AbortController()
          const gate = Gate.make<string>()
          let seen: unknown
          const host = yield* face.open({
            tools: [promiseTool("tool", gate.promise)],
            wrappers: [async (next, _, { derive }) => {
              try {
                return await next(derive(controller.signal))
              } catch (thrown) {
                seen = thrown
                return "recovered"
              }
            }]
          })
          const call = yield* host.call("tool")
          yield* gate.reached
          controller.abort("operational")
          yield* gate.open("late")
          assert.strictEqual(valueOf(yield* call.result), "recovered")
          assert.strictEqual(seen, "operational")
        }
      })
  )
})
