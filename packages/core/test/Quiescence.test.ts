import { assert, describe, it } from "@effect/vitest"
import { Approval, type Json, Policy, type Tool, type ToolCall, type Wrapper } from "@quiesce/core"
import { Effect, Exit } from "effect"
import { TestClock } from "effect/testing"
import { cites } from "../../../tests/conformance/cites.ts"
import * as Faces from "./support/faces.ts"
import * as Gate from "./support/Gate.ts"
import { effectTool, promiseTool } from "./support/registry.ts"
import { assertAborted, codeOf, failureOf, valueOf } from "./support/results.ts"
import { type Stages, watched } from "./support/watched.ts"

/** One body in both ways to write it. */
const bodies: ReadonlyArray<{
  readonly body: string
  readonly make: (
    name: string,
    body: {
      readonly effect: (call: ToolCall.Running) => Effect.Effect<Json>
      readonly promise: (call: ToolCall.Running) => Promise<Json>
    }
  ) => Tool.AnyNoServices
}> = [
  { body: "an effect", make: (name, { effect }) => effectTool(name, (_, call) => effect(call)) },
  { body: "a promise function", make: (name, { promise }) => promiseTool(name, (_, call) => promise(call)) }
]

describe.each(Faces.allFaces)("$name", (face) => {
  describe.each(bodies)("a body that is $body", ({ make }) => {
    it.effect(
      cites("is awaited, however long it ignores that it was cancelled", "CALL-07", "CALL-08", "CALL-11"),
      () =>
        Effect.gen(function*() {
          const gate = Gate.make<string>()
          const tool = make("tool", { effect: () => gate.hold, promise: gate.promise })
          const host = yield* face.open({ tools: [tool] })
          const call = yield* host.call("tool")
          yield* gate.reached
          yield* call.cancel
          yield* TestClock.adjust("1 day")
          assert.isFalse(call.isOver())
          assert.deepStrictEqual(host.published, [])
          yield* gate.open("too late")
          assertAborted(yield* call.result, "ABORTED", face.reason)
        })
    )

    it.effect(
      cites("hears of the cancel at once, and may clean up as long as it likes", "CALL-07"),
      () =>
        Effect.gen(function*() {
          const waiting = Gate.make()
          const cleaning = Gate.make()
          let told = false
          const tool = make("tool", {
            effect: () =>
              Effect.as(
                Effect.onInterrupt(waiting.wait, () =>
                  Effect.suspend(() => {
                    told = true
                    return cleaning.wait
                  })),
                null
              ),
            promise: (call) =>
              new Promise((_, reject) =>
                call.signal.addEventListener("abort", () => {
                  told = true
                  void cleaning.promise().then(() => reject(call.signal.reason))
                })
              )
          })
          const host = yield* face.open({ tools: [tool] })
          const call = yield* host.call("tool")
          yield* Effect.yieldNow
          assert.isFalse(told)
          yield* call.cancel
          assert.isTrue(told)
          yield* TestClock.adjust("1 day")
          assert.isFalse(call.isOver())
          yield* cleaning.open()
          assertAborted(yield* call.result, "ABORTED", face.reason)
        })
    )

    it.effect(
      cites("cancelled after it was invoked: its value is dropped, its contexts stay", "CALL-08"),
      () =>
        Effect.gen(function*() {
          const gate = Gate.make<string>()
          const deferring = (call: ToolCall.Running) => {
            call.deferContext("before")
            return (value: string) => {
              call.deferContext({ at: "the end" })
              call.concludeTurn()
              return value
            }
          }
          const tool = make("tool", {
            effect: (call) => Effect.uninterruptible(Effect.map(gate.wait, deferring(call))),
            promise: (call) => gate.promise().then(deferring(call))
          })
          const host = yield* face.open({ tools: [tool] })
          const call = yield* host.call("tool")
          yield* gate.reached
          yield* call.cancel
          yield* gate.open("secret")
          const result = yield* call.result
          assertAborted(result, "ABORTED", face.reason)
          assert.deepStrictEqual(result.contexts, ["before", { at: "the end" }])
          assert.notInclude(JSON.stringify(result), "secret")
          assert.notProperty(result, "value")
          assert.notProperty(result, "concludesTurn")
        })
    )

    it.effect(
      cites("cancelled only once its call is over: nothing happens, its signal stays as it was", "CALL-08"),
      () =>
        Effect.gen(function*() {
          let signal: AbortSignal | undefined
          const seeing = (call: ToolCall.Running) => {
            signal = call.signal
            return "done"
          }
          const tool = make("tool", {
            effect: (call) => Effect.sync(() => seeing(call)),
            promise: async (call) => seeing(call)
          })
          const host = yield* face.open({ tools: [tool] })
          const call = yield* host.call("tool")
          const result = yield* call.result
          yield* call.cancel
          yield* TestClock.adjust("1 day")
          assert.strictEqual(valueOf(result), "done")
          assert.isFalse(signal!.aborted)
          assert.deepStrictEqual(host.published, [result])
        })
    )
  })

  it.effect(
    cites("a cancelled body that polls its signal leaves no mark on the world afterwards", "CALL-07"),
    () =>
      Effect.gen(function*() {
        const [first, second] = [Gate.make(), Gate.make()]
        const marks: Array<string> = []
        const tool = promiseTool("tool", async (_, call) => {
          await first.promise()
          if (call.signal.aborted) throw call.signal.reason
          marks.push("after the first step")
          await second.promise()
          return null
        })
        const host = yield* face.open({ tools: [tool] })
        const call = yield* host.call("tool")
        yield* first.reached
        yield* call.cancel
        yield* first.open()
        assertAborted(yield* call.result, "ABORTED", face.reason)
        assert.deepStrictEqual(marks, [])
      })
  )
})

