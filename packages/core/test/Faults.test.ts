import { assert, describe, it } from "@effect/vitest"
import { Abortable, Approval, type Json, Policy, Toolbox, type ToolResult, type Wrapper } from "@quiesce/core"
import { Effect } from "effect"
import { cites } from "../../../tests/conformance/cites.ts"
import * as Faces from "./support/faces.ts"
import * as Gate from "./support/Gate.ts"
import { thrown } from "./support/hostile.ts"
import { effectTool, promiseTool } from "./support/registry.ts"
import { codeOf, failureOf, isDeeplyFrozen, valueOf } from "./support/results.ts"
import { type Stages, watched } from "./support/watched.ts"

/** Every way in which one part of a pipeline can throw `value`, with the code that the call then has. */
const faults = (value: unknown): ReadonlyArray<readonly [where: string, stages: Stages, code: ToolResult.Code]> => {
  const throwing = (): any => {
    throw value
  }
  const dying = Effect.die(value)
  const failing = Effect.fail(value) as unknown as Effect.Effect<never>
  return [
    ["pre throws", { pre: throwing }, "POLICY_FAILURE"],
    ["pre dies", { pre: () => dying }, "POLICY_FAILURE"],
    ["pre fails", { pre: () => failing }, "POLICY_FAILURE"],
    ["pre throws inside an effect", { pre: () => Effect.sync(throwing) }, "POLICY_FAILURE"],
    ["pre rejects", { pre: Policy.fromPromise({ pre: async () => throwing() }).pre! }, "POLICY_FAILURE"],
    ["the channel throws", { ask: throwing }, "DENIED"],
    ["the channel dies", { ask: () => dying }, "DENIED"],
    ["the channel fails", { ask: () => failing }, "DENIED"],
    ["the channel rejects", { ask: Approval.fromPromise(async () => throwing()).ask }, "DENIED"],
    ["a wrapper throws", { wrap: throwing }, "WRAPPER_FAILURE"],
    ["a wrapper dies", { wrap: () => dying }, "WRAPPER_FAILURE"],
    ["a wrapper fails", { wrap: () => failing }, "WRAPPER_FAILURE"],
    ["a wrapper fails after it delegated", { wrap: (next) => Effect.andThen(next, failing) }, "WRAPPER_FAILURE"],
    ["a wrapper dies while it cleans up", { wrap: (next) => Effect.ensuring(next, dying) }, "WRAPPER_FAILURE"],
    ["the body throws", { body: throwing }, "TOOL_FAILURE"],
    ["the body dies", { body: () => dying }, "TOOL_FAILURE"],
    ["the body fails", { body: () => failing }, "TOOL_FAILURE"],
    ["the body rejects", { body: () => Abortable.promise(async () => throwing()) }, "TOOL_FAILURE"],
    ["the body fails and dies", { body: () => Effect.ensuring(failing, dying) }, "TOOL_FAILURE"],
    ["post throws", { post: throwing }, "POLICY_FAILURE"],
    ["post dies", { post: () => dying }, "POLICY_FAILURE"],
    ["post fails", { post: () => failing }, "POLICY_FAILURE"],
    ["post rejects", { post: Policy.fromPromise({ post: async () => throwing() }).post! }, "POLICY_FAILURE"],
    ["render throws", { render: throwing }, "INVALID_OUTPUT"],
    ["finalizeContent throws", { finalizeContent: throwing }, "INVALID_OUTPUT"]
  ]
}

