import { assert, describe, it } from "@effect/vitest"
import { Approval, Deadline, Policy, type ToolCall, ToolResult } from "@quiesce/core"
import { Effect, Fiber, Layer, Schema, Stream } from "effect"
import { TestClock } from "effect/testing"
import { cites } from "../../../tests/conformance/cites.ts"
import * as Faces from "./support/faces.ts"
import * as Gate from "./support/Gate.ts"
import { effectTool, makeRegistry, promiseTool } from "./support/registry.ts"
import { assertAborted, codeOf, failureOf, isDeeplyFrozen } from "./support/results.ts"
import { type Stages, watched } from "./support/watched.ts"

/** One row for each way in which an outcome is decided, with the stages that were begun. */
interface Row {
  readonly decided: string
  readonly stages?: Stages
  readonly name?: string
  /** Default: what the face gives, an empty object. */
  readonly input?: Partial<ToolCall.Input>
  /** Where the call waits at the gate until the test cancels it. */
  readonly cancel?: (gate: Gate.Gate<any>) => Stages
  readonly ran: ReadonlyArray<string>
  readonly code: ToolResult.Code | "Success"
  readonly dispatched: boolean
}

const all = ["pre", "approval", "wrapper", "body", "post", "finalizeContent"]
const reviewed = ["post", "finalizeContent"]
const fails = () => Effect.die(new Error("x"))

const rows: ReadonlyArray<Row> = [
  {
    decided: "at materialization",
    input: { arguments: undefined },
    ran: ["finalizeContent"],
    code: "INVALID_ARGUMENTS",
    dispatched: false
  },
  {
    decided: "by a pre-policy that threw",
    stages: { pre: fails },
    ran: ["pre", "finalizeContent"],
    code: "POLICY_FAILURE",
    dispatched: false
  },
  {
    decided: "by a wrapper that threw",
    stages: { wrap: fails },
    ran: ["pre", "approval", "wrapper", "finalizeContent"],
    code: "WRAPPER_FAILURE",
    dispatched: false
  },
  {
    decided: "by a wrapper that threw after it delegated",
    stages: { wrap: (next) => Effect.andThen(next, fails()) },
    ran: ["pre", "approval", "wrapper", "body", "finalizeContent"],
    code: "WRAPPER_FAILURE",
    dispatched: true
  },
  {
    decided: "by a post-policy that threw",
    stages: { post: fails },
    ran: all,
    code: "POLICY_FAILURE",
    dispatched: true
  },
  {
    decided: "by a post-policy that threw on a failure",
    stages: { body: () => Effect.fail("x"), post: fails },
    ran: all,
    code: "POLICY_FAILURE",
    dispatched: true
  },
  {
    decided: "by a denial",
    stages: { pre: () => Effect.succeed(Policy.deny("no")) },
    ran: ["pre", ...reviewed],
    code: "DENIED",
    dispatched: false
  },
  {
    decided: "by a denial that is a failure",
    stages: { pre: () => Policy.deny("no") },
    ran: ["pre", ...reviewed],
    code: "DENIED",
    dispatched: false
  },
  {
    decided: "by a refused approval",
    stages: { ask: () => Effect.succeed(Approval.rejected("no")) },
    ran: ["pre", "approval", ...reviewed],
    code: "DENIED",
    dispatched: false
  },
  {
    decided: "by arguments that the schema refuses",
    name: "strict",
    ran: ["pre", ...reviewed],
    code: "INVALID_ARGUMENTS",
    dispatched: false
  },
  {
    decided: "by a cancel while a policy decides",
    cancel: (gate) => ({ pre: () => gate.wait }),
    ran: ["pre", ...reviewed],
    code: "ABORTED_BEFORE_DISPATCH",
    dispatched: false
  },
  {
    decided: "by a cancel while somebody is asked",
    cancel: (gate) => ({ ask: () => gate.wait }),
    ran: ["pre", "approval", ...reviewed],
    code: "ABORTED_BEFORE_DISPATCH",
    dispatched: false
  },
  {
    decided: "by a cancel while a wrapper waits",
    cancel: (gate) => ({ wrap: () => gate.wait }),
    ran: ["pre", "approval", "wrapper", ...reviewed],
    code: "ABORTED_BEFORE_DISPATCH",
    dispatched: false
  },
  {
    decided: "by there being no such tool",
    name: "unknown",
    ran: ["pre", "post"],
    code: "UNKNOWN_TOOL",
    dispatched: false
  },
  {
    decided: "by a failure of the tool",
    stages: { body: () => Effect.fail("x") },
    ran: all,
    code: "TOOL_FAILURE",
    dispatched: true
  },
  {
    decided: "by an invalid output",
    stages: { body: () => Effect.succeed(Number.NaN) },
    ran: all,
    code: "INVALID_OUTPUT",
    dispatched: true
  },
  {
    decided: "by a render that throws",
    stages: {
      render: () => {
        throw new Error("x")
      }
    },
    ran: all,
    code: "INVALID_OUTPUT",
    dispatched: true
  },
  {
    decided: "by a timeout",
    stages: { timeout: 1000, body: () => Effect.never },
    ran: all,
    code: "TOOL_TIMEOUT",
    dispatched: true
  },
  {
    decided: "by a timeout before the body",
    stages: { wrap: (next) => Deadline.within(Effect.andThen(Effect.never, next), { timeout: "1 second", code: "X" }) },
    ran: ["pre", "approval", "wrapper", ...reviewed],
    code: "TOOL_TIMEOUT",
    dispatched: false
  },
  {
    decided: "by a cancel while the body runs",
    cancel: (gate) => ({ body: () => gate.wait }),
    ran: all,
    code: "ABORTED",
    dispatched: true
  },
  {
    decided: "by a wrapper in place of the body",
    stages: { wrap: () => Effect.succeed("mine") },
    ran: ["pre", "approval", "wrapper", ...reviewed],
    code: "Success",
    dispatched: false
  },
  { decided: "by the body", ran: all, code: "Success", dispatched: true },
  {
    decided: "by a block",
    stages: { post: () => Effect.succeed(Policy.block("no")) },
    ran: all,
    code: "BLOCKED",
    dispatched: true
  }
]

