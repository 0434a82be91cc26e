import { assert, describe, it } from "@effect/vitest"
import { Abortable, Deadline, Journal, type Json, Policy, ToolCall, type ToolResult, Wrapper } from "@quiesce/core"
import { Cause, Data, type Duration, Effect, Exit, Fiber, Schedule, Semaphore } from "effect"
import { TestClock } from "effect/testing"
import { cites } from "../../../tests/conformance/cites.ts"
import * as Faces from "./support/faces.ts"
import * as Gate from "./support/Gate.ts"
import { effectTool, promiseTool } from "./support/registry.ts"
import { assertAborted, codeOf, failureOf, valueOf } from "./support/results.ts"
import { watched } from "./support/watched.ts"

class Late extends Data.TaggedError("Late")<{ readonly step: number }> {
  override get message() {
    return `step ${this.step} failed`
  }
}

class Mapped extends Error {
  override readonly name = "Mapped"
}

const lateError: ToolResult.Failure["error"] = {
  code: "TOOL_FAILURE",
  name: "Late",
  message: "step 3 failed",
  detail: { _tag: "Late", step: 3 }
}

/** Whoever looks at a failure, as an exporter of spans does, has not handled it. */
const looked = (next: Wrapper.Next): Wrapper.Next =>
  Effect.onExit(next, (exit) =>
    Effect.sync(() => {
      if (Exit.isFailure(exit)) assert.isNotEmpty(Cause.pretty(exit.cause))
      assert.isNotEmpty(JSON.stringify(exit))
    }))

/** Wrappers that let a failure of the body through, whatever they would do with one in better times. */
const transparent: ReadonlyArray<readonly [what: string, wrappers: ReadonlyArray<Wrapper.Wrapper>]> = [
  ["without wrappers", []],
  ["inside one that delegates", [(next) => next]],
  ["inside `mapError`, which is skipped", [(next) => Effect.mapError(next, () => new Mapped())]],
  ["inside two of `mapError`", [
    (next) => Effect.mapError(next, () => new Mapped()),
    (next) => Effect.mapError(next, () => new Mapped())
  ]],
  ["inside `catch`, which is skipped", [(next) => Effect.catch(next, () => Effect.succeed("recovered"))]],
  ["inside `catchCause`, which is skipped", [(next) => Effect.catchCause(next, () => Effect.succeed("recovered"))]],
  ["inside `tapError`, which is skipped", [(next) => Effect.tapError(next, () => Effect.void)]],
  ["inside `exit`, which is skipped", [(next) => Effect.flatten(Effect.exit(next))]],
  ["inside `retry`, which is skipped", [(next) => Effect.retry(next, { times: 3 })]],
  ["inside a retry with a schedule", [(next) => Effect.retry(next, Schedule.spaced("1 second"))]],
  ["inside `ensuring`", [(next) => Effect.ensuring(next, Effect.void)]],
  ["inside a span", [(next) => Effect.withSpan(next, "span")]],
  ["inside a permit", [Semaphore.makeUnsafe(1).withPermit]],
  ["inside `Effect.timeout`", [(next) => Effect.timeout(next, "1 day")]],
  ["inside two of `Effect.timeout`", [
    (next) => Effect.timeout(next, "1 day"),
    (next) => Effect.timeout(next, "1 day")
  ]],
  ["inside `raceFirst`", [(next) => Effect.raceFirst(next, Effect.never)]],
  ["inside a deadline", [Wrapper.timeout]],
  ["inside a fork that is joined", [(next) => Effect.flatMap(Effect.forkChild(next), Fiber.join)]],
  ["inside one that looks at it", [looked]],
  ["inside `mapError` around one that looks at it", [(next) => Effect.mapError(looked(next), () => new Mapped())]],
  ["inside `Effect.timeout` around one that looks at it", [(next) => Effect.timeout(looked(next), "1 day")]],
  ["inside `mapError` around a region that insists", [
    (next) => Effect.mapError(Effect.uninterruptible(next), () => new Mapped())
  ]],
  ["inside `mapError` of a fork in a race", [
    (next) => Effect.raceFirst(Effect.mapError(next, () => new Mapped()), Effect.never)
  ]],
  ["inside a detached fork that is left behind", [
    (next) => Effect.flatMap(Effect.forkDetach(next), Fiber.join)
  ]],
  ["inside a promise wrapper that passes it on", [Wrapper.fromPromise((next, _, { signal }) => next(signal))]],
  ["inside a promise wrapper that says why it was stopped", [
    Wrapper.fromPromise((next, _, { signal }) => next(signal).catch(() => Promise.reject(signal.reason)))
  ]],
  ["inside a promise wrapper that left it behind", [
    Wrapper.fromPromise((next, _, { signal }) => {
      void next(signal)
      return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)))
    })
  ]],
  ["inside all of them", [
    (next) => Effect.mapError(next, () => new Mapped()),
    Semaphore.makeUnsafe(1).withPermit,
    (next) => Effect.retry(next, { times: 3 }),
    Wrapper.timeout,
    (next) => Effect.timeout(next, "1 day"),
    (next) => Effect.catch(next, () => Effect.succeed("recovered"))
  ]],
  ["inside `handling` that maps nothing", [
    (next) => Abortable.handling(next, (self) => Effect.tapError(self, () => Effect.void))
  ]]
]

