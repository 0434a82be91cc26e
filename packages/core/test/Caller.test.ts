import { assert, describe, it } from "@effect/vitest"
import { type ToolResult } from "@quiesce/core"
import { Effect, Exit, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { cites } from "../../../tests/conformance/cites.ts"
import * as Faces from "./support/faces.ts"
import * as Gate from "./support/Gate.ts"
import { codeOf, valueOf } from "./support/results.ts"
import { type Stages, watched } from "./support/watched.ts"

const immediately = { startImmediately: true }
const input = { callId: "1", name: "tool", arguments: {} }

/** A registry whose results are recorded in `log`, as `published CODE`. */
const recorded = (stages: Stages, log: Array<string>) => {
  const parts = watched(stages)
  return Faces.registry({
    ...parts,
    observers: [(_, result) => Effect.sync(() => void log.push(`published ${codeOf(result)}`))]
  })
}

/** Where the fiber that runs `execute` is interrupted, and what is published then. */
const interruptions: ReadonlyArray<
  readonly [where: string, stages: (gate: Gate.Gate<string>) => Stages, published: string]
> = [
  [
    "while a policy decides",
    (gate) => ({ pre: () => Effect.as(gate.hold, { _tag: "Allow" }) }),
    "ABORTED_BEFORE_DISPATCH"
  ],
  [
    "while somebody is asked",
    (gate) => ({ ask: () => Effect.as(gate.hold, { _tag: "AllowedOnce" }) }),
    "ABORTED_BEFORE_DISPATCH"
  ],
  [
    "before a wrapper delegates",
    (gate) => ({ wrap: (next) => Effect.andThen(gate.hold, next) }),
    "ABORTED_BEFORE_DISPATCH"
  ],
  ["while the body runs", (gate) => ({ body: () => gate.hold }), "ABORTED"],
  ["while the body cleans up", (gate) => ({ body: () => Effect.ensuring(Effect.succeed(1), gate.hold) }), "ABORTED"],
  ["while a post-policy reviews", (gate) => ({ post: () => Effect.as(gate.hold, { _tag: "Accept" }) }), "ABORTED"]
]

describe("interrupting the fiber that runs `execute`", () => {
  it.effect.each(interruptions)(
    cites("%s: the interrupter waits for quiescence and the one result", "CALL-18"),
    ([, stages, code]) =>
      Effect.gen(function*() {
        const log: Array<string> = []
        const gate = Gate.make<string>()
        const registry = yield* recorded(stages(gate), log)
        const caller = yield* Effect.forkChild(registry.execute(input), immediately)
        yield* gate.reached
        const interrupter = yield* Effect.forkChild(
          Effect.andThen(Fiber.interrupt(caller), Effect.sync(() => void log.push("the interrupter goes on"))),
          immediately
        )
        yield* TestClock.adjust("1 hour")
        assert.isUndefined(interrupter.pollUnsafe())
        assert.isUndefined(caller.pollUnsafe())
        assert.deepStrictEqual(log, [])
        yield* gate.open("late")
        yield* Fiber.join(interrupter)
        assert.deepStrictEqual(log, [`published ${code}`, "the interrupter goes on"])
        assert.isTrue(Exit.hasInterrupts(caller.pollUnsafe()!))
        assert.deepStrictEqual(yield* registry.inFlight, [])
      })
  )

  it.effect(
    cites("a failure that the body ends with is published, and the fiber exits interrupted", "CALL-09", "CALL-18"),
    () =>
      Effect.gen(function*() {
        const log: Array<string> = []
        const gate = Gate.make<string>()
        const registry = yield* recorded({ body: () => gate.hold }, log)
        const caller = yield* Effect.forkChild(registry.execute(input), immediately)
        yield* gate.reached
        caller.interruptUnsafe()
        yield* gate.fail("late")
        const exit = yield* Fiber.await(caller)
        assert.deepStrictEqual(log, ["published TOOL_FAILURE"])
        assert.isTrue(Exit.isFailure(exit) && exit.cause.reasons.every(({ _tag }) => _tag === "Interrupt"))
      })
  )

  it.effect(
    cites("when the call has just succeeded: its success is published, the fiber exits interrupted", "CALL-18"),
    () =>
      Effect.gen(function*() {
        for (const waits of [false, true]) {
          const log: Array<string> = []
          const gate = Gate.make<string>()
          let caller: Fiber.Fiber<unknown, unknown> | undefined
          const registry = yield* recorded({ body: () => waits ? gate.wait : Effect.succeed("done") }, log)
          yield* registry.observe(() => Effect.sync(() => caller?.interruptUnsafe()))
          caller = yield* Effect.forkChild(
            Effect.withFiber((fiber) => {
              caller = fiber
              return registry.execute(input)
            }),
            immediately
          )
          yield* gate.open("done")
          const exit = yield* Fiber.await(caller)
          assert.deepStrictEqual(log, ["published Success"])
          assert.isTrue(Exit.hasInterrupts(exit))
        }
      })
  )

  it.effect(
    cites("in its own uninterruptible region: the call goes on, and the interrupt is seen at its end", "CALL-18"),
    () =>
      Effect.gen(function*() {
        const log: Array<string> = []
        const gate = Gate.make<string>()
        const registry = yield* recorded({ body: () => gate.wait }, log)
        let seen: ToolResult.ToolResult | undefined
        const caller = yield* Effect.forkChild(
          Effect.andThen(
            Effect.uninterruptible(Effect.map(registry.execute(input), (result) => {
              seen = result
            })),
            Effect.sync(() => void log.push("after the region"))
          ),
          immediately
        )
        yield* gate.reached
        caller.interruptUnsafe()
        yield* TestClock.adjust("1 hour")
        assert.strictEqual(gate.counts.interruptions, 0)
        assert.isUndefined(caller.pollUnsafe())
        yield* gate.open("done")
        const exit = yield* Fiber.await(caller)
        assert.strictEqual(valueOf(seen!), "done")
        assert.deepStrictEqual(log, ["published Success"])
        assert.isTrue(Exit.hasInterrupts(exit))
      })
  )

  it.effect(
    cites("through a timeout of the caller's: it fires, and ends once the call is quiet", "CALL-18"),
    () =>
      Effect.gen(function*() {
        const log: Array<string> = []
        const gate = Gate.make<string>()
        const registry = yield* recorded({ body: () => gate.hold }, log)
        const caller = yield* Effect.forkChild(Effect.timeoutOption(registry.execute(input), "1 second"), immediately)
        yield* TestClock.adjust("1 hour")
        assert.isUndefined(caller.pollUnsafe())
        yield* gate.open("late")
        assert.strictEqual((yield* Fiber.join(caller))._tag, "None")
        assert.deepStrictEqual(log, ["published ABORTED"])
      })
  )

  it.effect(
    cites("through a sibling's failure: all calls of a batch are cancelled and awaited", "CALL-18", "CALL-29"),
    () =>
      Effect.gen(function*() {
        const log: Array<string> = []
        const [first, second] = [Gate.make<string>(), Gate.make<string>()]
        const registry = yield* recorded({
          body: (_, call) => call.callId === "1" ? first.hold : second.hold
        }, log)
        const batch = yield* Effect.forkChild(
          Effect.exit(Effect.all([
            registry.execute(input),
            registry.execute({ ...input, callId: "2" }),
            Effect.andThen(Effect.sleep("1 second"), Effect.fail("sibling"))
          ], { concurrency: "unbounded" })),
          immediately
        )
        yield* TestClock.adjust("1 second")
        assert.isUndefined(batch.pollUnsafe())
        yield* second.open("late")
        yield* first.fail("late")
        const exit = yield* Fiber.join(batch)
        assert.deepStrictEqual(log.toSorted(), ["published ABORTED", "published TOOL_FAILURE"])
        assert.isTrue(Exit.isFailure(exit))
      })
  )

  it.effect(cites("twice: the second interrupter waits, too", "CALL-18"), () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const gate = Gate.make<string>()
      const registry = yield* recorded({ body: () => gate.hold }, log)
      const caller = yield* Effect.forkChild(registry.execute(input), immediately)
      const interrupters = yield* Effect.all([1, 2].map(() => Effect.forkChild(Fiber.interrupt(caller), immediately)))
      yield* TestClock.adjust("1 hour")
      assert.deepStrictEqual(interrupters.map((fiber) => fiber.pollUnsafe()), [undefined, undefined])
      yield* gate.open("late")
      yield* Fiber.joinAll(interrupters)
      assert.deepStrictEqual(log, ["published ABORTED"])
    }))
})
