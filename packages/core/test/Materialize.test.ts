import { assert, describe, it } from "@effect/vitest"
import { type Json, Policy, type ToolCall, type ToolResult } from "@quiesce/core"
import { Effect, Exit, Scope } from "effect"
import { runInNewContext } from "node:vm"
import { cites } from "../../../tests/conformance/cites.ts"
import * as Faces from "./support/faces.ts"
import { effectTool } from "./support/registry.ts"
import { codeOf, failureOf, isDeeplyFrozen, issuesOf, valueOf } from "./support/results.ts"

/** A registry whose one tool answers with its arguments; `seen` is what policy and body were shown. */
const echo = Effect.fnUntraced(function*() {
  const seen = { policy: [] as Array<Json>, body: [] as Array<Json> }
  const tool = effectTool("echo", (json) =>
    Effect.sync(() => {
      seen.body.push(json)
      return json
    }))
  const policy: Policy.Policy = {
    pre: (call) =>
      Effect.sync(() => {
        seen.policy.push(call.arguments)
        return Policy.allow
      })
  }
  const registry = yield* Faces.registry({ tools: [tool], policy })
  return { seen, call: (args: unknown) => registry.execute({ callId: "1", name: "echo", arguments: args }) }
})

class Point {
  readonly x = 1
}
class Numbers extends Array<number> {}

const cycle: Record<string, unknown> = {}
cycle["self"] = cycle

const revoked = () => {
  const { proxy, revoke } = Proxy.revocable({}, {})
  revoke()
  return proxy
}

const hidden = Object.defineProperty({}, "hidden", { value: 1, enumerable: false })

const argumentsObject = function(..._: Array<unknown>) {
  return arguments
}

const throwing = (trap: string) =>
  new Proxy({ a: 1 }, {
    [trap]: () => {
      throw new Error(`${trap} is trapped`)
    }
  })

/** A function that says it is the constructor `name`. */
const madeUp = (name: string) =>
  Object.assign(function() {}, { toString: () => `function ${name}() { [native code] }` })

/** What is refused, and where: each is put under the key `a` of the second element of an array. */
const refused: ReadonlyArray<readonly [what: string, value: unknown, below?: ReadonlyArray<string | number>]> = [
  ["what looks like an object of another realm", Object.create(Object.create(null, { isPrototypeOf: { value: 1 } }))],
  ["what borrows the constructor of one", Object.create(Object.create(null, { constructor: { value: Object } }))],
  ["what has made one up", Object.create(Object.create(null, { constructor: { value: madeUp("Object") } }))],
  ["an array whose prototype is an array", Object.setPrototypeOf([1], [])],
  ["undefined", undefined],
  ["a function", () => 1],
  ["a symbol", Symbol("s")],
  ["a bigint", 1n],
  ["NaN", Number.NaN],
  ["Infinity", Number.POSITIVE_INFINITY],
  ["-Infinity", Number.NEGATIVE_INFINITY],
  ["-0", -0],
  ["a hole", Object.assign([1], { 2: 2 })],
  ["an array that is all holes", new Array(3)],
  ["an array whose extra key hides a hole", Object.assign([1], { 2: 2, extra: 1 })],
  ["an extra key on an array", Object.assign([1], { extra: 1 })],
  ["a symbol key on an array", Object.assign([1], { [Symbol("s")]: 1 })],
  ["an instance of a class", new Point()],
  ["an object with a prototype that is plain data", Object.create({ inherited: 1 })],
  ["a subclass of Array", Numbers.from([1])],
  ["an array without a prototype", Object.setPrototypeOf([1], null)],
  ["an array that claims to be an object", Object.setPrototypeOf([1], Object.prototype)],
  ["a Date", new Date(0)],
  ["a Map", new Map([["a", 1]])],
  ["a Set", new Set([1])],
  ["a RegExp", /a/],
  ["an Error", new Error("e")],
  ["a boxed string", Object("s")],
  ["a boxed number", Object(1)],
  ["a typed array", new Uint8Array([1])],
  ["an ArrayBuffer", new ArrayBuffer(1)],
  ["a promise", Promise.resolve(1)],
  ["an arguments object", argumentsObject(1)],
  ["a symbol key", { [Symbol("s")]: 1 }],
  ["a non-enumerable key", hidden],
  ["a method called toJSON", { toJSON: () => ({ a: 1 }) }, ["toJSON"]],
  ["an instance of a class of another realm", runInNewContext("new (class Point { x = 1 })()")],
  ["a subclass of another realm's Array", runInNewContext("new (class A extends Array {})(1)")],
  ["a Date of another realm", runInNewContext("new Date(0)")]
]