const fallBack = () => Effect.succeed("recovered")

/** Wrappers whose handler runs also when the call is being cancelled. */
const recovering: ReadonlyArray<readonly [how: string, wrap: Wrapper.Wrapper]> = [
  ["by `handling` with `catch`", (next) => Abortable.handling(next, Effect.catch(fallBack))],
  ["by `handling` with `catchCause`", (next) => Abortable.handling(next, Effect.catchCause(fallBack))],
  [
    "by `handling` with `matchEffect`",
    (next) => Abortable.handling(next, Effect.matchEffect({ onFailure: fallBack, onSuccess: Effect.succeed }))
  ],
  [
    "by `handling` with `exit`",
    (next) => Abortable.handling(next, (self) => Effect.as(Effect.exit(self), "recovered"))
  ],
  ["by `catch` in a region that insists", (next) => Effect.uninterruptible(Effect.catch(next, fallBack))],
  ["by `catchCause` in one", (next) => Effect.uninterruptible(Effect.catchCause(next, fallBack))],
  [
    "by `matchCause` in one",
    (next) =>
      Effect.uninterruptible(Effect.matchCause(next, { onFailure: () => "recovered", onSuccess: (value) => value }))
  ],
  ["by `exit` in one", (next) => Effect.uninterruptible(Effect.as(Effect.exit(next), "recovered"))],
  ["inside `Effect.timeout`", (next) => Effect.timeout(Abortable.handling(next, Effect.catchCause(fallBack)), "1 day")],
  [
    "on a fiber that is joined",
    (next) => Effect.flatMap(Effect.forkChild(Abortable.handling(next, Effect.catchCause(fallBack))), Fiber.join)
  ],
  [
    "outside a deadline",
    (next) =>
      Effect.uninterruptible(
        Effect.catchCause(Deadline.within(next, { timeout: "1 day", code: "MINE" }), fallBack)
      )
  ],
  [
    "outside a cancellation of its own",
    (next) =>
      Effect.uninterruptible(Effect.catchCause(Wrapper.withCancel(next, new AbortController().signal), fallBack))
  ],
  [
    "by a promise wrapper",
    Wrapper.fromPromise(async (next, _, { signal }) => {
      try {
        return await next(signal)
      } catch {
        return "recovered"
      }
    })
  ]
]

/** Bodies that ignore their cancellation and then fail. */
const lateBodies = (gate: Gate.Gate<string>) => [
  effectTool("effect", () => gate.hold),
  effectTool("defect", () => Effect.uninterruptible(Effect.orDie(gate.wait as Effect.Effect<string, unknown>))),
  promiseTool("promise", gate.promise),
  effectTool("bridged", () => Abortable.promise(gate.promise))
]

