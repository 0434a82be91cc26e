import { assert, describe, it } from "@effect/vitest"
import { Approval, type Json, Policy, Tool, Toolbox, type ToolResult, Wrapper } from "@quiesce/core"
import { Effect, Layer, Schema } from "effect"
import { cites } from "../../../tests/conformance/cites.ts"
import { AnyJson, effectTool, input, makeRegistry, promiseTool } from "./support/registry.ts"

const codeOf = (result: ToolResult.ToolResult) => result._tag === "Success" ? "SUCCESS" : result.error.code

/** What nobody handled while `effect` ran. The process is asked once the reactions of every promise have run. */
const unhandledDuring = Effect.fnUntraced(function*<A, E, R>(effect: Effect.Effect<A, E, R>) {
  const unhandled: Array<unknown> = []
  const onUnhandled = (reason: unknown) => void unhandled.push(reason)
  yield* Effect.acquireUseRelease(
    Effect.sync(() => process.on("unhandledRejection", onUnhandled).on("uncaughtException", onUnhandled)),
    () => Effect.andThen(effect, Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))),
    () => Effect.sync(() => process.off("unhandledRejection", onUnhandled).off("uncaughtException", onUnhandled))
  )
  return unhandled
})

/** A thenable that is no promise. */
const thenable = (
  then: (resolve: (json: Json) => void, reject: (thrown: unknown) => void) => void
): PromiseLike<Json> => ({ then } as unknown as PromiseLike<Json>)

class Odd extends Error {
  override readonly name = "Odd"
}

const bodies: ReadonlyArray<
  readonly [body: string, execute: () => PromiseLike<Json> | Json, outcome: Json]
> = [
  ["that throws synchronously", () => {
    throw new Odd("no")
  }, { code: "TOOL_FAILURE", name: "Odd", message: "no" }],
  ["that returns a plain value", () => "plain", "plain"],
  ["that returns a promise already settled", () => Promise.resolve("settled"), "settled"],
  ["that returns a promise already rejected", () => Promise.reject(new Odd("no")), {
    code: "TOOL_FAILURE",
    name: "Odd",
    message: "no"
  }],
  ["that returns a foreign thenable", () => thenable((resolve) => resolve("foreign")), "foreign"],
  ["that returns a thenable that resolves twice and throws", () =>
    thenable((resolve, reject) => {
      resolve("first")
      resolve("second")
      reject(new Odd("third"))
      throw new Odd("fourth")
    }), "first"],
  ["that returns a thenable whose `then` throws", () =>
    thenable(() => {
      throw new Odd("no")
    }), { code: "TOOL_FAILURE", name: "Odd", message: "no" }],
  [
    "that returns a thenable of a thenable",
    () => thenable((resolve) => resolve(thenable((resolve) => resolve("deep")) as never)),
    "deep"
  ],
  ["that returns an object whose `then` is a getter that throws", () =>
    Object.defineProperty({}, "then", {
      get: () => {
        throw new Odd("no")
      }
    }) as never, { code: "TOOL_FAILURE", name: "Odd", message: "no" }],
  ["that returns an object whose `then` is no function", () => ({ then: 5 }) as never, { then: 5 }],
  [
    "that returns a promise with an overridden `then`",
    () => Object.assign(Promise.resolve("native"), { then: () => assert.fail("called") }) as never,
    "native"
  ],
  ["that rejects with undefined", () => Promise.reject(undefined), {
    code: "TOOL_FAILURE",
    name: "Error",
    message: "undefined"
  }],
  ["that returns undefined", () => undefined as never, { code: "INVALID_OUTPUT" }],
  ["that returns an effect", () => Effect.succeed(1) as never, { code: "INVALID_OUTPUT" }]
]

const matches = (result: ToolResult.ToolResult, outcome: Json) => {
  if (typeof outcome === "object" && outcome !== null && "code" in outcome) {
    assert(result._tag === "Failure")
    assert.deepInclude(result.error, outcome)
  } else {
    assert(result._tag === "Success")
    assert.deepStrictEqual(result.value, outcome)
  }
  assert.isTrue(result.dispatched)
}