/** What the wrapper's body did, and what `next` is when it is run. */
const scopes = Effect.fnUntraced(function*(wrapper?: Wrapper.Wrapper) {
  const log: Array<string> = []
  const gate = Gate.make<Json>()
  const closing = Gate.make()
  const tool = effectTool("tool", () =>
    Effect.gen(function*() {
      log.push("run")
      yield* Effect.addFinalizer((exit) =>
        Effect.suspend(() => {
          log.push(`closing after ${Exit.isSuccess(exit) ? "success" : "failure"}`)
          return Effect.andThen(closing.wait, Effect.sync(() => void log.push("closed")))
        })
      )
      return yield* gate.wait
    }).pipe((effect) => effect as Effect.Effect<Json>))
  const host = yield* Faces.start.open({ tools: [tool], wrappers: wrapper === undefined ? [] : [wrapper] })
  return { closing, gate, host, log }
})

describe("the Scope of a body", () => {
  it.effect(
    cites("a body's Scope closes before its call is over, after a success", "CALL-07"),
    () =>
      Effect.gen(function*() {
        const { closing, gate, host, log } = yield* scopes()
        const call = yield* host.call("tool")
        yield* gate.open("done")
        yield* closing.reached
        yield* TestClock.adjust("1 hour")
        assert.isFalse(call.isOver())
        yield* closing.open()
        assert.strictEqual(valueOf(yield* call.result), "done")
        assert.deepStrictEqual(log, ["run", "closing after success", "closed"])
      })
  )

  it.effect(
    cites("a body's Scope closes before its call is over, after a cancel", "CALL-07"),
    () =>
      Effect.gen(function*() {
        const { closing, gate, host, log } = yield* scopes()
        const call = yield* host.call("tool")
        yield* gate.reached
        yield* call.cancel
        yield* closing.reached
        yield* TestClock.adjust("1 hour")
        assert.isFalse(call.isOver())
        yield* closing.open()
        assertAborted(yield* call.result, "ABORTED", "Caller")
        assert.deepStrictEqual(log, ["run", "closing after failure", "closed"])
      })
  )

  it.effect(
    cites("a cancel that comes while the Scope closes turns the success into ABORTED", "CALL-07", "CALL-08"),
    () =>
      Effect.gen(function*() {
        const { closing, gate, host } = yield* scopes()
        const call = yield* host.call("tool")
        yield* gate.open("done")
        yield* closing.reached
        yield* call.cancel
        assert.isFalse(call.isOver())
        yield* closing.open()
        assertAborted(yield* call.result, "ABORTED", "Caller")
      })
  )

  it.effect(cites("each run of a body has a Scope of its own", "CALL-07"), () =>
    Effect.gen(function*() {
      const { closing, gate, host, log } = yield* scopes((next) => Effect.andThen(next, next))
      yield* gate.open("done")
      yield* closing.open()
      const call = yield* host.call("tool")
      assert.strictEqual(valueOf(yield* call.result), "done")
      assert.deepStrictEqual(log, ["run", "closing after success", "closed", "run", "closing after success", "closed"])
    }))
})