describe("a failure that comes after the cancel", () => {
  describe.each(transparent)("of the body, %s", (_, wrappers) => {
    it.effect.each(["effect", "defect", "promise", "bridged"])(
      cites("stays the outcome, as it is: %s", "CALL-09"),
      (name) =>
        Effect.gen(function*() {
          for (const face of Faces.registryFaces) {
            const gate = Gate.make<string>()
            const host = yield* face.open({ tools: lateBodies(gate), wrappers })
            const call = yield* host.call(name)
            yield* gate.reached
            yield* call.cancel
            yield* gate.fail(new Late({ step: 3 }))
            const result = failureOf(yield* call.result)
            assert.deepStrictEqual(result.error, lateError, face.name)
            assert.isTrue(result.dispatched)
          }
        })
    )
  })

  describe.each(recovering)("of the body, recovered from %s", (_, wrap) => {
    it.effect.each(["effect", "promise", "bridged"])(
      cites("has been handled, and what is left is the cancellation: %s", "CALL-09"),
      (name) =>
        Effect.gen(function*() {
          for (
            const around of [
              [],
              [(next: Wrapper.Next) => Effect.mapError(next, () => new Mapped())],
              [(next: Wrapper.Next) => Effect.timeout(next, "1 day")]
            ]
          ) {
            const gate = Gate.make<string>()
            const host = yield* Faces.start.open({ tools: lateBodies(gate), wrappers: [...around, wrap] })
            const call = yield* host.call(name)
            yield* gate.reached
            yield* call.cancel
            yield* gate.fail(new Late({ step: 3 }))
            assertAborted(yield* call.result, "ABORTED", "Caller")
          }
        })
    )
  })

  it.effect.each([
    ["`mapError`", (next: Wrapper.Next) => Effect.mapError(next, () => new Mapped())],
    ["`Effect.timeout`", (next: Wrapper.Next) => Effect.timeout(next, "1 day")]
  ] as ReadonlyArray<readonly [string, Wrapper.Wrapper]>)(
    cites("that a deadline is to end with is that of the deadline, which came first, inside %s", "CALL-09", "TIME-02"),
    ([, around]) =>
      Effect.gen(function*() {
        const gate = Gate.make<string>()
        const wrap: Wrapper.Wrapper = (next, call) =>
          around(Deadline.within(next, { timeout: "1 second", code: "MINE" }) as Wrapper.Next, call)
        const host = yield* Faces.start.open({ tools: lateBodies(gate), wrappers: [wrap] })
        const call = yield* host.call("promise")
        yield* gate.reached
        yield* TestClock.adjust("1 second")
        yield* call.cancel
        yield* gate.open("too late")
        const { error } = failureOf(yield* call.result)
        assert.deepStrictEqual([error.code, error.detail], ["TOOL_TIMEOUT", { code: "MINE", timeoutMillis: 1000 }])
      })
  )

  it.effect(
    cites("that a fork handed to a handler outside of it stays: nothing tells that it was seen", "CALL-09"),
    () =>
      Effect.gen(function*() {
        const gate = Gate.make<string>()
        const wrap: Wrapper.Wrapper = (next) =>
          Effect.uninterruptible(
            Effect.catch(Effect.flatMap(Effect.forkChild(next), Fiber.join), () => Effect.succeed("recovered"))
          )
        const host = yield* Faces.start.open({ tools: lateBodies(gate), wrappers: [wrap] })
        const call = yield* host.call("effect")
        yield* gate.reached
        yield* call.cancel
        yield* gate.fail(new Late({ step: 3 }))
        assert.deepStrictEqual(failureOf(yield* call.result).error, lateError)
      })
  )

  it.effect(
    cites("a handler that ran and failed in its place is a wrapper's failure", "CALL-09"),
    () =>
      Effect.gen(function*() {
        const gate = Gate.make<string>()
        const wrap: Wrapper.Wrapper = (next) => Abortable.handling(next, Effect.mapError(() => new Mapped("mapped")))
        const host = yield* Faces.start.open({ tools: lateBodies(gate), wrappers: [wrap] })
        const call = yield* host.call("promise")
        yield* gate.reached
        yield* call.cancel
        yield* gate.fail(new Late({ step: 3 }))
        const { dispatched, error } = failureOf(yield* call.result)
        assert.deepStrictEqual([error.code, error.name, dispatched], ["WRAPPER_FAILURE", "Mapped", true])
      })
  )

  it.effect(cites("of the body's own clean-up is a failure of the body", "CALL-09"), () =>
    Effect.gen(function*() {
      const gate = Gate.make<string>()
      const tool = effectTool("tool", () => Effect.onInterrupt(gate.wait, () => Effect.die(new Late({ step: 3 }))))
      const host = yield* Faces.start.open({ tools: [tool] })
      const call = yield* host.call("tool")
      yield* gate.reached
      yield* call.cancel
      assert.deepStrictEqual(failureOf(yield* call.result).error, lateError)
    }))

  it.effect(
    cites("of the closing of the body's Scope is a failure of the body", "CALL-09"),
    () =>
      Effect.gen(function*() {
        const gate = Gate.make<string>()
        const tool = effectTool("tool", () =>
          Effect.andThen(
            Effect.addFinalizer(() => Effect.die(new Late({ step: 3 }))),
            gate.wait
          ) as Effect.Effect<string>)
        const host = yield* Faces.start.open({ tools: [tool] })
        const call = yield* host.call("tool")
        yield* gate.reached
        yield* call.cancel
        assert.deepStrictEqual(failureOf(yield* call.result).error, lateError)
      })
  )

  describe.each([
    ["without wrappers", []],
    ["inside `mapError`", [(next: Wrapper.Next) => Effect.mapError(next, () => new Mapped())]],
    ["inside `Effect.timeout`", [(next: Wrapper.Next) => Effect.timeout(next, "1 day")]]
  ] as ReadonlyArray<readonly [string, ReadonlyArray<Wrapper.Wrapper>]>)("of the journal, %s", (_, wrappers) => {
    it.effect(cites("is a wrapper's failure, and the body never starts", "CALL-09"), () =>
      Effect.gen(function*() {
        const gate = Gate.make()
        const parts = watched()
        const registry = yield* Faces.registry({ ...parts, wrappers })
        const call = yield* Effect.provideService(
          registry.start({ callId: "1", name: "tool", arguments: {} }),
          Journal.Current,
          { dispatching: () => gate.hold }
        )
        yield* gate.reached
        yield* call.cancel()
        yield* gate.fail(new Late({ step: 3 }))
        const { dispatched, error } = failureOf(yield* call.result)
        assert.deepStrictEqual([error.code, error.name, dispatched], ["WRAPPER_FAILURE", "Late", false])
        assert.notInclude(parts.ran, "body")
      }))
  })

  it.effect(
    cites("of a wrapper stays, before it delegated and after", "CALL-09", "CALL-11"),
    () =>
      Effect.gen(function*() {
        for (const face of Faces.registryFaces) {
          for (const delegated of [false, true]) {
            const gate = Gate.make()
            const wrap: Wrapper.Wrapper = (next) =>
              delegated ? Effect.andThen(next, Effect.as(gate.hold, "mine")) : Effect.andThen(gate.hold, next)
            const host = yield* face.open(watched({ wrap }))
            const call = yield* host.call("tool")
            yield* gate.reached
            yield* call.cancel
            yield* gate.fail(new Late({ step: 3 }))
            const { dispatched, error } = failureOf(yield* call.result)
            assert.deepStrictEqual(error, { ...lateError, code: "WRAPPER_FAILURE" })
            assert.strictEqual(dispatched, delegated)
          }
        }
      })
  )

  it.effect(
    cites("a denial that fails stays, one that is a value is replaced", "CALL-09"),
    () =>
      Effect.gen(function*() {
        for (const face of Faces.registryFaces) {
          for (
            const [then, code] of [
              [Policy.deny("late"), "DENIED"],
              [
                Effect.gen(function*() {
                  return yield* Policy.deny("late")
                }),
                "DENIED"
              ],
              [Effect.succeed(Policy.deny("late")), "ABORTED_BEFORE_DISPATCH"]
            ] as const
          ) {
            const gate = Gate.make()
            const parts = watched({ pre: () => Effect.uninterruptible(Effect.andThen(gate.wait, then)) })
            const host = yield* face.open(parts)
            const call = yield* host.call("tool")
            yield* gate.reached
            yield* call.cancel
            yield* gate.open()
            const result = failureOf(yield* call.result)
            assert.strictEqual(result.error.code, code)
            if (code === "DENIED") assert.deepStrictEqual(result.content, [{ type: "text", text: "Error: late" }])
            assert.deepStrictEqual(parts.ran, ["pre", "post", "finalizeContent", `publish ${code}`])
          }
        }
      })
  )

  it.effect(
    cites("a denial of a promise function stays, since it is rethrown in the bridge", "CALL-09"),
    () =>
      Effect.gen(function*() {
        for (const face of Faces.allFaces) {
          const gate = Gate.make()
          const host = yield* face.open({
            tools: [promiseTool("tool", () => 1)],
            policy: { pre: () => gate.promise().then(() => ({ deny: "late" })) }
          })
          const call = yield* host.call("tool")
          yield* gate.reached
          yield* call.cancel
          yield* gate.open()
          assert.deepStrictEqual(failureOf(yield* call.result).error, {
            code: "DENIED",
            name: "Denied",
            message: "late"
          })
        }
      })
  )

  it.effect(
    cites("of a policy, a channel or a wrapper of promise functions stays", "CALL-09"),
    () =>
      Effect.gen(function*() {
        for (const face of Faces.allFaces) {
          for (
            const [code, holding] of [
              ["POLICY_FAILURE", (wait: () => Promise<never>) => ({ policy: { pre: wait } })],
              ["DENIED", (wait: () => Promise<never>) => ({ policy: { pre: () => ({ ask: "?" }) }, approval: wait })],
              ["WRAPPER_FAILURE", (wait: () => Promise<never>) => ({ wrappers: [wait] })]
            ] as const
          ) {
            const gate = Gate.make<never>()
            const host = yield* face.open({ tools: [promiseTool("tool", () => 1)], ...holding(gate.promise) })
            const call = yield* host.call("tool")
            // The stage that waits has been entered when all there is to do has been done.
            yield* TestClock.adjust(0)
            yield* call.cancel
            yield* gate.fail(new Late({ step: 3 }))
            const { error } = failureOf(yield* call.result)
            assert.strictEqual(error.code, code, face.name)
            assert.include(error.message, "step 3 failed")
          }
        }
      })
  )

  it.effect(
    cites("of an approval channel denies, a rejection that is a value is replaced", "CALL-09"),
    () =>
      Effect.gen(function*() {
        for (const face of Faces.registryFaces) {
          for (const ending of ["rejects", "fails"] as const) {
            const gate = Gate.make()
            const host = yield* face.open(
              watched({ ask: () => Effect.as(gate.hold, { _tag: "Rejected", reason: "no" }) })
            )
            const call = yield* host.call("tool")
            yield* gate.reached
            yield* call.cancel
            yield* (ending === "rejects" ? gate.open() : gate.fail(new Late({ step: 3 })))
            const result = yield* call.result
            if (ending === "rejects") assertAborted(result, "ABORTED_BEFORE_DISPATCH", face.reason)
            else assert.deepStrictEqual(failureOf(result).error.code, "DENIED")
          }
        }
      })
  )
})

