import { assert, describe, it } from "@effect/vitest"
import { Journal, type Json, Policy, type ToolCall } from "@quiesce/core"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { cites } from "../../../tests/conformance/cites.ts"
import * as Faces from "./support/faces.ts"
import * as Gate from "./support/Gate.ts"
import { promiseTool } from "./support/registry.ts"
import { assertAborted } from "./support/results.ts"
import { type Stages, watched } from "./support/watched.ts"

/** Puts `effect` where a stage waits; `then` is what the stage answers after it. */
const stages: ReadonlyArray<{
  readonly stage: string
  readonly holding: (effect: Effect.Effect<void>) => Stages
  /** What was begun when that stage is the last that was. */
  readonly begun: ReadonlyArray<string>
}> = [
  { stage: "pre-policy", holding: (effect) => ({ pre: () => Effect.as(effect, Policy.allow) }), begun: ["pre"] },
  {
    stage: "approval",
    holding: (effect) => ({ ask: () => Effect.as(effect, { _tag: "AllowedOnce" }) }),
    begun: ["pre", "approval"]
  },
  {
    stage: "a wrapper, before it delegates",
    holding: (effect) => ({ wrap: (next) => Effect.andThen(effect, next) }),
    begun: ["pre", "approval", "wrapper"]
  },
  {
    stage: "a wrapper that answers itself",
    holding: (effect) => ({ wrap: () => Effect.as(effect, "made up") }),
    begun: ["pre", "approval", "wrapper"]
  }
]

const reviewed = ["post", "finalizeContent", "publish ABORTED_BEFORE_DISPATCH"]