/** Wrappers that settle while the `next` they started still runs. */
const leavers: ReadonlyArray<{ readonly wrapper: string; readonly wrap: Wrapper.Wrapper; readonly code: string }> = [
  {
    wrapper: "detaches it and answers itself",
    wrap: (next) => Effect.as(Effect.forkDetach(next, { startImmediately: true }), "mine"),
    code: "Success"
  },
  {
    wrapper: "detaches it where nothing can interrupt it, and answers itself",
    wrap: (next) => Effect.as(Effect.forkDetach(Effect.uninterruptible(next), { startImmediately: true }), "mine"),
    code: "Success"
  },
  {
    wrapper: "detaches it and fails",
    wrap: (next) => Effect.andThen(Effect.forkDetach(next, { startImmediately: true }), Effect.fail("mine")),
    code: "WRAPPER_FAILURE"
  },
  {
    wrapper: "forks it as a child and answers itself",
    wrap: (next) => Effect.as(Effect.forkChild(next, { startImmediately: true }), "mine"),
    code: "Success"
  }
]

describe.each(leavers)("a wrapper that $wrapper", ({ code, wrap }) => {
  it.effect(
    cites("the run is interrupted and awaited, then the wrapper's outcome stands", "CALL-07"),
    () =>
      Effect.gen(function*() {
        const waiting = Gate.make<string>()
        const cleaning = Gate.make()
        const tool = effectTool("tool", () => Effect.onInterrupt(waiting.wait, () => cleaning.wait))
        let isLeft = false
        const around: Wrapper.Wrapper = (next) => Effect.onExit(next, () => Effect.sync(() => isLeft = true))
        const host = yield* Faces.start.open({ tools: [tool], wrappers: [around, wrap] })
        const call = yield* host.call("tool")
        yield* cleaning.reached
        yield* TestClock.adjust("1 hour")
        assert.isFalse(call.isOver())
        assert.isFalse(isLeft, "the wrapper around it went on")
        yield* cleaning.open()
        const result = yield* call.result
        assert.strictEqual(codeOf(result), code)
        assert.isTrue(result.dispatched)
        if (code === "Success") assert.strictEqual(valueOf(result), "mine")
        else {assert.deepStrictEqual(failureOf(result).error, {
            code: "WRAPPER_FAILURE",
            name: "Error",
            message: "mine"
          })}
      })
  )

  it.effect(
    cites("a cancel that comes while that run is awaited replaces a success, and no failure", "CALL-07", "CALL-09"),
    () =>
      Effect.gen(function*() {
        const waiting = Gate.make<string>()
        const tool = effectTool("tool", () => waiting.hold)
        const host = yield* Faces.start.open({ tools: [tool], wrappers: [wrap] })
        const call = yield* host.call("tool")
        yield* waiting.reached
        yield* call.cancel
        assert.isFalse(call.isOver())
        yield* waiting.open("late")
        const result = yield* call.result
        if (code === "Success") assertAborted(result, "ABORTED", "Caller")
        else assert.strictEqual(codeOf(result), code)
      })
  )

  it.effect(cites("a promise body hears of it through its signal", "CALL-07"), () =>
    Effect.gen(function*() {
      const gate = Gate.make<string>()
      let signal: AbortSignal | undefined
      const tool = promiseTool("tool", (_, call) => {
        signal = call.signal
        return gate.promise()
      })
      const host = yield* Faces.start.open({ tools: [tool], wrappers: [wrap] })
      const call = yield* host.call("tool")
      yield* gate.reached
      yield* TestClock.adjust("1 hour")
      assert.isTrue(signal!.aborted)
      assert.strictEqual(signal!.reason.name, "AbortError")
      assert.isFalse(call.isOver())
      yield* gate.open("late")
      assert.strictEqual(codeOf(yield* call.result), code)
    }))
})