/** What a body's cause can be made of. `user` says whether somebody cancels the call, too. */
const reasons = {
  interrupt: Cause.makeInterruptReason(),
  fail: Cause.makeFailReason(new Late({ step: 3 })),
  die: Cause.makeDieReason(new Late({ step: 3 }))
}

const mixtures: ReadonlyArray<ReadonlyArray<keyof typeof reasons>> = [
  ["interrupt"],
  ["fail"],
  ["die"],
  ["interrupt", "fail"],
  ["fail", "interrupt"],
  ["interrupt", "die"],
  ["die", "interrupt"],
  ["interrupt", "fail", "interrupt"],
  ["interrupt", "interrupt"]
]

describe("a body that ends with a mixture of reasons", () => {
  it.effect.each(mixtures.map((mixture) => [mixture.join(" and "), mixture] as const))(
    cites("%s: a failure in it is the outcome, in whatever order, with and without a cancel", "CALL-09"),
    ([, mixture]) =>
      Effect.gen(function*() {
        const cause = Cause.fromReasons<unknown>(mixture.map((reason) => reasons[reason]))
        const failed = mixture.some((reason) => reason !== "interrupt")
        for (const cancelled of [false, true]) {
          const gate = Gate.make<string>()
          const host = yield* Faces.start.open({
            tools: [
              effectTool("tool", () => Effect.uninterruptible(Effect.andThen(gate.wait, Effect.failCause(cause))))
            ]
          })
          const call = yield* host.call("tool")
          if (cancelled) yield* call.cancel
          yield* gate.open("on")
          const result = yield* call.result
          if (failed) assert.deepStrictEqual(failureOf(result).error, lateError)
          else assertAborted(result, "ABORTED", cancelled ? "Caller" : "Interrupt")
        }
      })
  )

  it.effect(cites("whether its parts end one after the other or at once", "CALL-09"), () =>
    Effect.gen(function*() {
      for (const concurrency of [1, "unbounded"] as const) {
        for (
          const parts of [[Effect.interrupt, Effect.fail(new Late({ step: 3 }))], [
            Effect.fail(new Late({ step: 3 })),
            Effect.interrupt
          ]]
        ) {
          const body = Effect.map(
            Effect.all(parts.map((part) => Effect.exit(part)), { concurrency }),
            (exits) =>
              Cause.fromReasons<unknown>(exits.flatMap((exit) => Exit.isFailure(exit) ? exit.cause.reasons : []))
          )
          const host = yield* Faces.start.open({
            tools: [effectTool("tool", () => Effect.flatMap(body, Effect.failCause))]
          })
          assert.deepStrictEqual(failureOf(yield* (yield* host.call("tool")).result).error, lateError)
        }
      }
    }))
})