/** What throws while it is read. */
const unreadable: ReadonlyArray<readonly [what: string, value: unknown]> = [
  ["a throwing getter", {
    get a() {
      throw new Error("getter")
    }
  }],
  ["a getter that throws undefined", {
    get a() {
      throw undefined
    }
  }],
  ["a getter that throws what cannot be inspected", {
    get a() {
      throw throwing("get")
    }
  }],
  ["a Proxy whose ownKeys throws", throwing("ownKeys")],
  ["a Proxy whose get throws", throwing("get")],
  ["a Proxy whose getPrototypeOf throws", throwing("getPrototypeOf")],
  ["a Proxy whose getOwnPropertyDescriptor throws", throwing("getOwnPropertyDescriptor")],
  ["a revoked Proxy", revoked()],
  ["a Proxy of an array that lies about its length", new Proxy([1], { get: (_, key) => key === "length" ? 0.5 : 1 })],
  ["a Proxy of an array without a length", new Proxy([1], { get: () => undefined })]
]

const nested = (levels: number): Json => {
  let value: Json = []
  for (let level = 1; level < levels; level++) value = level % 2 === 0 ? [value] : { down: value }
  return value
}

describe("materialize", () => {
  it.effect.each(refused)(
    cites("%s is refused, with its path, and nobody is shown the call", "CALL-02"),
    ([, value, below = []]) =>
      Effect.gen(function*() {
        const { call, seen } = yield* echo()
        const result = yield* call(["first", { a: value }])
        assert.strictEqual(codeOf(result), "INVALID_ARGUMENTS")
        assert.deepStrictEqual(issuesOf(result).map(({ path }) => path), [[1, "a", ...below]])
        assert.isFalse(result.dispatched)
        assert.deepStrictEqual(seen, { policy: [], body: [] })
        // The same where it is all there is.
        assert.strictEqual(codeOf(yield* call(value)), "INVALID_ARGUMENTS")
      })
  )

  it.effect.each(unreadable)(
    cites("%s is refused without harm to the registry", "CALL-02"),
    ([, value]) =>
      Effect.gen(function*() {
        const { call, seen } = yield* echo()
        for (const args of [value, [value], { a: value }]) {
          assert.strictEqual(codeOf(yield* call(args)), "INVALID_ARGUMENTS")
        }
        assert.deepStrictEqual(seen, { policy: [], body: [] })
        assert.strictEqual(valueOf(yield* call(1)), 1)
      })
  )

  it.effect(cites("a cycle is refused, through objects and through arrays", "CALL-02"), () =>
    Effect.gen(function*() {
      const { call } = yield* echo()
      const array: Array<unknown> = []
      array.push(array)
      for (const args of [cycle, array, { a: [cycle] }]) {
        assert.strictEqual(codeOf(yield* call(args)), "INVALID_ARGUMENTS")
      }
    }))

  it.effect(
    cites("JSON reaches policy and body unchanged, deeply frozen, as a copy", "CALL-02"),
    () =>
      Effect.gen(function*() {
        const { call, seen } = yield* echo()
        const args = { a: [1, "two", null, true, { b: [] }], "": {}, n: 0, e: -1.5e300 }
        const result = yield* call(args)
        assert.deepStrictEqual(seen, { policy: [args], body: [args] })
        assert.deepStrictEqual(valueOf(result), args)
        assert.isTrue(isDeeplyFrozen(seen.policy[0]) && isDeeplyFrozen(seen.body[0]))
        assert.isFalse(Object.isFrozen(args) || Object.isFrozen(args.a), "the caller's own object is left alone")
      })
  )

  it.effect(
    cites("`__proto__` is a key like any other, all the way to the body and back", "CALL-02"),
    () =>
      Effect.gen(function*() {
        const { call, seen } = yield* echo()
        const text = `{"__proto__":{"admin":true},"nested":[{"__proto__":1}]}`
        const result = yield* call(JSON.parse(text))
        for (const json of [...seen.policy, ...seen.body, valueOf(result)]) {
          assert.strictEqual(JSON.stringify(json), text)
          assert.strictEqual(Object.getPrototypeOf(json), Object.prototype)
          assert.isUndefined((json as any).admin)
        }
      })
  )

  it.effect(
    cites("plain objects and arrays of another realm, or without a prototype, are plain", "CALL-02"),
    () =>
      Effect.gen(function*() {
        const { call } = yield* echo()
        assert.deepStrictEqual(valueOf(yield* call(runInNewContext(`({ a: [{ b: 1 }] })`))), { a: [{ b: 1 }] })
        assert.deepStrictEqual(valueOf(yield* call(Object.assign(Object.create(null), { a: 1 }))), { a: 1 })
      })
  )

  it.effect(cites("a `toJSON` that is no function is a key like any other", "CALL-02"), () =>
    Effect.gen(function*() {
      const { call } = yield* echo()
      assert.deepStrictEqual(valueOf(yield* call({ toJSON: "text" })), { toJSON: "text" })
    }))

  it.effect(
    cites("every property is read once: what was checked is what is used", "CALL-02"),
    () =>
      Effect.gen(function*() {
        const { call } = yield* echo()
        let reads = 0
        const args = {
          get a() {
            return ++reads === 1 ? "checked" : () => "smuggled"
          }
        }
        assert.deepStrictEqual(valueOf(yield* call(args)), { a: "checked" })
        assert.strictEqual(reads, 1)
      })
  )

  it.effect(
    cites("what the caller does to its arguments afterwards, nobody sees", "CALL-02"),
    () =>
      Effect.gen(function*() {
        const args = { list: [1] }
        const tool = effectTool("t", (json) => Effect.succeed(json))
        const policy: Policy.Policy = {
          pre: () =>
            Effect.sync(() => {
              args.list.push(2)
              return Policy.allow
            })
        }
        const registry = yield* Faces.registry({ tools: [tool], policy })
        assert.deepStrictEqual(valueOf(yield* registry.execute({ callId: "1", name: "t", arguments: args })), {
          list: [1]
        })
      })
  )

  it.effect(cites("arguments may be 512 levels deep, and no deeper", "CALL-02"), () =>
    Effect.gen(function*() {
      const { call } = yield* echo()
      assert.deepStrictEqual(valueOf(yield* call(nested(512))), nested(512))
      const result = yield* call(nested(513))
      assert.strictEqual(codeOf(result), "INVALID_ARGUMENTS")
      assert.strictEqual(issuesOf(result)[0]?.path.length, 512)
      // Much deeper than any stack.
      assert.strictEqual(codeOf(yield* call(nested(100_000))), "INVALID_ARGUMENTS")
    }))

  it.effect(cites("arguments may have 1,000,000 nodes, and no more", "CALL-02"), () =>
    Effect.gen(function*() {
      // Refused by the policy, which sees them: nothing else has to walk through a million numbers.
      const policy = { pre: () => Effect.succeed(Policy.deny("counted")) }
      const registry = yield* Faces.registry({ tools: [], policy })
      const call = (args: unknown) => registry.execute({ callId: "1", name: "t", arguments: args })
      assert.strictEqual(codeOf(yield* call(new Array(999_999).fill(0))), "DENIED")
      assert.strictEqual(codeOf(yield* call(new Array(1_000_000).fill(0))), "INVALID_ARGUMENTS")
    }))

  it.effect(cites("a shared reference counts each time that it is met", "CALL-02"), () =>
    Effect.gen(function*() {
      const { call } = yield* echo()
      const row = new Array<Json>(999).fill(0)
      assert.strictEqual(codeOf(yield* call(new Array(10).fill(row))), "Success")
      // Two arrays, and 1,001,001 nodes.
      assert.strictEqual(codeOf(yield* call(new Array(1_001).fill(row))), "INVALID_ARGUMENTS")
      // 60 arrays, and 2^61 - 1 nodes.
      let doubled: Json = row
      for (let level = 0; level < 60; level++) doubled = [doubled, doubled]
      assert.strictEqual(codeOf(yield* call(doubled)), "INVALID_ARGUMENTS")
    }))

  it.effect(cites("metadata is held to the same", "CALL-02"), () =>
    Effect.gen(function*() {
      let seen: ToolCall.Pending | undefined
      const tool = effectTool("t", (_, call) =>
        Effect.sync(() => {
          seen = call
          return null
        }))
      const registry = yield* Faces.registry({ tools: [tool] })
      const call = (metadata: any) => registry.execute({ callId: "1", name: "t", arguments: {}, metadata })
      for (const metadata of [{ a: undefined }, { a: new Date(0) }, cycle]) {
        assert.strictEqual(codeOf(yield* call(metadata)), "INVALID_ARGUMENTS")
      }
      assert.isUndefined(seen)
      const metadata = { a: [1] }
      yield* call(metadata)
      assert.deepStrictEqual(seen!.metadata, metadata)
      assert.isTrue(isDeeplyFrozen(seen!.metadata) && !Object.isFrozen(metadata))
    }))

  it.effect(
    cites("a call whose arguments are refused has its token, and no arguments", "CALL-02", "CALL-22"),
    () =>
      Effect.gen(function*() {
        const seen: Array<ToolCall.Pending> = []
        const record = (call: ToolCall.Pending) => {
          seen.push(call)
          return undefined
        }
        const tool = effectTool("t", () => Effect.succeed(null), { finalizeContent: record })
        const registry = yield* Faces.registry({
          tools: [tool],
          observers: [(call) => Effect.sync(() => record(call))]
        })
        yield* registry.execute({ callId: "1", name: "t", arguments: undefined })
        yield* registry.execute({ callId: "1", name: "t", arguments: undefined })
        const [finalized, observed, finalized2, observed2] = seen
        assert.strictEqual(seen.length, 4)
        assert.isTrue(finalized!.token === observed!.token && finalized2!.token === observed2!.token)
        assert.isTrue(finalized!.token !== finalized2!.token)
        assert.isNull(finalized!.arguments)
      })
  )

  it.effect(
    cites("finalizeContent is the one of the tool that was visible before the arguments were read", "CALL-02"),
    () =>
      Effect.gen(function*() {
        const content = (text: string): ReadonlyArray<ToolResult.Content> => [{ type: "text", text }]
        const named = (text: string) =>
          effectTool("t", () => Effect.succeed(text), { finalizeContent: () => content(text) })
        const registry = yield* Faces.registry({ tools: [] })
        const scope = yield* Scope.make()
        yield* Scope.provide(registry.register(named("first")), scope)
        const later = yield* Scope.Scope
        const swapping = (value: unknown) => ({
          get a() {
            Effect.runFork(Scope.close(scope, Exit.void))
            Effect.runSync(Scope.provide(registry.register(named("second")), later))
            return value
          }
        })
        const refusedResult = yield* registry.execute({ callId: "1", name: "t", arguments: swapping(undefined) })
        assert.strictEqual(codeOf(refusedResult), "INVALID_ARGUMENTS")
        assert.deepStrictEqual(refusedResult.content, content("first"))
        assert.deepStrictEqual(
          (yield* registry.execute({ callId: "2", name: "t", arguments: {} })).content,
          content("second")
        )
      })
  )

  it.effect(
    cites("a materialization failure wins over a cancellation that was there before", "CALL-03"),
    () =>
      Effect.gen(function*() {
        const { call: _, ...rest } = yield* echo()
        const registry = yield* Faces.registry({ tools: [effectTool("t", (json) => Effect.succeed(json))] })
        const input = { callId: "1", name: "t", arguments: { a: undefined } }
        const aborted = yield* Effect.promise(() => registry.executePromise({ ...input, signal: AbortSignal.abort() }))
        assert.strictEqual(codeOf(aborted), "INVALID_ARGUMENTS")
        assert.deepStrictEqual(failureOf(aborted).content, [{
          type: "text",
          text: "Error: invalid arguments: $.a: a value of type undefined"
        }])
        yield* registry.shutdown
        assert.strictEqual(codeOf(yield* registry.execute(input)), "INVALID_ARGUMENTS")
        assert.strictEqual(codeOf(yield* registry.execute({ ...input, arguments: {} })), "ABORTED_BEFORE_DISPATCH")
        assert.deepStrictEqual(rest.seen, { policy: [], body: [] })
      })
  )

  it.effect(
    cites("it wins also over one that the reading of the arguments triggers", "CALL-03"),
    () =>
      Effect.gen(function*() {
        const registry = yield* Faces.registry({ tools: [effectTool("t", (json) => Effect.succeed(json))] })
        const controller = new AbortController()
        const args = {
          get a() {
            controller.abort()
            return undefined
          }
        }
        const result = yield* Effect.promise(() =>
          registry.executePromise({ callId: "1", name: "t", arguments: args, signal: controller.signal })
        )
        assert.strictEqual(codeOf(result), "INVALID_ARGUMENTS")
      })
  )
})