describe.each(rows)(
  "an outcome decided $decided",
  ({ cancel, code, dispatched, input, name = "tool", ran, stages }) => {
    it.effect(
      cites("which stages run, and that exactly one frozen result is published", "CALL-01", "CALL-11", "CALL-22"),
      () =>
        Effect.gen(function*() {
          for (const face of Faces.registryFaces) {
            const gate = Gate.make<any>()
            const parts = watched(cancel?.(gate) ?? stages)
            const host = yield* face.open(parts)
            const call = yield* host.call(name, input)
            if (cancel !== undefined) {
              yield* gate.reached
              yield* call.cancel
            }
            yield* TestClock.adjust("1 second")
            const result = yield* call.result
            assert.deepStrictEqual(parts.ran, [...ran, `publish ${code}`])
            assert.strictEqual(codeOf(result), code)
            assert.strictEqual(result.dispatched, dispatched)
            assert.isTrue(isDeeplyFrozen(result))
            if (code === "ABORTED" || code === "ABORTED_BEFORE_DISPATCH") assertAborted(result, code, face.reason)
            assert.deepStrictEqual([result.callId, result.name], [call.callId, name])
            assert.deepStrictEqual(yield* host.inFlight, [])
          }
        })
    )

    it.effect(
      cites("it is data: it does not reject, and comes back from JSON as it went", "CALL-01"),
      () =>
        Effect.gen(function*() {
          const gate = Gate.make<any>()
          const host = yield* Faces.executePromise.open(watched(cancel?.(gate) ?? stages))
          const call = yield* host.call(name, input)
          if (cancel !== undefined) {
            yield* gate.reached
            yield* call.cancel
          }
          yield* TestClock.adjust("1 second")
          const result = yield* call.result
          const encoded = yield* Schema.encodeEffect(ToolResult.ToolResult)(result)
          const decoded = yield* Schema.decodeUnknownEffect(ToolResult.ToolResult)(JSON.parse(JSON.stringify(encoded)))
          assert.deepStrictEqual(decoded, result)
        })
    )
  }
)