describe("what was decided before the cancel", () => {
  it.effect(
    cites("a failure of the body stays, also when the cancel finds a wrapper still cleaning up", "CALL-09"),
    () =>
      Effect.gen(function*() {
        for (const face of Faces.registryFaces) {
          const gate = Gate.make()
          const host = yield* face.open(watched({
            body: () => Effect.fail(new Late({ step: 3 })),
            wrap: (next) => Effect.ensuring(next, gate.wait)
          }))
          const call = yield* host.call("tool")
          yield* gate.reached
          yield* call.cancel
          yield* gate.open()
          assert.deepStrictEqual(failureOf(yield* call.result).error, lateError)
        }
      })
  )

  it.effect(
    cites(
      "a failure that a wrapper is handling when the cancel comes: it was taken, and nothing came of it",
      "CALL-09"
    ),
    () =>
      Effect.gen(function*() {
        const gate = Gate.make()
        const host = yield* Faces.start.open(watched({
          body: () => Effect.fail(new Late({ step: 3 })),
          wrap: (next) => Effect.catch(next, () => Effect.as(gate.wait, "recovered"))
        }))
        const call = yield* host.call("tool")
        yield* gate.reached
        yield* call.cancel
        assertAborted(yield* call.result, "ABORTED", "Caller")
      })
  )

  it.effect(
    cites("a cancel during the wait between two runs of a retry", "CALL-08", "CALL-09"),
    () =>
      Effect.gen(function*() {
        let runs = 0
        const host = yield* Faces.start.open(watched({
          body: () => Effect.suspend(() => Effect.fail(new Late({ step: ++runs }))),
          wrap: (next) => Effect.retry(next, Schedule.spaced("1 minute"))
        }))
        const call = yield* host.call("tool")
        yield* TestClock.adjust("90 seconds")
        assert.strictEqual(runs, 2)
        yield* call.cancel
        const result = yield* call.result
        yield* TestClock.adjust("1 hour")
        assert.strictEqual(runs, 2)
        assertAborted(result, "ABORTED", "Caller")
      })
  )
})