describe.each(thrown as ReadonlyArray<readonly [string, any, string?]>)("thrown: %s", (_, value, message) => {
  it.effect(
    cites("is a failure of that one call, with a message, and the registry lives on", "CALL-01", "CALL-21"),
    () =>
      Effect.gen(function*() {
        for (const [where, faulty, code] of faults(value)) {
          const stages: Stages = { ...faulty }
          const host = yield* Faces.start.open(watched(stages))
          const result = failureOf(yield* (yield* host.call("tool")).result)
          assert.strictEqual(result.error.code, code, where)
          const { error } = result
          assert.strictEqual(typeof error.message, "string", where)
          assert.strictEqual(typeof error.name, "string", where)
          // Where two failures meet effect compares their fields, and then that is what failed.
          if (message !== undefined && where !== "the body fails and dies") {
            assert.include(error.message, message, where)
          }
          assert.deepStrictEqual(result.content, [{ type: "text", text: `Error: ${error.message}` }], where)
          assert.isTrue(isDeeplyFrozen(result), where)
          // It is data: it crosses a wire.
          assert.deepStrictEqual(JSON.parse(JSON.stringify(result)), result, where)
          for (const stage of Object.keys(faulty)) Reflect.deleteProperty(stages, stage)
          assert.strictEqual(codeOf(yield* (yield* host.call("tool")).result), "Success", where)
          assert.deepStrictEqual(yield* host.inFlight, [])
        }
      })
  )

  it.effect(
    cites("after the cancel it does as little harm, and is no success", "CALL-09", "CALL-21"),
    () =>
      Effect.gen(function*() {
        const throwing = () => {
          throw value
        }
        const late = (gate: Gate.Gate<never>): ReadonlyArray<Stages> => [
          { pre: () => Effect.uninterruptible(Effect.andThen(gate.wait, Effect.sync(throwing))) },
          { ask: () => Effect.uninterruptible(Effect.andThen(gate.wait, Effect.sync(throwing))) },
          { wrap: () => Effect.uninterruptible(Effect.andThen(gate.wait, Effect.sync(throwing))) },
          { wrap: (next) => Effect.ensuring(next, Effect.andThen(gate.wait, Effect.sync(throwing))) },
          { body: () => Effect.uninterruptible(Effect.andThen(gate.wait, Effect.sync(throwing))) },
          { body: () => Abortable.promise(() => gate.promise().then(throwing)) },
          { body: () => Effect.onInterrupt(gate.wait, throwing) },
          { post: () => Effect.andThen(gate.wait, Effect.sync(throwing)) }
        ]
        for (let index = 0; index < late(Gate.make()).length; index++) {
          const gate = Gate.make<never>()
          const host = yield* Faces.start.open(watched(late(gate)[index]))
          const call = yield* host.call("tool")
          yield* gate.reached
          yield* call.cancel
          yield* gate.open(undefined as never)
          const result = failureOf(yield* call.result)
          assert.isFalse(["UNKNOWN_TOOL", "INVALID_ARGUMENTS"].includes(result.error.code))
          assert.deepStrictEqual(JSON.parse(JSON.stringify(result)), result)
          assert.deepStrictEqual(yield* host.inFlight, [])
        }
      })
  )

  it.effect(cites("the same of promise functions, in a Toolbox", "CALL-21"), () =>
    Effect.gen(function*() {
      const rejecting = async (): Promise<never> => {
        throw value
      }
      const throwing = () => {
        throw value
      }
      for (const fault of [rejecting, throwing]) {
        for (
          const [code, options] of [
            ["POLICY_FAILURE", { policy: { pre: fault } }],
            ["POLICY_FAILURE", { policy: { post: fault } }],
            ["DENIED", { policy: { pre: () => ({ ask: "?" }) }, approval: fault }],
            ["WRAPPER_FAILURE", { wrappers: [fault] }],
            ["Success", { observers: [fault] }]
          ] as const
        ) {
          const toolbox = Toolbox.make({ tools: [promiseTool("t", () => "done")], ...options })
          const { signal } = new AbortController()
          const result = yield* Effect.promise(() => toolbox.execute({ callId: "1", name: "t", arguments: {}, signal }))
          assert.strictEqual(codeOf(result), code)
          assert.deepStrictEqual(JSON.parse(JSON.stringify(result)), result)
          assert.deepStrictEqual(toolbox.inFlight(), [])
        }
        const toolbox = Toolbox.make({ tools: [promiseTool("t", fault)] })
        const { signal } = new AbortController()
        const result = yield* Effect.promise(() => toolbox.execute({ callId: "1", name: "t", arguments: {}, signal }))
        assert.strictEqual(codeOf(result), "TOOL_FAILURE")
        assert.deepStrictEqual(JSON.parse(JSON.stringify(result)), result)
      }
    }))
})