describe("a call", () => {
  it.effect(
    cites("goes through every stage in order, and each sees what the ones before made", "CALL-22"),
    () =>
      Effect.gen(function*() {
        const seen: Array<string> = []
        const host = yield* Faces.start.open(watched({
          wrap: (next) => Effect.map(next, (value) => `${value as string} wrapped`),
          post: (_, result) => {
            seen.push(`post ${JSON.stringify(result._tag === "Success" && result.value)}`)
            return Effect.succeed(Policy.accept({ value: "reviewed" }))
          },
          render: (value) => [{ type: "text", text: `rendered ${value as string}` }],
          finalizeContent: (_, result) => {
            seen.push(`finalize ${result.content[0]!.text}`)
            return undefined
          }
        }))
        const result = yield* (yield* host.call("tool")).result
        assert.deepStrictEqual(seen, [`post "done wrapped"`, "finalize rendered reviewed"])
        assert.strictEqual(codeOf(result), "Success")
      })
  )

  it.effect(
    cites("has one outcome however often and by whomever it is cancelled", "CALL-01"),
    () =>
      Effect.gen(function*() {
        for (const face of Faces.allFaces) {
          const gate = Gate.make<string>()
          const host = yield* face.open({ tools: [promiseTool("tool", gate.promise)] })
          const call = yield* host.call("tool")
          yield* gate.reached
          for (let round = 0; round < 3; round++) yield* call.cancel
          yield* gate.open("late")
          yield* call.result
          yield* call.cancel
          yield* TestClock.adjust("1 day")
          assert.deepStrictEqual(host.published.map(codeOf), ["ABORTED"])
        }
      })
  )

  it.effect(cites("that two observers and the caller see is one object", "CALL-01"), () =>
    Effect.gen(function*() {
      const results: Array<unknown> = []
      const observer = (_: unknown, result: unknown) => Effect.sync(() => void results.push(result))
      const registry = yield* Faces.registry({
        tools: [effectTool("t", () => Effect.succeed(1))],
        observers: [observer, observer]
      })
      const result = yield* registry.execute({ callId: "1", name: "t", arguments: {} })
      assert.isTrue(results.length === 2 && results.every((it) => it === result))
    }))
})

