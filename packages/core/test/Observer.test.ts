import { assert, describe, it } from "@effect/vitest"
import { type Json, Observer, Policy, type ToolCall, type ToolRegistry, type ToolResult } from "@quiesce/core"
import { Deferred, Effect, Exit, Logger, Scope } from "effect"
import { TestClock } from "effect/testing"
import { cites } from "../../../tests/conformance/cites.ts"
import { counted, effectTool, held, input, makeRegistry } from "./support/registry.ts"

const codeOf = (result: ToolResult.ToolResult) => result._tag === "Success" ? "SUCCESS" : result.error.code

/** Asserts that everything in `value` is frozen. */
const assertDeepFrozen = (value: unknown): void => {
  if (typeof value !== "object" || value === null) return
  assert.isFrozen(value)
  for (const child of Object.values(value)) assertDeepFrozen(child)
}

/** The lines that `effect` logs. */
const logged = Effect.fnUntraced(function*<A, E, R>(effect: Effect.Effect<A, E, R>) {
  const lines: Array<string> = []
  const logger = Logger.make(({ logLevel, message }) => void lines.push(`${logLevel} ${String(message)}`))
  yield* Effect.provideService(effect, Logger.CurrentLoggers, new Set([logger]))
  return lines
})

describe("an observer", () => {
  const faces: ReadonlyArray<
    readonly [
      face: string,
      call: (registry: ToolRegistry.Shape, input: ToolCall.Input) => Effect.Effect<ToolResult.ToolResult>
    ]
  > = [
    ["execute", (registry, input) => registry.execute(input)],
    ["start", (registry, input) => Effect.flatMap(registry.start(input), ({ result }) => result)],
    [
      "executePromise",
      (registry, input) =>
        Effect.promise(() => registry.executePromise({ ...input, signal: new AbortController().signal }))
    ]
  ]

  it.effect.each(faces)(
    cites("is started once, with the object that the caller of %s gets, before the caller gets it", "CALL-24"),
    ([, call]) =>
      Effect.gen(function*() {
        const told: Array<ToolResult.ToolResult> = []
        const registry = yield* makeRegistry(
          [counted("a", { list: [1] }).tool],
          Observer.layer((call, result) =>
            Effect.sync(() => {
              assert.strictEqual(call.callId, "the call")
              told.push(result)
            })
          )
        )
        const before = yield* Effect.map(call(registry, input("a", "the call")), (result) => [result, ...told])
        assert.lengthOf(before, 2)
        assert.strictEqual(before[0], before[1])
      })
  )

  const outcomes: ReadonlyArray<readonly [code: ToolResult.Code | "SUCCESS", input: ToolCall.Input]> = [
    ["SUCCESS", input("a")],
    ["TOOL_FAILURE", input("fails")],
    ["INVALID_OUTPUT", input("lies")],
    ["UNKNOWN_TOOL", input("unknown")],
    ["INVALID_ARGUMENTS", { callId: "a", name: "a", arguments: undefined }],
    ["INVALID_ARGUMENTS", input("a", "a", { [Symbol.iterator]: 1 })],
    ["DENIED", input("a", "denied")],
    ["POLICY_FAILURE", input("a", "broken")],
    ["BLOCKED", input("a", "blocked")]
  ]
  it.effect.each(outcomes)(
    cites("hears of %s once, all of it frozen", "CALL-24"),
    ([code, input]) =>
      Effect.gen(function*() {
        const results: Array<ToolResult.ToolResult> = []
        const registry = yield* makeRegistry(
          [
            effectTool("a", (_, call) =>
              Effect.sync(() => {
                call.deferContext({ context: [1] })
                call.declareResidue({ kind: "other", detail: "a shadow" })
                return { value: [1] }
              })),
            effectTool("fails", () => Effect.fail({ _tag: "Oh", list: [1] })),
            effectTool("lies", () => Effect.succeed((() => 1) as never))
          ],
          Policy.layer({
            pre: ({ callId }) =>
              callId === "broken"
                ? Effect.die({ list: [1] })
                : Effect.succeed(callId === "denied" ? Policy.deny("no") : Policy.allow),
            post: ({ callId }) =>
              Effect.succeed(callId === "blocked" ? Policy.block("no") : Policy.accept({ contexts: [[1]] }))
          }),
          Observer.layer((_, result) => Effect.sync(() => void results.push(result)))
        )
        const result = yield* registry.execute(input)
        assert.deepStrictEqual(results.map(codeOf), [code])
        assert.strictEqual(results[0], result)
        assertDeepFrozen(result)
      })
  )

  it.effect(cites("hears of calls that never began", "CALL-24"), () =>
    Effect.gen(function*() {
      const codes: Array<string> = []
      const registry = yield* makeRegistry(
        [counted("a").tool],
        Observer.layer((_, result) => Effect.sync(() => void codes.push(codeOf(result))))
      )
      const signal = AbortSignal.abort()
      yield* Effect.promise(() => registry.executePromise({ ...input("a"), signal }))
      yield* registry.shutdown
      yield* registry.execute(input("a"))
      assert.deepStrictEqual(codes, ["ABORTED_BEFORE_DISPATCH", "ABORTED_BEFORE_DISPATCH"])
    }))

  it.effect(
    cites("sees what the body gave, and not what the body made of it later", "CALL-24"),
    () =>
      Effect.gen(function*() {
        const value = { list: [1] }
        const registry = yield* makeRegistry([effectTool("a", () => Effect.succeed(value as Json))])
        const result = yield* registry.execute(input("a"))
        value.list.push(2)
        assert.deepInclude(result, { value: { list: [1] } })
      })
  )

  const bad: ReadonlyArray<readonly [behaviour: string, observer: Observer.Observer, logs: boolean]> = [
    ["throws", () => {
      throw new Error("no")
    }, true],
    ["fails", () => Effect.fail("no") as never, true],
    ["dies", () => Effect.die({ odd: true }), true],
    ["rejects", Observer.fromPromise(() => Promise.reject(undefined)), true],
    ["returns no effect", () => undefined as never, true],
    ["hangs", () => Effect.never, false],
    ["interrupts itself", () => Effect.interrupt, false],
    ["mutates what it is told", (call, result) =>
      Effect.sync(() => {
        Object.assign(result, { value: "forged" })
        Object.assign(call, { callId: "forged" })
      }), true]
  ]
  it.effect.each(bad)(
    cites("that %s changes nothing and starves nobody", "CALL-24"),
    ([, observer, logs]) =>
      Effect.gen(function*() {
        const others: Array<ToolResult.ToolResult> = []
        const other: Observer.Observer = (_, result) => Effect.sync(() => void others.push(result))
        const lines = yield* logged(Effect.gen(function*() {
          const registry = yield* makeRegistry([counted("a", 1).tool], Observer.layer(observer, other))
          yield* registry.observe(other)
          const result = yield* registry.execute(input("a"))
          assert.deepInclude(result, { _tag: "Success", value: 1, callId: "a" })
          assert.deepStrictEqual(others, [result, result])
          yield* registry.whenIdle
          yield* registry.execute(input("a"))
          assert.lengthOf(others, 4)
          yield* TestClock.adjust(0)
        }))
        assert.strictEqual(lines.length > 0, logs)
        for (const line of lines) assert.match(line, /^Warn .*observer/i)
      })
  )

  it.effect(cites("is not waited for by whenIdle", "CALL-24"), () =>
    Effect.gen(function*() {
      const finish = yield* Deferred.make<void>()
      let done = false
      const registry = yield* makeRegistry(
        [counted("a").tool],
        Observer.layer(() => Effect.andThen(Deferred.await(finish), Effect.sync(() => void (done = true))))
      )
      yield* registry.execute(input("a"))
      yield* registry.whenIdle
      assert.isFalse(done)
      yield* Deferred.succeed(finish, undefined)
      yield* TestClock.adjust(0)
      assert.isTrue(done)
    }))

  it.effect(
    cites("that is added is told until its scope closes, beside all others", "CALL-24", "CALL-32"),
    () =>
      Effect.gen(function*() {
        const heard: Array<string> = []
        const named = (name: string): Observer.Observer => (call) =>
          Effect.sync(() => void heard.push(`${name} ${call.callId}`))
        const registry = yield* makeRegistry([counted("a").tool], Observer.layer(named("layer 1"), named("layer 2")))
        const twice = named("added")
        const scope = yield* Scope.make()
        yield* registry.observe(twice)
        yield* Scope.provide(registry.observe(twice), scope)
        yield* registry.execute(input("a", "1"))
        yield* Scope.close(scope, Exit.void)
        yield* registry.execute(input("a", "2"))
        assert.deepStrictEqual(heard, [
          "layer 1 1",
          "layer 2 1",
          "added 1",
          "added 1",
          "layer 1 2",
          "layer 2 2",
          "added 2"
        ])
      })
  )

  it.effect(cites("that stands in the list twice is told twice", "CALL-24"), () =>
    Effect.gen(function*() {
      let count = 0
      const observer: Observer.Observer = () => Effect.sync(() => void count++)
      const registry = yield* makeRegistry([counted("a").tool], Observer.layer(observer, observer))
      yield* registry.execute(input("a"))
      assert.strictEqual(count, 2)
    }))

  it.effect(
    cites("that adds another hears of each result once, and so does the other from then on", "CALL-24"),
    () =>
      Effect.gen(function*() {
        const heard: Array<string> = []
        const scope = yield* Scope.make()
        const registry = yield* makeRegistry([counted("a").tool])
        const observer: Observer.Observer = (call) =>
          Effect.suspend(() => {
            heard.push(call.callId)
            return heard.length > 1 ? Effect.void : Scope.provide(registry.observe(observer), scope)
          })
        yield* registry.observe(observer)
        yield* registry.execute(input("a", "1"))
        yield* registry.execute(input("a", "2"))
        assert.deepStrictEqual(heard, ["1", "2", "2"])
      })
  )

  it.effect(cites("can be an instance of a class", "CALL-24"), () =>
    Effect.gen(function*() {
      class Recorder {
        readonly heard: Array<string> = []
        settled(call: ToolCall.Pending) {
          return Effect.sync(() => void this.heard.push(call.callId))
        }
        progress(_: ToolCall.Pending, { progress }: ToolCall.Progress) {
          return Effect.sync(() => void this.heard.push(`progress ${progress}`))
        }
      }
      const [byLayer, added] = [new Recorder(), new Recorder()]
      const tool = effectTool("a", (_, call) => Effect.sync(() => (call.progress({ progress: 1 }), 1)))
      const registry = yield* makeRegistry([tool], Observer.layer(byLayer))
      yield* registry.observe(added)
      yield* registry.execute(input("a"))
      assert.deepStrictEqual(byLayer.heard, ["progress 1", "a"])
      assert.deepStrictEqual(added.heard, ["progress 1", "a"])
    }))

  it.effect(
    cites("may call back into the registry: cancel, call, add tools, shut down", "CALL-24"),
    () =>
      Effect.gen(function*() {
        const b = held("b")
        const results: Array<string> = []
        const registry = yield* makeRegistry([counted("a").tool, b.tool])
        yield* registry.observe((call, result) =>
          Effect.gen(function*() {
            results.push(`${call.callId} ${codeOf(result)}`)
            if (call.callId === "first") {
              assert.strictEqual(yield* registry.cancel("b"), 1)
              yield* registry.execute(input("a", "from the observer"))
            }
            if (call.callId === "from the observer") yield* registry.shutdown
          })
        )
        const other = yield* registry.start(input("b"))
        yield* registry.execute(input("a", "first"))
        assert.strictEqual(codeOf(yield* other.result), "ABORTED")
        assert.deepStrictEqual(results.sort(), ["b ABORTED", "first SUCCESS", "from the observer SUCCESS"])
        assert.strictEqual(codeOf(yield* registry.execute(input("a"))), "ABORTED_BEFORE_DISPATCH")
      })
  )
})