describe("a stage that answers with nonsense", () => {
  const trapped = new Proxy({}, {
    get: () => {
      throw new Error("inspected")
    }
  })
  const values: ReadonlyArray<readonly [what: string, value: any]> = [
    ["undefined", undefined],
    ["null", null],
    ["a string", "allow"],
    ["an object without a tag", {}],
    ["another tag", { _tag: "Whatever" }],
    ["a Proxy that throws on inspection", trapped]
  ]
  it.effect.each(values)(
    cites("%s is no decision, no answer, no review and no permission", "CALL-21", "CALL-22"),
    ([, value]) =>
      Effect.gen(function*() {
        for (
          const [stages, code] of [
            [{ pre: () => Effect.succeed(value) }, "POLICY_FAILURE"],
            [{ ask: () => Effect.succeed(value) }, "DENIED"],
            [{ post: () => Effect.succeed(value) }, "POLICY_FAILURE"],
            [{ pre: () => value }, "POLICY_FAILURE"],
            [{ ask: () => value }, "DENIED"],
            [{ wrap: () => value }, "WRAPPER_FAILURE"],
            [{ post: () => value }, "POLICY_FAILURE"]
          ] as ReadonlyArray<readonly [Stages, string]>
        ) {
          // `watched` takes an answer of undefined or null for none given.
          const parts = watched(stages)
          const strict: Faces.Parts = {
            ...parts,
            ...("pre" in stages && { policy: { ...parts.policy, pre: stages.pre! } }),
            ...("ask" in stages && { approval: { ask: stages.ask! } }),
            ...("wrap" in stages && { wrappers: [stages.wrap!] }),
            ...("post" in stages && { policy: { ...parts.policy, post: stages.post! } })
          }
          const host = yield* Faces.start.open(strict)
          const result = yield* (yield* host.call("tool")).result
          assert.strictEqual(codeOf(result), code, JSON.stringify(Object.keys(stages)))
          if (code !== "POLICY_FAILURE" || !("post" in stages)) assert.notInclude(parts.ran, "body")
        }
      })
  )

  it.effect(cites("a Toolbox holds its promise functions to the same", "CALL-21"), () =>
    Effect.gen(function*() {
      for (const [, value] of values.filter(([, value]) => value !== "allow")) {
        for (
          const [options, code] of [
            [{ policy: { pre: () => value } }, "POLICY_FAILURE"],
            [{ policy: { pre: () => ({ ask: "?" }) }, approval: () => value }, "DENIED"],
            [{ policy: { post: () => value } }, "POLICY_FAILURE"]
          ] as const
        ) {
          let bodies = 0
          const toolbox = Toolbox.make({ tools: [promiseTool("t", () => ++bodies)], ...options })
          const { signal } = new AbortController()
          const result = yield* Effect.promise(() => toolbox.execute({ callId: "1", name: "t", arguments: {}, signal }))
          assert.strictEqual(codeOf(result), code)
          if (!("post" in (options.policy ?? {}))) assert.strictEqual(bodies, 0)
        }
      }
    }))
})