describe("a wrapper that leaves `next` behind", () => {
  it.effect(
    cites("one that runs `next` after it has settled, inside one that has not, does not start the body", "CALL-07"),
    () =>
      Effect.gen(function*() {
        let entered = 0
        const gate = Gate.make()
        const outer = Gate.make()
        const tool = effectTool("tool", () => Effect.sync(() => ++entered))
        const leaves: Wrapper.Wrapper = (next) =>
          Effect.as(Effect.forkDetach(Effect.andThen(gate.wait, next), { startImmediately: true }), "mine")
        const host = yield* Faces.start.open({
          tools: [tool],
          wrappers: [(next) => Effect.tap(next, () => outer.wait), leaves]
        })
        const call = yield* host.call("tool")
        yield* outer.reached
        yield* gate.open()
        yield* TestClock.adjust("1 hour")
        assert.strictEqual(entered, 0)
        yield* outer.open()
        assert.strictEqual(valueOf(yield* call.result), "mine")
      })
  )

  it.effect(
    cites("one that runs `next` only after it has settled does not start the body", "CALL-07", "CALL-12"),
    () =>
      Effect.gen(function*() {
        let entered = 0
        let leaked: Effect.Effect<unknown, unknown> = Effect.void
        const gate = Gate.make()
        const tool = effectTool("tool", () => Effect.sync(() => ++entered))
        const wrap: Wrapper.Wrapper = (next) =>
          Effect.suspend(() => {
            leaked = next as Effect.Effect<Json, unknown>
            return Effect.as(Effect.forkDetach(Effect.andThen(gate.wait, next), { startImmediately: true }), "mine")
          })
        const host = yield* Faces.start.open({ tools: [tool], wrappers: [wrap] })
        const call = yield* host.call("tool")
        assert.strictEqual(valueOf(yield* call.result), "mine")
        yield* gate.open()
        yield* TestClock.adjust("1 hour")
        assert.isTrue(Exit.isFailure(yield* Effect.exit(leaked)))
        assert.strictEqual(entered, 0)
        assert.deepStrictEqual(yield* host.inFlight, [])
      })
  )

  it.effect(cites("the same of promise functions", "CALL-07"), () =>
    Effect.gen(function*() {
      for (const face of Faces.allFaces) {
        const gate = Gate.make<string>()
        let signal: AbortSignal | undefined
        const tool = promiseTool("tool", (_, call) => {
          signal = call.signal
          return gate.promise()
        })
        const host = yield* face.open({
          tools: [tool],
          wrappers: [async (next, _, { signal }) => {
            void next(signal)
            return "mine"
          }]
        })
        const call = yield* host.call("tool")
        yield* gate.reached
        yield* TestClock.adjust("1 hour")
        assert.isTrue(signal!.aborted, face.name)
        assert.isFalse(call.isOver())
        yield* gate.open("late")
        assert.strictEqual(valueOf(yield* call.result), "mine")
      }
    }))

  it.effect(
    cites("two levels deep: the outer wrapper leaves an inner one behind that cleans up", "CALL-07"),
    () =>
      Effect.gen(function*() {
        const body = Gate.make<string>()
        const inner = Gate.make()
        const outer: Wrapper.Wrapper = (next) => Effect.as(Effect.forkDetach(next, { startImmediately: true }), "mine")
        const cleaning: Wrapper.Wrapper = (next) => Effect.onInterrupt(next, () => inner.wait)
        const host = yield* Faces.start.open({
          tools: [effectTool("tool", () => body.wait)],
          wrappers: [outer, cleaning]
        })
        const call = yield* host.call("tool")
        yield* inner.reached
        assert.strictEqual(body.counts.interruptions, 1)
        yield* TestClock.adjust("1 hour")
        assert.isFalse(call.isOver())
        yield* inner.open()
        assert.strictEqual(valueOf(yield* call.result), "mine")
      })
  )

  it.effect(
    cites("the run it left behind fails: its failure is not the call's", "CALL-07"),
    () =>
      Effect.gen(function*() {
        const body = Gate.make<string>()
        const wrap: Wrapper.Wrapper = (next) => Effect.as(Effect.forkDetach(next, { startImmediately: true }), "mine")
        const host = yield* Faces.start.open({ tools: [effectTool("tool", () => body.hold)], wrappers: [wrap] })
        const call = yield* host.call("tool")
        yield* body.reached
        yield* body.fail(new Error("late"))
        assert.strictEqual(valueOf(yield* call.result), "mine")
      })
  )
})

/** A fiber that a stage leaves behind, and that takes until the gate opens to end. */
const leave = (gate: Gate.Gate<void>) =>
  Effect.forkChild(Effect.onInterrupt(Effect.never, () => gate.wait), { startImmediately: true })

