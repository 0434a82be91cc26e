import { assert, describe, it } from "@effect/vitest"
import { Approval, Observer, Policy, type ToolCall, ToolRegistry, type ToolResult, Wrapper } from "@quiesce/core"
import { Probe } from "@quiesce/testing"
import { Cause, Context, Effect, Exit, Fiber, Layer } from "effect"

const code = (result: ToolResult.ToolResult) => result._tag === "Success" ? result.value : result.error.code

const input: ToolCall.Input = { callId: "c1", name: "work", arguments: { n: 1 } }

describe("Probe", () => {
  it.effect(
    "tells that it was invoked, with what, and ends as the test says",
    () =>
      Effect.gen(function*() {
        const probe = Probe.make<[n: number], string, "no">()
        const ended = yield* Effect.forEach([1, 2, 3], (n) => Effect.forkChild(Effect.exit(probe.effect(n))))
        const runs = [yield* probe.invoked, yield* probe.invoked, yield* probe.invoked] as const
        assert.deepStrictEqual(runs.map(({ args }) => args), [[1], [2], [3]])
        assert.isFalse(runs[0].isOver())
        runs[0].succeed("yes")
        runs[0].fail("no")
        runs[1].fail("no")
        runs[2].die("broken")
        const exits: ReadonlyArray<Exit.Exit<string, string>> = yield* Effect.forEach(ended, (it) => Fiber.join(it))
        assert.deepStrictEqual(exits, [Exit.succeed("yes"), Exit.fail("no"), Exit.die("broken")])
        assert.isTrue(runs.every((run) => run.isOver()))
      })
  )

  it.effect("being interrupted is told and ends nothing by itself", () =>
    Effect.gen(function*() {
      const probe = Probe.make<[], string, "late">()
      const interrupted = yield* Effect.forkChild(probe.effect())
      const run = yield* probe.invoked
      assert.isFalse(run.isStopping())
      const interrupting = yield* Effect.forkChild(Fiber.interrupt(interrupted))
      yield* run.stopping
      assert.isUndefined(interrupted.pollUnsafe())
      run.fail("late")
      yield* Fiber.join(interrupting)
      const exit = yield* Fiber.await(interrupted)
      assert.isTrue(Exit.hasInterrupts(exit))
      assert.deepStrictEqual(Exit.isFailure(exit) && Cause.squash(exit.cause), "late")
    }))

  it.effect(
    "obeying is interruption for an effect and the signal's own reason for a promise",
    () =>
      Effect.gen(function*() {
        const probe = Probe.make<[], string>()
        const fiber = yield* Effect.forkChild(probe.effect())
        const run = yield* probe.invoked
        yield* Effect.forkChild(Fiber.interrupt(fiber), { startImmediately: true })
        run.obey()
        const exit = yield* Fiber.await(fiber)
        assert.isTrue(Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause))

        const controller = new AbortController()
        const rejected = probe.promise(controller.signal).then(() => "resolved", (reason: unknown) => reason)
        const second = yield* probe.invoked
        controller.abort(0)
        assert.strictEqual(yield* second.stopping, 0)
        second.obey()
        assert.strictEqual(yield* Effect.promise(() => rejected), 0)
      })
  )

  it.effect(
    "a promise probe leaves no listener, and sees a signal that has aborted already",
    () =>
      Effect.gen(function*() {
        const probe = Probe.make<[], string>()
        const controller = new AbortController()
        const first = probe.promise(controller.signal)
        ;(yield* probe.invoked).succeed("done")
        assert.strictEqual(yield* Effect.promise(() => first), "done")
        controller.abort("gone")
        const second = probe.promise(controller.signal)
        const run = yield* probe.invoked
        assert.isTrue(run.isStopping())
        assert.isFalse(probe.invocations[0]!.isStopping())
        run.succeed("late")
        yield* Effect.promise(() => second)
      })
  )

  /** A registry of probes at every stage. */
  const held = Effect.gen(function*() {
    const { body, tool } = Probe.tool("work")
    const { policy, post, pre } = Probe.policy()
    const { asked, channel } = Probe.approval()
    const { after, before, wrapper } = Probe.wrapper()
    const published: Array<ToolResult.ToolResult> = []
    const context = yield* Layer.build(
      ToolRegistry.layer([tool]).pipe(Layer.provide([
        Policy.layer(policy),
        Approval.layer(channel),
        Wrapper.layer([wrapper]),
        Observer.layer((_call, result) => Effect.sync(() => void published.push(result)))
      ]))
    )
    const registry = Context.get(context, ToolRegistry.ToolRegistry)
    return { after, asked, before, body, post, pre, published, registry }
  })

  it.effect(
    "a pipeline of probes stands at every stage until the test lets it go on",
    () =>
      Effect.gen(function*() {
        const { after, asked, before, body, post, pre, published, registry } = yield* held
        const call = yield* registry.start(input)
        const stage = Effect.map(call.status, (status) => status?.stage)

        const decision = yield* pre.invoked
        assert.strictEqual(yield* stage, "pre")
        decision.succeed(Policy.ask("sure?"))

        const question = yield* asked.invoked
        assert.strictEqual(question.args[1], "sure?")
        assert.strictEqual(yield* stage, "approval")
        question.succeed(Approval.allowedOnce)

        const entering = yield* before.invoked
        assert.strictEqual(yield* stage, "wrappers")
        entering.succeed()

        const run = yield* body.invoked
        assert.deepStrictEqual(run.args[0], { n: 1 })
        assert.strictEqual(yield* stage, "body")
        run.succeed("value")

        const leaving = yield* after.invoked
        assert.strictEqual(leaving.args[0], "value")
        leaving.succeed("wrapped")

        const review = yield* post.invoked
        assert.strictEqual(yield* stage, "post")
        assert.deepStrictEqual(published, [])
        review.succeed(Policy.accept())

        assert.strictEqual(code(yield* call.result), "wrapped")
        assert.lengthOf(published, 1)
      })
  )

  for (const stage of ["pre", "asked", "before", "body", "after"] as const) {
    it.effect(
      `a call cancelled while its ${stage} is held settles when that has obeyed`,
      () =>
        Effect.gen(function*() {
          const { after, asked, before, body, post, pre, registry } = yield* held
          const call = yield* registry.start(input)
          const stages = {
            pre: () => pre.invoked,
            asked: () => asked.invoked,
            before: () => before.invoked,
            body: () => body.invoked,
            after: () => after.invoked
          }
          const goOn = {
            pre: Effect.map(pre.invoked, (it) => it.succeed(Policy.ask())),
            asked: Effect.map(asked.invoked, (it) => it.succeed(Approval.allowedOnce)),
            before: Effect.map(before.invoked, (it) => it.succeed()),
            body: Effect.map(body.invoked, (it) => it.succeed("value"))
          }
          for (const name of ["pre", "asked", "before", "body"] as const) {
            if (name === stage) break
            yield* goOn[name]
          }
          const run = yield* stages[stage]()
          yield* call.cancel()
          yield* run.stopping
          assert.isDefined(yield* call.status)
          run.obey()
          ;(yield* post.invoked).succeed(Policy.accept())
          assert.strictEqual(
            code(yield* call.result),
            stage === "body" || stage === "after" ? "ABORTED" : "ABORTED_BEFORE_DISPATCH"
          )
        })
    )
  }

  it.effect(
    "a promise body in the hands of the test is held the same way",
    () =>
      Effect.gen(function*() {
        const { body, tool } = Probe.toolFromPromise("work")
        const context = yield* Layer.build(ToolRegistry.layer([tool]))
        const registry = Context.get(context, ToolRegistry.ToolRegistry)
        const caller = new AbortController()
        const settled = registry.executePromise({ ...input, signal: caller.signal })
        const run = yield* body.invoked
        caller.abort("enough")
        assert.strictEqual(yield* run.stopping, "enough")
        run.succeed("too late")
        assert.strictEqual(code(yield* Effect.promise(() => settled)), "ABORTED")
      })
  )
})