describe("a failure that a wrapper's own timeout dropped", () => {
  /** A body whose first run fails while it is being stopped, inside a wrapper that tries again. */
  const retried = (again: Effect.Effect<string>, backOff: Duration.Input) => {
    let runs = 0
    return {
      body: () => ++runs === 1 ? Effect.onInterrupt(Effect.never, () => Effect.die(new Late({ step: 3 }))) : again,
      wrap: (next: Wrapper.Next) => Effect.retry(Effect.timeout(next, "1 second"), Schedule.spaced(backOff))
    }
  }

  it.effect(
    cites("is over when the body runs again: a cancel then finds no failure", "CALL-08", "CALL-09"),
    () =>
      Effect.gen(function*() {
        const gate = Gate.make<string>()
        const host = yield* Faces.start.open(watched(retried(gate.wait, "1 second")))
        const call = yield* host.call("tool")
        yield* TestClock.adjust("2 seconds")
        assert.strictEqual(gate.counts.visits, 1)
        yield* call.cancel
        assertAborted(yield* call.result, "ABORTED", "Caller")
      })
  )

  it.effect(
    cites("is over when the call goes on: a cancel between two runs finds no failure", "CALL-08", "CALL-09"),
    () =>
      Effect.gen(function*() {
        const gate = Gate.make<string>()
        const host = yield* Faces.start.open(watched(retried(gate.wait, "1 minute")))
        const call = yield* host.call("tool")
        yield* TestClock.adjust("2 seconds")
        assert.strictEqual(gate.counts.visits, 0)
        yield* call.cancel
        assertAborted(yield* call.result, "ABORTED", "Caller")
      })
  )

  it.effect(
    cites("is over when the body runs again: so it is for a wrapper's own cancellation", "CALL-09", "CALL-13"),
    () =>
      Effect.gen(function*() {
        const gate = Gate.make<string>()
        const controller = new AbortController()
        const { body, wrap } = retried(gate.wait, "1 second")
        const host = yield* Faces.start.open(watched({
          body,
          wrap: (next) => Wrapper.withCancel(wrap(next) as Wrapper.Next, controller.signal)
        }))
        const call = yield* host.call("tool")
        yield* TestClock.adjust("2 seconds")
        assert.strictEqual(gate.counts.visits, 1)
        controller.abort()
        assertAborted(yield* call.result, "ABORTED", "Wrapper")
      })
  )
})

/** Ways in which a body says that it was aborted: `reason` is what the caller aborted with. */
const aborts: ReadonlyArray<readonly [what: string, make: (reason: unknown) => unknown]> = [
  ["the reason of its signal", (reason) => reason],
  ["an error named AbortError", () => Object.assign(new Error("x"), { name: "AbortError" })],
  ["an error coded ABORT_ERR", () => Object.assign(new Error("x"), { code: "ABORT_ERR" })],
  ["a DOMException of its own", () => new DOMException("x", "AbortError")],
  ["an error caused by the reason", (reason) => new Error("x", { cause: new Error("y", { cause: reason }) })],
  ["an error caused by an AbortError", () => new Error("x", { cause: new DOMException("y", "AbortError") })]
]