describe("a promise body", () => {
  it.effect.each(bodies)(
    cites("a promise body %s is handled like any other, and nothing is left unhandled", "CALL-31"),
    ([, execute, outcome]) =>
      Effect.gen(function*() {
        const unhandled = yield* unhandledDuring(Effect.gen(function*() {
          const registry = yield* makeRegistry([promiseTool("a", execute)])
          matches(yield* registry.execute(input("a")), outcome)
          const toolbox = Toolbox.make({ tools: [promiseTool("a", execute)] })
          const { signal } = new AbortController()
          matches(yield* Effect.promise(() => toolbox.execute({ ...input("a"), signal })), outcome)
        }))
        assert.deepStrictEqual(unhandled, [])
      })
  )

  it.effect(
    cites("that rejects after a cancellation leaves nothing unhandled", "CALL-31"),
    () =>
      Effect.gen(function*() {
        const unhandled = yield* unhandledDuring(Effect.gen(function*() {
          const registry = yield* makeRegistry([
            promiseTool(
              "aborts",
              (_, { signal }) =>
                new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)))
            ),
            promiseTool(
              "fails",
              (_, { signal }) =>
                new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Odd("late"))))
            )
          ])
          for (const [name, code] of [["aborts", "ABORTED"], ["fails", "TOOL_FAILURE"]] as const) {
            const call = yield* registry.start(input(name))
            yield* call.cancel()
            assert.strictEqual(codeOf(yield* call.result), code)
          }
        }))
        assert.deepStrictEqual(unhandled, [])
      })
  )

  it.effect(
    cites("whose abort listener throws stops all the same", "BRIDGE-07", "CALL-31"),
    () =>
      Effect.gen(function*() {
        const finish = Promise.withResolvers<Json>()
        const unhandled = yield* unhandledDuring(Effect.gen(function*() {
          const registry = yield* makeRegistry([
            promiseTool("a", (_, { signal }) => {
              signal.addEventListener("abort", () => {
                throw new Odd("in the listener")
              })
              return finish.promise
            })
          ])
          const call = yield* registry.start(input("a"))
          yield* call.cancel()
          finish.resolve(1)
          assert.strictEqual(codeOf(yield* call.result), "ABORTED")
        }))
        // The platform reports what a listener throws: that one is the body's, not ours.
        assert.deepStrictEqual(unhandled.map(String), ["Odd: in the listener"])
      })
  )
})

describe("an effect body", () => {
  const odd: ReadonlyArray<readonly [body: string, execute: () => Effect.Effect<Json, unknown>, outcome: Json]> = [
    ["that throws synchronously", () => {
      throw new Odd("no")
    }, { code: "TOOL_FAILURE", name: "Odd", message: "no" }],
    ["that returns no effect", () => "plain" as never, { code: "TOOL_FAILURE", name: "TypeError" }],
    ["that returns a promise", () => Promise.resolve(1) as never, { code: "TOOL_FAILURE", name: "TypeError" }],
    ["that returns nothing", () => undefined as never, { code: "TOOL_FAILURE", name: "TypeError" }],
    ["that succeeds at once", () => Effect.succeed("at once"), "at once"],
    ["that dies", () => Effect.die(new Odd("no")), { code: "TOOL_FAILURE", name: "Odd", message: "no" }],
    ["that fails", () => Effect.fail(new Odd("no")), { code: "TOOL_FAILURE", name: "Odd", message: "no" }],
    ["that fails with undefined", () => Effect.fail(undefined), { code: "TOOL_FAILURE", message: "undefined" }],
    ["that yields a promise", () => Effect.succeed(Promise.resolve(1) as never), { code: "INVALID_OUTPUT" }]
  ]
  it.effect.each(odd)(
    cites("an effect body %s is handled like any other, and nothing is left unhandled", "CALL-31"),
    ([, execute, outcome]) =>
      Effect.gen(function*() {
        const unhandled = yield* unhandledDuring(Effect.gen(function*() {
          const registry = yield* makeRegistry([effectTool("a", execute)])
          matches(yield* registry.execute(input("a")), outcome)
        }))
        assert.deepStrictEqual(unhandled, [])
      })
  )

  it.effect(
    cites("may need the JSON as it came: a raw tool takes and gives JSON", "CALL-31"),
    () =>
      Effect.gen(function*() {
        const raw = Tool.raw("raw", {
          description: "a tool of elsewhere",
          inputSchema: { type: "object" },
          timeout: "1 second",
          mode: "exclusive",
          execute: (json) => Effect.succeed([json])
        })
        const registry = yield* makeRegistry([raw])
        assert.deepInclude(yield* registry.execute(input("raw", "raw", { a: null })), { value: [{ a: null }] })
        assert.deepStrictEqual(yield* registry.schemas, [
          { name: "raw", description: "a tool of elsewhere", inputSchema: { type: "object" } }
        ])
        assert.strictEqual(raw.mode, "exclusive")
      })
  )

  it.effect(
    cites("whose tool is given the wrong success is INVALID_OUTPUT with the path", "CALL-20", "CALL-31"),
    () =>
      Effect.gen(function*() {
        const tool = Tool.make("a", {
          description: "",
          parameters: AnyJson,
          success: Schema.Struct({ list: Schema.Array(Schema.Number) }),
          execute: () => Effect.succeed({ list: [1, "two"] } as never)
        })
        const registry = yield* makeRegistry([tool])
        const result = yield* registry.execute(input("a"))
        assert(result._tag === "Failure")
        assert.strictEqual(result.error.code, "INVALID_OUTPUT")
        assert.match(result.error.message, /\$\.list\[1\]/)
      })
  )
})