describe("approval", () => {
  const answers: ReadonlyArray<readonly [what: string, outcome: Approval.Outcome, message: string]> = [
    ["rejected", Approval.rejected(), "the approval was refused"],
    ["rejected with a reason", Approval.rejected("not on a Friday"), "not on a Friday"],
    ["unavailable", Approval.unavailable, "approval is needed, and nobody can be asked"]
  ]
  it.effect.each(answers)(
    cites("%s is DENIED, and the body never starts", "CALL-22"),
    ([, outcome, message]) =>
      Effect.gen(function*() {
        for (const face of Faces.registryFaces) {
          const parts = watched({ ask: () => Effect.succeed(outcome) })
          const host = yield* face.open(parts)
          const result = failureOf(yield* (yield* host.call("tool")).result)
          assert.deepStrictEqual(result.error, { code: "DENIED", name: "Denied", message })
          assert.notInclude(parts.ran, "body")
        }
      })
  )

  it.effect(cites("a channel that throws denies, with its own reason", "CALL-22"), () =>
    Effect.gen(function*() {
      for (
        const ask of [fails, () => {
          throw new Error("x")
        }]
      ) {
        const parts = watched({ ask })
        const host = yield* Faces.start.open(parts)
        const { error } = failureOf(yield* (yield* host.call("tool")).result)
        assert.strictEqual(error.code, "DENIED")
        assert.strictEqual(error.message, "the approval channel failed: x")
        assert.notInclude(parts.ran, "body")
      }
    }))

  it.effect(
    cites("cancelled by whoever was asked is ABORTED_BEFORE_DISPATCH, and never a denial", "CALL-22"),
    () =>
      Effect.gen(function*() {
        for (const face of Faces.allFaces) {
          let bodies = 0
          const host = yield* face.open({
            tools: [promiseTool("tool", () => ++bodies)],
            policy: { pre: () => ({ ask: "?" }) },
            approval: () => "cancel"
          })
          assertAborted(yield* (yield* host.call("tool")).result, "ABORTED_BEFORE_DISPATCH", "Caller")
          assert.strictEqual(bodies, 0)
        }
      })
  )

  it.effect(cites("is asked with the policy's reason, the call and a signal", "CALL-22"), () =>
    Effect.gen(function*() {
      for (const face of Faces.allFaces) {
        const asked: Array<unknown> = []
        const host = yield* face.open({
          tools: [promiseTool("tool", () => "done")],
          policy: { pre: () => ({ ask: "it deletes files" }) },
          approval: (call, signal, reason) => {
            asked.push([call.name, signal.aborted, reason])
            return "allow"
          }
        })
        assert.strictEqual(codeOf(yield* (yield* host.call("tool")).result), "Success")
        assert.deepStrictEqual(asked, [["tool", false, "it deletes files"]])
      }
    }))

  it.effect(cites("nobody is asked where the policy allows or denies", "CALL-22"), () =>
    Effect.gen(function*() {
      for (const decision of [Policy.allow, Policy.deny("no")]) {
        const parts = watched({ pre: () => Effect.succeed(decision) })
        const host = yield* Faces.start.open(parts)
        yield* (yield* host.call("tool")).result
        assert.notInclude(parts.ran, "approval")
      }
    }))

  it.effect(cites("by default nobody can be asked, which denies", "CALL-22", "CALL-32"), () =>
    Effect.gen(function*() {
      const registry = yield* makeRegistry(
        [effectTool("t", () => Effect.succeed(1))],
        Policy.layer({ pre: () => Effect.succeed(Policy.ask()) })
      )
      assert.strictEqual(codeOf(yield* registry.execute({ callId: "1", name: "t", arguments: {} })), "DENIED")
    }))

  /** A registry that asks through the queue, and the queue. */
  const queued = Effect.fnUntraced(function*(body: () => void) {
    const context = yield* Layer.build(Approval.layerQueue)
    const queue = yield* Effect.provideContext(Effect.map(Approval.Queue, (queue) => queue), context)
    const registry = yield* makeRegistry(
      [effectTool("t", () => Effect.sync(() => (body(), "done")))],
      Layer.succeedContext(context as any) as Layer.Layer<never>,
      Policy.layer({ pre: () => Effect.succeed(Policy.ask("may it?")) })
    )
    return { queue, registry }
  })

  it.effect(
    cites("an answer that comes after the cancel is refused as stale, and starts nothing", "CALL-22"),
    () =>
      Effect.gen(function*() {
        let bodies = 0
        const { queue, registry } = yield* queued(() => void bodies++)
        const call = yield* registry.start({ callId: "1", name: "t", arguments: {} })
        const asked = yield* Stream.runHead(queue.pending)
        assert.strictEqual(asked._tag === "Some" ? asked.value.callId : undefined, "1")
        yield* call.cancel()
        assert.isFalse(yield* queue.answer("1", "allow"), "stale")
        assertAborted(yield* call.result, "ABORTED_BEFORE_DISPATCH", "Caller")
        assert.isFalse(yield* queue.answer("1", "allow"), "still stale")
        assert.strictEqual(bodies, 0)
      })
  )

  it.effect(
    cites("an answer counts once; the second is stale, and answers no later question", "CALL-22"),
    () =>
      Effect.gen(function*() {
        let bodies = 0
        const { queue, registry } = yield* queued(() => void bodies++)
        const first = yield* registry.start({ callId: "1", name: "t", arguments: {} })
        assert.isTrue(yield* queue.answer("1", "allow"))
        assert.isFalse(yield* queue.answer("1", "allow"))
        assert.strictEqual(codeOf(yield* first.result), "Success")
        const second = yield* registry.start({ callId: "1", name: "t", arguments: {} })
        yield* TestClock.adjust("1 hour")
        assert.strictEqual((yield* second.status)?.stage, "approval")
        assert.isTrue(yield* queue.answer("1", "deny"))
        assert.strictEqual(codeOf(yield* second.result), "DENIED")
        assert.strictEqual(bodies, 1)
      })
  )

  it.effect(
    cites("a question that was closed is shown to nobody who looks later", "CALL-22"),
    () =>
      Effect.gen(function*() {
        const { queue, registry } = yield* queued(() => {})
        const first = yield* registry.start({ callId: "1", name: "t", arguments: {} })
        const second = yield* registry.start({ callId: "2", name: "t", arguments: {} })
        yield* first.cancel()
        const shown = yield* Effect.forkChild(Stream.runCollect(Stream.take(queue.pending, 1)), {
          startImmediately: true
        })
        assert.deepStrictEqual((yield* Fiber.join(shown)).map(({ callId }) => callId), ["2"])
        assert.isTrue(yield* queue.answer("2", "deny"))
        assert.strictEqual(codeOf(yield* second.result), "DENIED")
      })
  )

  it.effect(
    cites("a new approval on a cancelled run is refused: nobody is asked", "CALL-04", "CALL-22"),
    () =>
      Effect.gen(function*() {
        const parts = watched()
        const registry = yield* Faces.registry(parts)
        const controller = new AbortController()
        controller.abort()
        const { signal } = controller
        const result = yield* Effect.promise(() =>
          registry.executePromise({ callId: "1", name: "tool", arguments: {}, signal })
        )
        assertAborted(result, "ABORTED_BEFORE_DISPATCH", "Caller")
        assert.notInclude(parts.ran, "approval")
      })
  )
})