describe("the body's own abort is no failure", () => {
  it.effect.each(aborts)(cites("a body that rejects with %s", "CALL-09"), ([, make]) =>
    Effect.gen(function*() {
      for (const reason of [new Error("user"), "user", { user: true }]) {
        for (const wrappers of [[], [(next: Wrapper.Next) => Effect.mapError(next, () => new Mapped())]]) {
          const tool = promiseTool("tool", (_, { signal }) =>
            new Promise((_, reject) =>
              signal.addEventListener("abort", () => reject(make(signal.reason)))
            ))
          const registry = yield* Faces.registry({ tools: [tool], wrappers })
          const controller = new AbortController()
          const result = registry.executePromise({
            callId: "1",
            name: "tool",
            arguments: {},
            signal: controller.signal
          })
          controller.abort(reason)
          assertAborted(yield* Effect.promise(() => result), "ABORTED", "Caller")
        }
      }
    }))

  it.effect.each(aborts)(cites("without a cancel it is one: %s", "CALL-09"), ([, make]) =>
    Effect.gen(function*() {
      for (const face of Faces.allFaces) {
        const thrown = make(new Error("own"))
        const host = yield* face.open({
          tools: [
            promiseTool("rejects", () => Promise.reject(thrown)),
            promiseTool("throws", () => {
              throw thrown
            }),
            effectTool("fails", () => Effect.fail(thrown)),
            effectTool("dies", () => Effect.die(thrown))
          ]
        })
        for (const name of ["rejects", "throws", "fails", "dies"]) {
          assert.strictEqual(codeOf(yield* (yield* host.call(name)).result), "TOOL_FAILURE")
        }
      }
    }))

  it.effect(
    cites("a body that fails for another reason after it heard of the cancel", "CALL-09"),
    () =>
      Effect.gen(function*() {
        const tool = promiseTool("tool", (_, { signal }) =>
          new Promise((_, reject) =>
            signal.addEventListener("abort", () => reject(new Late({ step: 3 })))
          ))
        for (const face of Faces.allFaces) {
          const host = yield* face.open({ tools: [tool] })
          const call = yield* host.call("tool")
          yield* call.cancel
          assert.deepStrictEqual(failureOf(yield* call.result).error, lateError)
        }
      })
  )
})

describe("a body that cancels its own call", () => {
  const scenarios: ReadonlyArray<
    readonly [what: string, end: (call: ToolCall.Running) => Promise<Json> | Json, code: string]
  > = [
    ["and returns", () => "done", "ABORTED"],
    ["and resolves", () => Promise.resolve("done"), "ABORTED"],
    ["and throws", () => {
      throw new Late({ step: 3 })
    }, "TOOL_FAILURE"],
    ["and rejects", () => Promise.reject(new Late({ step: 3 })), "TOOL_FAILURE"],
    ["and throws its signal's reason", (call) => {
      throw call.signal.reason
    }, "ABORTED"],
    ["and looks at its signal only then", (call) => call.signal.aborted, "ABORTED"]
  ]
  it.effect.each(scenarios)(
    cites("synchronously %s", "CALL-08", "CALL-09", "CALL-11"),
    ([what, end, code]) =>
      Effect.gen(function*() {
        for (const face of Faces.allFaces) {
          // A fiber that is interrupted by what it runs takes note of it when that returns: no signal has aborted before.
          if (face.name === "execute" && what === "and throws its signal's reason") continue
          for (const kind of ["promise", "effect"] as const) {
            let cancel = () => {}
            const tool = kind === "promise"
              ? promiseTool("tool", (_, call) => {
                cancel()
                return end(call)
              })
              : effectTool("tool", (_, call) =>
                Effect.uninterruptible(Effect.suspend(() => {
                  cancel()
                  return Abortable.promise(() => end(call))
                })))
            const host = yield* face.open({ tools: [tool] })
            cancel = host.cancelLatest
            const result = yield* (yield* host.call("tool")).result
            if (code === "ABORTED") assertAborted(result, code, face.reason)
            else assert.deepStrictEqual(failureOf(result).error, lateError)
            assert.isTrue(result.dispatched)
          }
        }
      })
  )
})