describe("a fault", () => {
  it.effect(
    cites("of one call touches no other that is in flight", "CALL-21", "CALL-29"),
    () =>
      Effect.gen(function*() {
        const gate = Gate.make<string>()
        const host = yield* Faces.start.open({
          tools: [effectTool("waits", () => gate.wait), effectTool("dies", () => Effect.die(new Error("x")))],
          policy: { pre: (call) => call.callId === "bad" ? Effect.die("bad") : Effect.succeed(Policy.allow) }
        })
        const waiting = yield* host.call("waits")
        assert.strictEqual(codeOf(yield* (yield* host.call("dies")).result), "TOOL_FAILURE")
        assert.strictEqual(codeOf(yield* (yield* host.call("waits", { callId: "bad" })).result), "POLICY_FAILURE")
        assert.isFalse(waiting.isOver())
        yield* gate.open("done")
        assert.strictEqual(valueOf(yield* waiting.result), "done")
      })
  )

  it.effect(
    cites("of the body cannot forge a code: its name, code and fields are its own", "CALL-21"),
    () =>
      Effect.gen(function*() {
        for (const code of ["ABORTED", "DENIED", "TOOL_TIMEOUT", "ABORTED_BEFORE_DISPATCH"]) {
          const error = Object.assign(new Error("mine"), {
            name: "Mine",
            code,
            dispatched: false,
            result: { error: { code } }
          })
          const host = yield* Faces.start.open({
            tools: [promiseTool("t", () => Promise.reject(error))],
            wrappers: [(next: Wrapper.Next) => next]
          })
          const result = failureOf(yield* (yield* host.call("t")).result)
          assert.strictEqual(result.error.code, "TOOL_FAILURE")
          assert.strictEqual(result.error.name, "Mine")
          assert.deepInclude(result.error.detail as { readonly [key: string]: Json }, { code })
          assert.isTrue(result.dispatched)
        }
      })
  )

  it.effect(
    cites("of a body that fails with another call's own error is a failure of the tool", "CALL-21"),
    () =>
      Effect.gen(function*() {
        let stolen: unknown
        const host = yield* Faces.start.open({
          tools: [
            effectTool("denied", () => Effect.succeed(1)),
            effectTool("steals", () => Effect.fail(stolen)),
            effectTool("fails", () => Effect.fail("x"))
          ],
          wrappers: [(next) => Effect.tapError(next, (error) => Effect.sync(() => void (stolen = error)))]
        })
        yield* (yield* host.call("fails")).result
        const result = failureOf(yield* (yield* host.call("steals")).result)
        assert.strictEqual(result.error.code, "TOOL_FAILURE")
        assert.strictEqual(result.error.name, "ToolCallFailed")
      })
  )
})

describe("a policy that is an object of a class", () => {
  it.effect.each(["pre", "post"] as const)(
    cites("whose `%s` throws when it is looked at is at fault in each call", "CALL-01", "CALL-21"),
    (stage) =>
      Effect.gen(function*() {
        const policy: Policy.Policy = Object.defineProperty({}, stage, {
          get: () => {
            throw new Error("not to be seen")
          }
        })
        for (const one of [policy, Policy.sequence({}, { pre: () => Effect.succeed(Policy.allow) }, wrapped(policy))]) {
          const registry = yield* Faces.registry({ tools: [effectTool("tool", () => Effect.succeed(1))], policy: one })
          const result = failureOf(yield* registry.execute({ callId: "1", name: "tool", arguments: {} }))
          assert.deepStrictEqual([result.error.code, result.error.message], ["POLICY_FAILURE", "not to be seen"])
        }
      })
  )

  it.effect(cites("keeps its methods, alone and in a sequence", "CALL-23"), () =>
    Effect.gen(function*() {
      class Counting {
        decided = 0
        reviewed = 0
        pre() {
          this.decided++
          return Effect.succeed(Policy.allow)
        }
        post() {
          this.reviewed++
          return Effect.succeed(Policy.accept())
        }
      }
      for (const inList of [false, true]) {
        const counting = new Counting()
        const policy = inList ? Policy.sequence(counting, { post: () => Effect.succeed(Policy.accept()) }) : counting
        const registry = yield* Faces.registry({ tools: [effectTool("tool", () => Effect.succeed(1))], policy })
        assert.strictEqual(codeOf(yield* registry.execute({ callId: "1", name: "tool", arguments: {} })), "Success")
        assert.deepStrictEqual([counting.decided, counting.reviewed], [1, 1])
      }
    }))
})

/** Looks at `policy` only when it is asked. */
const wrapped = (policy: Policy.Policy): Policy.Policy => ({
  pre: (call) => policy.pre?.(call) ?? Effect.succeed(Policy.allow),
  post: (call, result) => policy.post?.(call, result) ?? Effect.succeed(Policy.accept())
})