const leavingStages: ReadonlyArray<readonly [stage: string, stages: (gate: Gate.Gate<void>) => Stages]> = [
  ["a pre-policy", (gate) => ({ pre: () => Effect.as(leave(gate), Policy.allow) })],
  ["an approval channel", (gate) => ({ ask: () => Effect.as(leave(gate), Approval.allowedOnce) })],
  ["a wrapper", (gate) => ({ wrap: (next) => Effect.andThen(leave(gate), next) })],
  ["a wrapper that answers itself", (gate) => ({ wrap: () => Effect.as(leave(gate), "mine") })],
  ["a body", (gate) => ({ body: () => Effect.as(leave(gate), "done") })],
  ["a post-policy", (gate) => ({ post: () => Effect.as(leave(gate), Policy.accept()) })]
]

describe("a child fiber that a stage leaves running", () => {
  it.effect.each(leavingStages)(
    cites("of %s is interrupted and awaited before anybody hears of the result", "CALL-07", "CALL-24"),
    ([, stages]) =>
      Effect.gen(function*() {
        for (const face of Faces.registryFaces) {
          const gate = Gate.make()
          const parts = watched(stages(gate))
          const host = yield* face.open(parts)
          const call = yield* host.call("tool")
          yield* gate.reached
          yield* TestClock.adjust("1 hour")
          assert.isFalse(call.isOver())
          assert.deepStrictEqual(host.published, [])
          assert.strictEqual((yield* host.inFlight).length, 1)
          yield* gate.open()
          assert.strictEqual(codeOf(yield* call.result), "Success")
        }
      })
  )

  it.effect(cites("a cancel that comes only then finds the outcome decided", "CALL-10"), () =>
    Effect.gen(function*() {
      const gate = Gate.make()
      const host = yield* Faces.start.open(watched({ post: () => Effect.as(leave(gate), Policy.accept()) }))
      const call = yield* host.call("tool")
      yield* gate.reached
      yield* call.cancel
      yield* gate.open()
      assert.strictEqual(valueOf(yield* call.result), "done")
    }))

  it.effect.each(leavingStages.filter(([stage]) => stage !== "a body"))(
    cites("of %s holds up a call that is cancelled only then: it shows it, and is reported like any other", "CALL-27"),
    ([, stages]) =>
      Effect.gen(function*() {
        for (const face of Faces.registryFaces) {
          const gate = Gate.make()
          const reports: Array<string> = []
          const observer = {
            notQuiescent: (call: ToolCall.Pending) => Effect.sync(() => void reports.push(call.callId))
          }
          const parts = watched(stages(gate))
          const host = yield* face.open({ ...parts, observers: [...parts.observers ?? [], observer] })
          const call = yield* host.call("tool")
          yield* gate.reached
          assert.deepStrictEqual((yield* host.inFlight).map(({ stage }) => stage), ["settling"])
          yield* call.cancel
          assert.deepStrictEqual((yield* host.inFlight).map(({ cancelling }) => cancelling?._tag), [face.reason])
          yield* TestClock.adjust("1 hour")
          assert.strictEqual(reports[0], call.callId)
          assert.isFalse(call.isOver())
          yield* gate.open()
          assert.strictEqual(codeOf(yield* call.result), "Success")
          const told = reports.length
          yield* TestClock.adjust("10 days")
          assert.lengthOf(reports, told)
          assert.deepStrictEqual(yield* host.inFlight, [])
        }
      })
  )
})

describe("a body two registries deep", () => {
  it.effect(
    cites("hears of the cancel of the outermost call, which is over after it", "CALL-07", "CALL-26"),
    () =>
      Effect.gen(function*() {
        for (const face of Faces.allFaces) {
          const gate = Gate.make()
          const marks: Array<string> = []
          const inner = yield* Faces.registry({
            tools: [promiseTool("inner", async (_, { signal }) => {
              await gate.promise()
              if (signal.aborted) throw signal.reason
              marks.push("a mark on the world")
              return "done"
            })],
            policy: { pre: () => Effect.succeed(Policy.ask()) },
            approval: { ask: () => Effect.succeed(Approval.allowedOnce) }
          })
          const host = yield* face.open({
            tools: [promiseTool("outer", async (_, { signal }) => {
              const result = await inner.executePromise({ callId: "inner", name: "inner", arguments: {}, signal })
              return codeOf(result)
            })]
          })
          const call = yield* host.call("outer")
          yield* gate.reached
          yield* call.cancel
          yield* TestClock.adjust("1 hour")
          assert.isFalse(call.isOver())
          yield* gate.open()
          assertAborted(yield* call.result, "ABORTED", face.reason)
          assert.deepStrictEqual(marks, [])
        }
      })
  )
})
