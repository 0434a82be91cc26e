import { assert, describe, it } from "@effect/vitest"
import { type Json, Observer, Policy, type ToolCall, type ToolResult, Wrapper } from "@quiesce/core"
import { Deferred, Effect } from "effect"
import { cites } from "../../../tests/conformance/cites.ts"
import { effectTool, input, makeRegistry, promiseTool } from "./support/registry.ts"

const codeOf = (result: ToolResult.ToolResult) => result._tag === "Success" ? "SUCCESS" : result.error.code

describe("residue", () => {
  const declaring = (then: (call: ToolCall.Running) => Effect.Effect<Json, unknown>) =>
    effectTool("a", (_, call) =>
      Effect.suspend(() => {
        call.declareResidue({ kind: "process", detail: "pid 7 left the group" })
        call.declareResidue({ kind: "remote", detail: "the server never confirmed" })
        return then(call)
      }))
  const both: ReadonlyArray<ToolResult.Residue> = [
    { kind: "process", detail: "pid 7 left the group" },
    { kind: "remote", detail: "the server never confirmed" }
  ]

  it.effect(cites("is empty where a body declared none", "CALL-35"), () =>
    Effect.gen(function*() {
      const registry = yield* makeRegistry([effectTool("a", () => Effect.succeed(1))])
      assert.deepStrictEqual((yield* registry.execute(input("a"))).residue, [])
      assert.deepStrictEqual((yield* registry.execute(input("unknown"))).residue, [])
    }))

  const endings: ReadonlyArray<readonly [ending: string, body: Effect.Effect<Json, unknown>]> = [
    ["SUCCESS", Effect.succeed(1)],
    ["TOOL_FAILURE", Effect.fail("no")],
    ["INVALID_OUTPUT", Effect.succeed(NaN)]
  ]
  it.effect.each(endings)(
    cites("that a body declared is on its result: %s", "CALL-35"),
    ([code, body]) =>
      Effect.gen(function*() {
        const registry = yield* makeRegistry([declaring(() => body)])
        const result = yield* registry.execute(input("a"))
        assert.strictEqual(codeOf(result), code)
        assert.deepStrictEqual(result.residue, both)
      })
  )

  it.effect(
    cites("is on a cancelled result, also what is declared while the body stops", "CALL-35"),
    () =>
      Effect.gen(function*() {
        const late = { kind: "other", detail: "said while stopping" } as const
        const registry = yield* makeRegistry([
          declaring((call) => Effect.onInterrupt(Effect.never, () => Effect.sync(() => call.declareResidue(late)))),
          promiseTool("promise", (_, call) =>
            new Promise((_, reject) => {
              call.signal.addEventListener("abort", () => {
                call.declareResidue(late)
                reject(call.signal.reason)
              })
            }))
        ])
        for (const [name, residue] of [["a", [...both, late]], ["promise", [late]]] as const) {
          const call = yield* registry.start(input(name))
          yield* call.cancel()
          const result = yield* call.result
          assert.strictEqual(codeOf(result), "ABORTED")
          assert.deepStrictEqual(result.residue, residue)
        }
      })
  )

  it.effect(cites("adds up over the runs of a retry", "CALL-35"), () =>
    Effect.gen(function*() {
      let runs = 0
      const registry = yield* makeRegistry(
        [effectTool("a", (_, call) =>
          Effect.suspend(() => {
            call.declareResidue({ kind: "process", detail: `pid ${++runs}` })
            return runs === 1 ? Effect.fail("no") : Effect.succeed(runs)
          }))],
        Wrapper.layer([Effect.retry({ times: 1 })])
      )
      const result = yield* registry.execute(input("a"))
      assert.deepStrictEqual(result.residue.map(({ detail }) => detail), ["pid 1", "pid 2"])
    }))
})

describe("concludeTurn", () => {
  it.effect(cites("marks a success, and no failure", "CALL-35"), () =>
    Effect.gen(function*() {
      const registry = yield* makeRegistry([
        effectTool("a", (json, call) =>
          Effect.suspend(() => {
            call.concludeTurn()
            return json === "fail" ? Effect.fail("no") : Effect.succeed(1)
          }))
      ])
      assert.deepInclude(yield* registry.execute(input("a")), { concludesTurn: true })
      assert.notProperty(yield* registry.execute(input("a", "a", "fail")), "concludesTurn")
    }))
})

describe("metadata", () => {
  it.effect(
    cites("is frozen JSON for everybody who sees the call", "CALL-02", "CALL-33"),
    () =>
      Effect.gen(function*() {
        const seen: Array<ToolCall.Pending> = []
        const see = (call: ToolCall.Pending) => Effect.sync(() => void seen.push(call))
        const registry = yield* makeRegistry(
          [effectTool("a", (_, call) => Effect.as(see(call), 1))],
          Policy.layer({
            pre: (call) => Effect.as(see(call), Policy.allow),
            post: (call) => Effect.as(see(call), Policy.accept())
          }),
          Wrapper.layer([(next, call) => Effect.andThen(see(call), next)]),
          Observer.layer(see)
        )
        const metadata = { session: { id: "s" } }
        yield* registry.execute({ ...input("a"), metadata })
        assert.lengthOf(seen, 5)
        metadata.session.id = "forged"
        for (const call of seen) {
          assert.deepStrictEqual(call.metadata, { session: { id: "s" } })
          assert.isFrozen(call.metadata["session"])
          assert.strictEqual(call.token, seen[0]!.token)
        }
        yield* registry.execute(input("a"))
        assert.deepStrictEqual(seen.at(-1)!.metadata, {})
      })
  )

  it.effect(cites("that is not JSON is refused like such arguments", "CALL-02"), () =>
    Effect.gen(function*() {
      const registry = yield* makeRegistry([effectTool("a", () => Effect.succeed(1))])
      const result = yield* registry.execute({ ...input("a"), metadata: { when: new Date(0) as never } })
      assert.strictEqual(codeOf(result), "INVALID_ARGUMENTS")
    }))
})

describe("what a body gets", () => {
  it.effect(cites("can be taken apart: nothing of it needs `this`", "CALL-30"), () =>
    Effect.gen(function*() {
      const registry = yield* makeRegistry([
        promiseTool("a", (_, { concludeTurn, declareResidue, deferContext, progress, signal }) => {
          deferContext("context")
          declareResidue({ kind: "other", detail: "residue" })
          progress({ progress: 1 })
          concludeTurn()
          return signal.aborted
        })
      ])
      assert.deepInclude(yield* registry.execute(input("a")), {
        value: false,
        contexts: ["context"],
        residue: [{ kind: "other", detail: "residue" }],
        concludesTurn: true
      })
    }))

  it.effect(
    cites("is its own: what it changes there changes the call for nobody", "CALL-29", "CALL-30"),
    () =>
      Effect.gen(function*() {
        const reached = yield* Deferred.make<ToolCall.Pending>()
        const registry = yield* makeRegistry([
          promiseTool("a", (_, call) => {
            Object.assign(call, { callId: "forged", name: "forged", token: {} })
            return 1
          })
        ], Observer.layer((call) => Effect.asVoid(Deferred.succeed(reached, call))))
        const result = yield* registry.execute(input("a"))
        assert.deepInclude(result, { callId: "a", name: "a" })
        assert.deepInclude(yield* Deferred.await(reached), { callId: "a", name: "a" })
      })
  )
})