describe("progress", () => {
  it.effect(cites("of a body is told to observers as it comes", "CALL-24", "CALL-35"), () =>
    Effect.gen(function*() {
      const goOn = yield* Deferred.make<void>()
      const reports: Array<unknown> = []
      const tool = effectTool("a", (_, call) =>
        Effect.gen(function*() {
          call.progress({ progress: 1, total: 2, message: "half" })
          yield* Deferred.await(goOn)
          call.progress({ progress: 2 })
          return null
        }))
      const registry = yield* makeRegistry([tool])
      yield* registry.observe({
        progress: (call, progress) => Effect.sync(() => void reports.push([call.callId, progress]))
      })
      yield* registry.observe({ progress: () => Effect.die("no") })
      const call = yield* registry.start(input("a"))
      assert.deepStrictEqual(reports, [["a", { progress: 1, total: 2, message: "half" }]])
      yield* Deferred.succeed(goOn, undefined)
      yield* call.result
      assert.deepStrictEqual(reports[1], ["a", { progress: 2 }])
    }))

  it.effect(
    cites("that comes after the body settled is told to nobody, nor is anything else it says", "CALL-35"),
    () =>
      Effect.gen(function*() {
        const bodies: Array<ToolCall.Running> = []
        const reports: Array<unknown> = []
        const tool = effectTool("a", (_, call) => Effect.sync(() => (bodies.push(call), 1)))
        const registry = yield* makeRegistry([tool])
        yield* registry.observe({ progress: (_, progress) => Effect.sync(() => void reports.push(progress)) })
        const result = yield* registry.execute(input("a"))
        const [body = assert.fail("no body")] = bodies
        body.progress({ progress: 1 })
        body.deferContext("late")
        body.declareResidue({ kind: "other", detail: "late" })
        body.concludeTurn()
        assert.deepStrictEqual(reports, [])
        assert.deepInclude(result, { contexts: [], residue: [], concludesTurn: false })
      })
  )
})