describe("post-policy", () => {
  const reviews: ReadonlyArray<readonly [what: string, review: Policy.Review, code: string]> = [
    ["accepts", Policy.accept({ contexts: ["post"] }), "ABORTED"],
    ["replaces the content", Policy.accept({ content: [{ type: "text", text: "x" }], contexts: ["post"] }), "ABORTED"],
    ["replaces the value", Policy.accept({ value: "other", contexts: ["post"] }), "ABORTED"],
    ["blocks", Policy.block("withheld", { contexts: ["post"] }), "BLOCKED"]
  ]

  it.effect.each(reviews)(
    cites("one that %s after the cancel replaces only a success", "CALL-09", "CALL-10"),
    ([, review, code]) =>
      Effect.gen(function*() {
        for (const face of Faces.registryFaces) {
          const gate = Gate.make()
          const parts = watched({ post: () => Effect.as(gate.wait, review) })
          const host = yield* face.open(parts)
          const call = yield* host.call("tool")
          yield* gate.reached
          yield* call.cancel
          yield* TestClock.adjust("1 hour")
          assert.isFalse(call.isOver())
          assert.strictEqual(gate.counts.interruptions, 0, "it is never cut short")
          yield* gate.open()
          const result = yield* call.result
          if (code === "ABORTED") assertAborted(result, code, face.reason)
          else {
            assert.deepStrictEqual(failureOf(result).error, { code: "BLOCKED", name: "Blocked", message: "withheld" })
          }
          assert.deepStrictEqual(result.contexts, ["post"])
          assert.deepStrictEqual(parts.ran, [
            "pre",
            "approval",
            "wrapper",
            "body",
            "post",
            "finalizeContent",
            `publish ${code}`
          ])
        }
      })
  )

  it.effect(cites("one of promise functions is never cut short either", "CALL-10"), () =>
    Effect.gen(function*() {
      for (const face of Faces.allFaces) {
        const gate = Gate.make()
        const seen: Array<unknown> = []
        const host = yield* face.open({
          tools: [promiseTool("tool", () => "done")],
          policy: {
            post: async (call) => {
              seen.push(ToolCall.cancelReason(call)?._tag)
              await gate.promise()
              seen.push(ToolCall.cancelReason(call)?._tag)
              return Policy.accept()
            }
          }
        })
        const call = yield* host.call("tool")
        yield* gate.reached
        yield* call.cancel
        yield* TestClock.adjust("1 hour")
        assert.isFalse(call.isOver())
        yield* gate.open()
        assertAborted(yield* call.result, "ABORTED", face.reason)
        assert.deepStrictEqual(seen, [undefined, face.reason], "it sees the cancellation through the call")
      }
    }))

  it.effect.each(
    [
      ["a denial", { pre: () => Effect.succeed(Policy.deny("no")) }, "DENIED"],
      ["a tool failure", { body: () => Effect.fail(new Late({ step: 3 })) }, "TOOL_FAILURE"],
      ["an invalid output", { body: () => Effect.succeed(undefined as never) }, "INVALID_OUTPUT"],
      ["a refusal", { ask: () => Effect.succeed({ _tag: "Rejected" as const }) }, "DENIED"]
    ] as const
  )(
    cites("a cancel while it waits leaves a failure alone: %s", "CALL-10"),
    ([, stages, code]) =>
      Effect.gen(function*() {
        for (const face of Faces.registryFaces) {
          const gate = Gate.make()
          const host = yield* face.open(watched({ ...stages, post: () => Effect.as(gate.wait, Policy.accept()) }))
          const call = yield* host.call("tool")
          yield* gate.reached
          yield* call.cancel
          yield* gate.open()
          assert.strictEqual(codeOf(yield* call.result), code)
        }
      })
  )

  it.effect(cites("it may opt in to interruption, and is then interrupted", "CALL-10"), () =>
    Effect.gen(function*() {
      for (const [body, code] of [[Effect.succeed("done"), "ABORTED"], [Effect.fail("x"), "TOOL_FAILURE"]] as const) {
        const gate = Gate.make()
        const host = yield* Faces.start.open(watched({
          body: () => body,
          post: () => Effect.as(Effect.interruptible(gate.wait), Policy.accept())
        }))
        const call = yield* host.call("tool")
        yield* gate.reached
        yield* call.cancel
        const result = yield* call.result
        assert.strictEqual(gate.counts.interruptions, 1)
        assert.strictEqual(codeOf(result), code)
      }
    }))

  it.effect(cites("it may look at the cancellation and decide by it", "CALL-10"), () =>
    Effect.gen(function*() {
      const gate = Gate.make()
      const host = yield* Faces.start.open(watched({
        post: (call) =>
          Effect.map(gate.wait, () =>
            ToolCall.cancelReason(call) === undefined ? Policy.accept() : Policy.block("cancelled in between"))
      }))
      const call = yield* host.call("tool")
      yield* gate.reached
      yield* call.cancel
      yield* gate.open()
      assert.strictEqual(failureOf(yield* call.result).error.message, "cancelled in between")
    }))

  it.effect(
    cites("a cancel counts until it returns: in its last step it does, in finalizeContent it does not", "CALL-10"),
    () =>
      Effect.gen(function*() {
        for (const face of Faces.registryFaces) {
          for (const stage of ["post", "finalizeContent"] as const) {
            let cancel = () => {}
            const gate = Gate.make()
            const host = yield* face.open(watched(
              stage === "post"
                ? { post: () => Effect.map(gate.wait, () => (cancel(), Policy.accept())) }
                : { post: () => Effect.as(gate.wait, Policy.accept()), finalizeContent: () => (cancel(), undefined) }
            ))
            cancel = host.cancelLatest
            const call = yield* host.call("tool")
            yield* gate.reached
            yield* gate.open()
            const result = yield* call.result
            if (stage === "post") assertAborted(result, "ABORTED", face.reason)
            else assert.strictEqual(valueOf(result), "done")
          }
        }
      })
  )

  it.effect(
    cites("one that throws after the cancel is the call's failure", "CALL-09", "CALL-21"),
    () =>
      Effect.gen(function*() {
        const gate = Gate.make<Policy.Review>()
        const host = yield* Faces.start.open(watched({ post: () => gate.wait }))
        const call = yield* host.call("tool")
        yield* gate.reached
        yield* call.cancel
        yield* gate.fail(new Late({ step: 3 }))
        assert.strictEqual(codeOf(yield* call.result), "POLICY_FAILURE")
      })
  )
})
