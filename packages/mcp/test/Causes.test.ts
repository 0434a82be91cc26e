/** Who was first: a cancel from the wire, a deadline of the tool, or an approval that nobody has given yet. */
import { assert, describe, it } from "@effect/vitest"
import { Approval, Observer, Policy, Tool, ToolRegistry, type ToolResult } from "@quiesce/core"
import { Deferred, Effect, Layer, Schema, Stream } from "effect"
import { TestClock } from "effect/testing"
import { cites } from "../../../tests/conformance/cites.ts"
import { call, cancel, open, type Revision, revisions } from "./support/peer.ts"

const told = () => {
  const results: Array<ToolResult.ToolResult> = []
  const codes = () => results.map((result) => result._tag === "Failure" ? result.error.code : "SUCCESS")
  return { codes, observer: Observer.layer((_, result) => Effect.sync(() => void results.push(result))) }
}

/** A tool of one second that ends when it is released, whoever asks. */
const slow = () => {
  const began = Deferred.makeUnsafe<void>()
  const released = Deferred.makeUnsafe<void>()
  const tool = Tool.make("slow", {
    description: "Has a budget of a second",
    parameters: Schema.Struct({}),
    success: Schema.Null,
    timeout: "1 second",
    execute: () =>
      Effect.suspend(() => {
        Deferred.doneUnsafe(began, Effect.void)
        return Effect.as(Deferred.await(released), null)
      }).pipe(Effect.uninterruptible)
  })
  return { tool, began: Deferred.await(began), release: Deferred.succeed(released, undefined) }
}

const within = Effect.fnUntraced(function*(
  revision: Revision,
  first: "deadline" | "cancel" | "deadline, and no cancel"
) {
  const { began, release, tool } = slow()
  const { codes, observer } = told()
  const registry = yield* Layer.build(Layer.provide(ToolRegistry.layer([tool]), observer))
  return yield* Effect.gen(function*() {
    const { whenIdle } = yield* ToolRegistry.ToolRegistry
    const { peer } = yield* open(revision)
    peer.send(call(revision, 1, "slow"))
    yield* began
    const cancelled = Effect.andThen(
      Effect.sync(() => peer.send(cancel(1))),
      Effect.promise(() => peer.settled(revision))
    )
    const deadline = TestClock.adjust("1 second")
    if (first === "cancel") yield* Effect.andThen(cancelled, deadline)
    else yield* first === "deadline" ? Effect.andThen(deadline, cancelled) : deadline
    yield* release
    yield* whenIdle
    yield* Effect.promise(() => peer.settled(revision))
    return { codes: codes(), answers: peer.about(1).map(({ result }) => result?._meta["quiesce/error"].code) }
  }).pipe(Effect.provide(registry))
})

for (const revision of revisions) {
  describe(`a call, in ${revision}`, () => {
    it.effect(
      cites("ends for the first cause there was, and is answered where nobody has cancelled it", "MCP-01", "MCP-05"),
      () =>
        Effect.scoped(Effect.gen(function*() {
          assert.deepStrictEqual(yield* within(revision, "deadline, and no cancel"), {
            codes: ["TOOL_TIMEOUT"],
            answers: ["TOOL_TIMEOUT"]
          })
          assert.deepStrictEqual(yield* within(revision, "deadline"), { codes: ["TOOL_TIMEOUT"], answers: [] })
          assert.deepStrictEqual(yield* within(revision, "cancel"), { codes: ["ABORTED"], answers: [] })
        }))
    )

    it.effect(
      cites("that is cancelled while somebody is asked for approval takes the question back", "MCP-01", "MCP-08"),
      () =>
        Effect.gen(function*() {
          let began = false
          const tool = Tool.make("guarded", {
            description: "",
            parameters: Schema.Struct({}),
            success: Schema.Null,
            execute: () =>
              Effect.sync(() => {
                began = true
                return null
              })
          })
          const { codes, observer } = told()
          const approval = yield* Layer.build(Approval.layerQueue)
          const registry = yield* Layer.build(
            ToolRegistry.layer([tool]).pipe(
              Layer.provide([Policy.layer({ pre: () => Effect.succeed(Policy.ask()) }), observer]),
              Layer.provide(Layer.succeedContext(approval))
            )
          )
          yield* Effect.gen(function*() {
            const { answer, pending } = yield* Approval.Queue
            const { peer } = yield* open(revision)
            peer.send(call(revision, 1, "guarded"))
            const question = yield* Stream.runHead(pending)
            peer.send(cancel(1))
            yield* Effect.promise(() => peer.settled(revision))
            const { token } = question._tag === "Some" ? question.value : assert.fail("nobody was asked")
            assert.isFalse(yield* answer(token, "allow"))
            assert.deepStrictEqual([began, codes(), peer.about(1)], [false, ["ABORTED_BEFORE_DISPATCH"], []])
          }).pipe(Effect.provide(Layer.succeedContext(approval)), Effect.provide(registry))
        }).pipe(Effect.scoped)
    )
  })
}