describe.each(Faces.registryFaces)("$name", (face) => {
  describe.each(stages)("cancelled in $stage", ({ begun, holding }) => {
    it.effect(
      cites("the stage is interrupted at once and the body never starts", "CALL-05", "CALL-06"),
      () =>
        Effect.gen(function*() {
          const gate = Gate.make()
          const parts = watched(holding(gate.wait))
          const host = yield* face.open(parts)
          const call = yield* host.call("tool")
          yield* gate.reached
          assert.deepStrictEqual(parts.ran, begun)
          yield* call.cancel
          const result = yield* call.result
          assert.strictEqual(gate.counts.interruptions, 1)
          assert.deepStrictEqual(parts.ran, [...begun, ...reviewed])
          assertAborted(result, "ABORTED_BEFORE_DISPATCH", face.reason)
        })
    )

    it.effect(cites("the stage's own clean-up is awaited", "CALL-06"), () =>
      Effect.gen(function*() {
        const waiting = Gate.make()
        const cleaning = Gate.make()
        const parts = watched(holding(Effect.onInterrupt(waiting.wait, () => cleaning.wait)))
        const host = yield* face.open(parts)
        const call = yield* host.call("tool")
        yield* call.cancel
        yield* cleaning.reached
        yield* TestClock.adjust("1 hour")
        assert.isFalse(call.isOver())
        assert.deepStrictEqual((yield* host.inFlight).map(({ cancelling }) => cancelling?._tag), [face.reason])
        yield* cleaning.open()
        assertAborted(yield* call.result, "ABORTED_BEFORE_DISPATCH", face.reason)
      }))

    it.effect(
      cites("a stage that goes on and lets the call through changes nothing", "CALL-05"),
      () =>
        Effect.gen(function*() {
          const gate = Gate.make()
          const parts = watched(holding(gate.hold))
          const host = yield* face.open(parts)
          const call = yield* host.call("tool")
          yield* call.cancel
          assert.isFalse(call.isOver())
          yield* gate.open()
          assertAborted(yield* call.result, "ABORTED_BEFORE_DISPATCH", face.reason)
          assert.deepStrictEqual(parts.ran, [...begun, ...reviewed])
        })
    )

    it.effect(
      cites("a stage that cancels the call itself, synchronously, and lets it through", "CALL-05"),
      () =>
        Effect.gen(function*() {
          let cancel = () => {}
          const parts = watched(holding(Effect.sync(() => cancel())))
          const host = yield* face.open(parts)
          cancel = host.cancelLatest
          const call = yield* host.call("tool")
          assertAborted(yield* call.result, "ABORTED_BEFORE_DISPATCH", face.reason)
          assert.notInclude(parts.ran, "body")
        })
    )

    it.effect(
      cites("a stage that cancels the call where nothing can interrupt it, and lets it through", "CALL-05"),
      () =>
        Effect.gen(function*() {
          let cancel = () => {}
          const parts = watched(holding(Effect.uninterruptible(Effect.sync(() => cancel()))))
          const host = yield* face.open(parts)
          cancel = host.cancelLatest
          const call = yield* host.call("tool")
          assertAborted(yield* call.result, "ABORTED_BEFORE_DISPATCH", face.reason)
          assert.notInclude(parts.ran, "body")
        })
    )
  })

  it.effect(
    cites("a wrapper that cancels the call in the very step in which it delegates", "CALL-05"),
    () =>
      Effect.gen(function*() {
        let cancel = () => {}
        const parts = watched({
          wrap: (next) =>
            Effect.suspend(() => {
              cancel()
              return next
            })
        })
        const host = yield* face.open(parts)
        cancel = host.cancelLatest
        assertAborted(yield* (yield* host.call("tool")).result, "ABORTED_BEFORE_DISPATCH", face.reason)
        assert.notInclude(parts.ran, "body")
      })
  )

  it.effect(
    cites("a wrapper that cancels the call and delegates where nothing can interrupt it", "CALL-05", "CALL-12"),
    () =>
      Effect.gen(function*() {
        let cancel = () => {}
        const parts = watched({
          wrap: (next) => Effect.uninterruptible(Effect.andThen(Effect.sync(() => cancel()), next))
        })
        const host = yield* face.open(parts)
        cancel = host.cancelLatest
        assertAborted(yield* (yield* host.call("tool")).result, "ABORTED_BEFORE_DISPATCH", face.reason)
        assert.notInclude(parts.ran, "body")
      })
  )

  it.effect(
    cites("a wrapper that cancels the call as it is made does not get to delegate", "CALL-05"),
    () =>
      Effect.gen(function*() {
        let cancel = () => {}
        const parts = watched({
          wrap: (next) => {
            cancel()
            return next
          }
        })
        const host = yield* face.open(parts)
        cancel = host.cancelLatest
        assertAborted(yield* (yield* host.call("tool")).result, "ABORTED_BEFORE_DISPATCH", face.reason)
        assert.notInclude(parts.ran, "body")
      })
  )

  it.effect(
    cites("a policy that cancels the call as it is asked is not followed by any other stage", "CALL-05"),
    () =>
      Effect.gen(function*() {
        let cancel = () => {}
        const parts = watched({
          pre: () => {
            cancel()
            return Effect.succeed(Policy.ask())
          }
        })
        const host = yield* face.open(parts)
        cancel = host.cancelLatest
        assertAborted(yield* (yield* host.call("tool")).result, "ABORTED_BEFORE_DISPATCH", face.reason)
        assert.deepStrictEqual(parts.ran, ["pre", ...reviewed])
      })
  )

  it.effect(
    cites("of three calls that ask, cancelled at the first question, one question was put", "CALL-05"),
    () =>
      Effect.gen(function*() {
        const gate = Gate.make()
        const parts = watched({ ask: () => Effect.as(gate.wait, { _tag: "AllowedOnce" }) })
        const host = yield* face.open(parts)
        const first = yield* host.call("tool")
        yield* gate.reached
        yield* host.close
        const calls = [first, yield* host.call("tool"), yield* host.call("tool")]
        for (const call of calls) assertAborted(yield* call.result, "ABORTED_BEFORE_DISPATCH", "Shutdown")
        assert.strictEqual(parts.ran.filter((stage) => stage === "approval").length, 1)
        assert.notInclude(parts.ran, "body")
      })
  )
})