describe("a stage that returns no effect", () => {
  const ask = Policy.layer({ pre: () => Effect.succeed(Policy.ask()) })
  const junk = (async () => 1) as never
  const stages: ReadonlyArray<
    readonly [stage: string, layer: Parameters<typeof makeRegistry>[1], code: ToolResult.Code]
  > = [
    ["pre-policy", Policy.layer({ pre: junk }), "POLICY_FAILURE"],
    ["post-policy", Policy.layer({ post: junk }), "POLICY_FAILURE"],
    ["approval channel", Layer.merge(ask, Approval.layer({ ask: junk })), "DENIED"],
    ["wrapper", Wrapper.layer([junk]), "WRAPPER_FAILURE"]
  ]
  it.effect.each(stages)(
    cites("fails its call and no other, as if it had thrown: %s", "CALL-01", "CALL-21"),
    ([, layer, code]) =>
      Effect.gen(function*() {
        const registry = yield* makeRegistry([effectTool("a", () => Effect.succeed(1))], layer)
        for (const callId of ["first", "second"]) {
          assert.strictEqual(codeOf(yield* registry.execute(input("a", callId))), code)
        }
        assert.deepStrictEqual(yield* registry.inFlight, [])
      })
  )
})

describe("promise functions around a body", () => {
  const refuse = () => Promise.reject(new Odd("no"))
  const around: ReadonlyArray<readonly [what: string, options: Omit<Toolbox.Options, "tools">]> = [
    ["a wrapper that does not await `next`, which fails", {
      wrappers: [(next, _, { signal }) => {
        void next(signal)
        return "answered"
      }]
    }],
    ["a wrapper that awaits `next` twice, and once too late", {
      wrappers: [async (next, _, { signal }) => {
        const first = next(signal)
        void next(signal)
        return first
      }]
    }],
    ["a wrapper that rejects", { wrappers: [refuse] }],
    ["a policy that rejects before", { policy: { pre: refuse } }],
    ["a policy that rejects after", { policy: { post: refuse } }],
    ["a channel that rejects", { policy: { pre: () => ({ ask: "?" }) }, approval: refuse }],
    ["an observer that rejects", { observers: [refuse] }]
  ]
  it.effect.each(around)(
    cites("leave nothing unhandled, whether the call is cancelled or not: %s", "CALL-31"),
    ([, options]) =>
      Effect.gen(function*() {
        const unhandled = yield* unhandledDuring(Effect.promise(async () => {
          const toolbox = Toolbox.make({
            tools: [
              promiseTool("fails", refuse),
              promiseTool("waits", (_, { signal }) =>
                new Promise((_, reject) =>
                  signal.addEventListener("abort", () => reject(signal.reason))
                ))
            ],
            ...options
          })
          const controller = new AbortController()
          await toolbox.execute({ ...input("fails"), signal: controller.signal })
          const waiting = toolbox.execute({ ...input("waits"), signal: controller.signal })
          controller.abort(new Odd("enough"))
          await waiting
          await toolbox.close()
        }))
        assert.deepStrictEqual(unhandled, [])
      })
  )
})