const promiseStages: ReadonlyArray<{
  readonly stage: string
  readonly holding: (wait: (signal: AbortSignal) => Promise<void>) => Omit<
    Parameters<(typeof Faces.toolbox)["open"]>[0],
    "tools"
  >
}> = [
  {
    stage: "pre-policy",
    holding: (wait) => ({ policy: { pre: (_, signal) => wait(signal).then(() => "allow" as const) } })
  },
  {
    stage: "approval",
    holding: (wait) => ({
      policy: { pre: () => ({ ask: "?" }) },
      approval: (_, signal) => wait(signal).then(() => "allow" as const)
    })
  },
  {
    stage: "a wrapper, before it delegates",
    holding: (wait) => ({ wrappers: [(next, _, { signal }) => wait(signal).then(() => next(signal))] })
  },
  {
    stage: "a wrapper that answers itself",
    holding: (wait) => ({ wrappers: [(_next, _, { signal }) => wait(signal).then((): Json => "made up")] })
  }
]

describe.each(Faces.allFaces)("$name, of promise functions", (face) => {
  describe.each(promiseStages)("cancelled in $stage", ({ holding }) => {
    const open = Effect.fnUntraced(function*(wait: (signal: AbortSignal) => Promise<void>) {
      let bodies = 0
      const host = yield* face.open({ tools: [promiseTool("tool", () => ++bodies)], ...holding(wait) })
      return { host, bodies: () => bodies }
    })

    it.effect(
      cites("the signal of the stage aborts, and the call is over when its promise has settled", "CALL-06"),
      () =>
        Effect.gen(function*() {
          const gate = Gate.make()
          let signal: AbortSignal | undefined
          const { bodies, host } = yield* open((given) => {
            signal = given
            return gate.promise()
          })
          const call = yield* host.call("tool")
          yield* gate.reached
          assert.isFalse(signal!.aborted)
          yield* call.cancel
          assert.isTrue(signal!.aborted, "at once")
          yield* TestClock.adjust("1 hour")
          assert.isFalse(call.isOver())
          yield* gate.open()
          assertAborted(yield* call.result, "ABORTED_BEFORE_DISPATCH", face.reason)
          assert.strictEqual(bodies(), 0)
        })
    )

    it.effect(
      cites("a stage that rejects with its signal's reason was cancelled, and did not fail", "CALL-05", "CALL-09"),
      () =>
        Effect.gen(function*() {
          const { host } = yield* open((signal) =>
            new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)))
          )
          const call = yield* host.call("tool")
          yield* call.cancel
          assertAborted(yield* call.result, "ABORTED_BEFORE_DISPATCH", face.reason)
        })
    )

    it.effect(
      cites("a stage that cancels the call itself, synchronously, and lets it through", "CALL-05"),
      () =>
        Effect.gen(function*() {
          let cancel = () => {}
          const { bodies, host } = yield* open(() => {
            cancel()
            return Promise.resolve()
          })
          cancel = host.cancelLatest
          assertAborted(yield* (yield* host.call("tool")).result, "ABORTED_BEFORE_DISPATCH", face.reason)
          assert.strictEqual(bodies(), 0)
        })
    )
  })
})

describe("the journal", () => {
  it.effect(
    cites("a call that is cancelled while its mark is written never starts its body", "CALL-05", "CALL-34"),
    () =>
      Effect.gen(function*() {
        for (const write of ["wait", "hold"] as const) {
          const gate = Gate.make()
          const parts = watched()
          const registry = yield* Faces.registry(parts)
          const call = yield* Effect.provideService(
            registry.start({ callId: "1", name: "tool", arguments: {} }),
            Journal.Current,
            { dispatching: () => gate[write] }
          )
          yield* gate.reached
          yield* call.cancel()
          yield* gate.open()
          assertAborted(yield* call.result, "ABORTED_BEFORE_DISPATCH", "Caller")
          assert.notInclude(parts.ran, "body")
        }
      })
  )

  it.effect(cites("a mark that cancels the call it is written for", "CALL-05"), () =>
    Effect.gen(function*() {
      const parts = watched()
      const registry = yield* Faces.registry(parts)
      const dispatching = (call: ToolCall.Pending) => Effect.asVoid(registry.cancel(call.token))
      const result = yield* Effect.provideService(
        registry.execute({ callId: "1", name: "tool", arguments: {} }),
        Journal.Current,
        { dispatching }
      )
      assertAborted(result, "ABORTED_BEFORE_DISPATCH", "Caller")
      assert.notInclude(parts.ran, "body")
    }))
})
