import { assert, describe, it } from "@effect/vitest"
import { type Json, Policy, type ToolRegistry, type ToolResult, Wrapper } from "@quiesce/core"
import { Deferred, Effect, Exit, Fiber, Layer, Scope } from "effect"
import { TestClock } from "effect/testing"
import { cites } from "../../../tests/conformance/cites.ts"
import { buildRegistry, counted, effectTool, held, input, makeRegistry } from "./support/registry.ts"

const codeOf = (result: ToolResult.ToolResult) => result._tag === "Success" ? "SUCCESS" : result.error.code
const detailOf = (result: ToolResult.ToolResult): Json | undefined =>
  result._tag === "Success" ? undefined : result.error.detail

/** A registry in a scope of its own, with what ends it. */
const closable = Effect.fnUntraced(function*(...[tools, ...layers]: Parameters<typeof buildRegistry>) {
  const scope = yield* Scope.make()
  const registry = yield* Scope.provide(buildRegistry(tools, ...layers), scope)
  return { registry, close: Scope.close(scope, Exit.void) }
})

const fork = <A, E>(effect: Effect.Effect<A, E>) => Effect.forkChild(effect, { startImmediately: true })

describe.each([
  ["shutdown", (registry: ToolRegistry.Shape, _: Effect.Effect<void>) => registry.shutdown],
  ["closing the registry's scope", (_: ToolRegistry.Shape, close: Effect.Effect<void>) => close]
])("%s", (name, ending) => {
  it.effect(cites(`${name} cancels every call and waits until all are quiet`, "CALL-28"), () =>
    Effect.gen(function*() {
      const [quick, slow] = [held("quick", "1 second"), held("slow", "1 minute")]
      const waiting = Policy.layer({
        pre: (call) => call.callId === "waits" ? Effect.never : Effect.succeed(Policy.allow)
      })
      const { close, registry } = yield* closable([quick.tool, slow.tool], waiting)
      const calls = [
        yield* registry.start(input("quick")),
        yield* registry.start(input("slow")),
        yield* registry.start(input("quick", "waits"))
      ]
      const end = yield* fork(ending(registry, close))
      assert.isTrue(quick.runs[0]!.interrupted && slow.runs[0]!.interrupted)
      yield* TestClock.adjust("59999 millis")
      assert.isTrue(quick.runs[0]!.quiet)
      assert.isUndefined(end.pollUnsafe())
      yield* TestClock.adjust("1 millis")
      yield* Fiber.join(end)
      const results = yield* Effect.forEach(calls, ({ result }) => result)
      assert.deepStrictEqual(results.map(codeOf), ["ABORTED", "ABORTED", "ABORTED_BEFORE_DISPATCH"])
      assert.deepStrictEqual(results.map(detailOf), Array.from(results, () => ({ reason: "Shutdown" })))
    }))

  it.effect(cites(`${name} refuses every call that comes then, for good`, "CALL-28"), () =>
    Effect.gen(function*() {
      const [stubborn, other] = [held("stubborn", "1 minute"), counted("other")]
      const { close, registry } = yield* closable([stubborn.tool, other.tool])
      yield* registry.start(input("stubborn"))
      const end = yield* fork(ending(registry, close))
      const { signal } = new AbortController()
      const late = [
        yield* registry.execute(input("other")),
        yield* registry.execute(input("stubborn")),
        yield* registry.execute(input("unknown")),
        yield* (yield* registry.start(input("other"))).result,
        yield* Effect.promise(() => registry.executePromise({ ...input("other"), signal }))
      ]
      yield* TestClock.adjust("1 minute")
      yield* Fiber.join(end)
      late.push(yield* registry.execute(input("other")))
      assert.deepStrictEqual(late.map(codeOf), Array.from(late, () => "ABORTED_BEFORE_DISPATCH"))
      assert.deepStrictEqual(late.map(detailOf), Array.from(late, () => ({ reason: "Shutdown" })))
      assert.deepStrictEqual(other.runs, [])
      assert.lengthOf(stubborn.runs, 1)
    }))
})

describe("shutdown", () => {
  it.effect(
    cites("stays in force when its wait is interrupted, and can be waited for again", "CALL-28"),
    () =>
      Effect.gen(function*() {
        const stubborn = held("stubborn", "1 minute")
        const registry = yield* makeRegistry([stubborn.tool])
        yield* registry.start(input("stubborn"))
        const impatient = yield* fork(Effect.timeoutOption(registry.shutdown, "1 second"))
        yield* TestClock.adjust("1 second")
        assert.strictEqual((yield* Fiber.join(impatient))._tag, "None")
        assert.deepStrictEqual(detailOf(yield* registry.execute(input("stubborn"))), { reason: "Shutdown" })
        const patient = yield* fork(registry.shutdown)
        yield* TestClock.adjust("58 seconds")
        assert.isUndefined(patient.pollUnsafe())
        yield* TestClock.adjust("1 second")
        yield* Fiber.join(patient)
      })
  )

  it.effect(
    cites("ends what observers still do, once the calls are quiet", "CALL-24", "CALL-28"),
    () =>
      Effect.gen(function*() {
        const stubborn = held("stubborn", "1 minute")
        const events: Array<string> = []
        const registry = yield* makeRegistry([stubborn.tool, counted("quick").tool])
        yield* registry.observe((call) =>
          Effect.never.pipe(Effect.onInterrupt(() => Effect.sync(() => void events.push(`observer of ${call.name}`))))
        )
        yield* registry.start(input("stubborn"))
        yield* registry.execute(input("quick"))
        const end = yield* fork(registry.shutdown)
        yield* TestClock.adjust("59 seconds")
        assert.deepStrictEqual(events, [])
        yield* TestClock.adjust("1 second")
        yield* Fiber.join(end)
        assert.deepStrictEqual(events, ["observer of quick", "observer of stubborn"])
      })
  )
})

describe("whenIdle", () => {
  it.effect(cites("resolves at once when nothing is in flight", "CALL-28"), () =>
    Effect.gen(function*() {
      const registry = yield* makeRegistry([counted("a").tool])
      yield* registry.whenIdle
      yield* registry.execute(input("a"))
      yield* registry.whenIdle
    }))

  it.effect(
    cites("resolves for everybody once the last call is quiet, and cancels none", "CALL-28"),
    () =>
      Effect.gen(function*() {
        const [a, b] = [held("a"), held("b", "1 second")]
        const registry = yield* makeRegistry([a.tool, b.tool])
        const waiters = [yield* fork(registry.whenIdle), yield* fork(registry.whenIdle)]
        yield* registry.start(input("a"))
        waiters.push(yield* fork(registry.whenIdle), yield* fork(registry.whenIdle))
        const call = yield* registry.start(input("b"))
        assert.deepStrictEqual(waiters.map((waiter) => waiter.pollUnsafe() !== undefined), [true, true, false, false])
        yield* Fiber.interrupt(waiters.pop()!)
        a.end(1)
        yield* call.cancel()
        yield* TestClock.adjust("999 millis")
        assert.isUndefined(waiters[2]!.pollUnsafe())
        yield* TestClock.adjust("1 millis")
        yield* Fiber.join(waiters[2]!)
        assert.isFalse(a.runs[0]!.interrupted)
        assert.isTrue(b.runs[0]!.quiet)
      })
  )
})

describe("waiting for quiescence from inside a call", () => {
  type Wait = (registry: ToolRegistry.Shape) => Effect.Effect<void>
  const waits: ReadonlyArray<readonly [wait: string, wait: Wait]> = [
    ["whenIdle", (registry) => registry.whenIdle],
    ["shutdown", (registry) => registry.shutdown]
  ]
  /** Where in a call of `outer` the wait happens. */
  const places: ReadonlyArray<
    readonly [
      place: string,
      open: (wait: Effect.Effect<void>) => readonly [body: Effect.Effect<Json>, layer: Layer.Layer<never>]
    ]
  > = [
    ["its body", (wait) => [Effect.as(wait, 1), Layer.empty]],
    ["its clean-up", (wait) => [Effect.ensuring(Effect.succeed(1), wait), Layer.empty]],
    ["a fiber of its body", (wait) => [
      Effect.flatMap(Effect.forkDetach(Effect.as(wait, 1), { startImmediately: true }), Fiber.join),
      Layer.empty
    ]],
    ["its pre-policy", (wait) => [
      Effect.succeed(1),
      Policy.layer({
        pre: ({ name }) => name === "outer" ? Effect.as(wait, Policy.allow) : Effect.succeed(Policy.allow)
      })
    ]],
    ["its wrapper", (wait) => [
      Effect.succeed(1),
      Wrapper.layer([(next, { name }) => name === "outer" ? Effect.andThen(wait, next) : next])
    ]],
    ["its post-policy", (wait) => [
      Effect.succeed(1),
      Policy.layer({
        post: ({ name }) => name === "outer" ? Effect.as(wait, Policy.accept()) : Effect.succeed(Policy.accept())
      })
    ]]
  ]

  for (const [name, wait] of waits) {
    it.effect.each(places)(
      cites(`${name} in %s waits for the others and not for that call`, "CALL-28"),
      ([, open]) =>
        Effect.gen(function*() {
          const other = held("other", "1 second")
          let registry: ToolRegistry.Shape | undefined
          let waited = false
          const [body, layer] = open(
            Effect.suspend(() => wait(registry!)).pipe(
              Effect.andThen(Effect.sync(() => void (waited = true))),
              // Shutdown cancels also the call that asks for it, which would not wait where it can be interrupted.
              Effect.uninterruptible
            )
          )
          registry = yield* makeRegistry([effectTool("outer", () => body), other.tool], layer)
          yield* registry.start(input("other"))
          const call = yield* registry.start(input("outer"))
          yield* TestClock.adjust("999 millis")
          assert.isFalse(waited)
          if (name === "whenIdle") other.end(1)
          yield* TestClock.adjust("1 millis")
          assert.isTrue(waited)
          yield* call.result
        })
    )
  }

  it.effect.each(waits)(
    cites("%s of an inner call waits for none of those around it", "CALL-28"),
    ([name, wait]) =>
      Effect.gen(function*() {
        const other = held("other", "1 second")
        let registry: ToolRegistry.Shape | undefined
        let apart: ToolRegistry.Shape | undefined
        const waited = yield* Deferred.make<void>()
        // outer (registry) → middle (apart) → inner (registry)
        const outer = effectTool("outer", () => Effect.as(Effect.suspend(() => apart!.execute(input("middle"))), 1))
        const middle = effectTool("middle", () => Effect.as(Effect.suspend(() => registry!.execute(input("inner"))), 1))
        const inner = effectTool("inner", () =>
          Effect.suspend(() => wait(registry!)).pipe(
            Effect.andThen(Deferred.succeed(waited, undefined)),
            Effect.uninterruptible,
            Effect.as(1)
          ))
        registry = yield* makeRegistry([outer, inner, other.tool])
        apart = yield* makeRegistry([middle])
        yield* registry.start(input("other"))
        const call = yield* registry.start(input("outer"))
        yield* TestClock.adjust("2 seconds")
        // A call that is not around it is waited for: whenIdle waits until it ends, shutdown cancels it first.
        assert.strictEqual(yield* Deferred.isDone(waited), name === "shutdown")
        if (name === "whenIdle") other.end(1)
        yield* Deferred.await(waited)
        assert.strictEqual(codeOf(yield* call.result), name === "shutdown" ? "ABORTED" : "SUCCESS")
      })
  )

  it.effect.each(waits)(
    cites("%s in two calls at once: neither waits for the other for ever, nor for less than all else", "CALL-28"),
    ([name, wait]) =>
      Effect.gen(function*() {
        const other = held("other", "1 second")
        let registry: ToolRegistry.Shape | undefined
        const both = yield* Deferred.make<void>()
        const waited: Array<string> = []
        const waiting = effectTool("waiting", (_, call) =>
          Effect.andThen(
            Deferred.await(both),
            Effect.suspend(() => wait(registry!))
          ).pipe(
            Effect.andThen(Effect.sync(() => waited.push(call.callId))),
            Effect.uninterruptible,
            Effect.as(1)
          ))
        registry = yield* makeRegistry([waiting, other.tool])
        yield* registry.start(input("other"))
        yield* registry.start(input("waiting", "first"))
        yield* registry.start(input("waiting", "second"))
        yield* Deferred.succeed(both, undefined)
        const outside = yield* Effect.forkChild(registry.whenIdle, { startImmediately: true })
        yield* TestClock.adjust("999 millis")
        assert.deepStrictEqual(waited, [])
        if (name === "whenIdle") other.end(1)
        yield* TestClock.adjust("1 millis")
        assert.sameMembers(waited, ["first", "second"])
        yield* Fiber.join(outside)
        assert.deepStrictEqual(yield* registry.inFlight, [])
      })
  )

  /** A tool whose body waits for `wait` once `begin` is done, whatever happens to its call. */
  const waiter = (name: string, begin: Deferred.Deferred<void>, wait: () => Effect.Effect<unknown>) =>
    effectTool(name, () => Effect.uninterruptible(Effect.as(Effect.andThen(Deferred.await(begin), wait), 1)))

  it.effect.each([2, 3, 5])(
    cites("ends of registrations wait for no call that waits for theirs, in a circle of %d", "CALL-28"),
    (size) =>
      Effect.gen(function*() {
        const registry = yield* makeRegistry([])
        const begin = yield* Deferred.make<void>()
        const scopes = yield* Effect.forEach(Array.from({ length: size }), () => Scope.make())
        yield* Effect.forEach(scopes, (scope, index) => {
          const endNext = () => Scope.close(scopes[(index + 1) % size]!, Exit.void)
          return Scope.provide(registry.register(waiter(`tool ${index}`, begin, endNext)), scope)
        })
        const calls = yield* Effect.forEach(scopes, (_, index) => registry.start(input(`tool ${index}`)))
        yield* Deferred.succeed(begin, undefined)
        yield* Effect.yieldNow
        assert.deepStrictEqual(yield* registry.inFlight, [])
        assert.deepStrictEqual(
          (yield* Effect.forEach(calls, ({ result }) => result)).map(codeOf),
          calls.map(() => "ABORTED")
        )
      })
  )

  it.effect(
    cites("the end of a registration waits for no call that waits for one around that which ends it", "CALL-28"),
    () =>
      Effect.gen(function*() {
        const begin = yield* Deferred.make<void>()
        const [ofOne, ofOther] = [yield* Scope.make(), yield* Scope.make()]
        const registry: ToolRegistry.Shape = yield* makeRegistry([
          waiter("in one", begin, () => Scope.close(ofOther, Exit.void)),
          waiter("in other", begin, () => Scope.close(ofOne, Exit.void))
        ])
        const around = (name: string) =>
          effectTool(name, () =>
            Effect.uninterruptible(Effect.as(Effect.suspend(() => registry.execute(input(`in ${name}`))), 1)))
        yield* Scope.provide(registry.register(around("one")), ofOne)
        yield* Scope.provide(registry.register(around("other")), ofOther)
        yield* registry.start(input("one"))
        yield* registry.start(input("other"))
        yield* Deferred.succeed(begin, undefined)
        yield* Effect.yieldNow
        assert.deepStrictEqual(yield* registry.inFlight, [])
      })
  )

  it.effect.each(waits)(
    cites("%s of three registries, each in a call of the one before, does not last for ever", "CALL-28"),
    ([, wait]) =>
      Effect.gen(function*() {
        const begin = yield* Deferred.make<void>()
        const registries: Array<ToolRegistry.Shape> = []
        for (const index of [0, 1, 2]) {
          registries.push(yield* makeRegistry([waiter("waits", begin, () => wait(registries[(index + 1) % 3]!))]))
        }
        yield* Effect.forEach(registries, (registry) => registry.start(input("waits")))
        yield* Deferred.succeed(begin, undefined)
        yield* Effect.yieldNow
        const inFlight = yield* Effect.forEach(registries, (registry) => registry.inFlight)
        assert.deepStrictEqual(inFlight, [[], [], []])
      })
  )

  it.effect(
    cites("of two calls that wait, the one that began to later goes on first, and the other waits for it", "CALL-28"),
    () =>
      Effect.gen(function*() {
        let registry: ToolRegistry.Shape | undefined
        const [first, second] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
        const ended: Array<string> = []
        const waiting = effectTool("waiting", (_, call) =>
          Effect.gen(function*() {
            yield* Deferred.await(call.callId === "first" ? first : second)
            yield* registry!.whenIdle
            yield* Effect.sleep("1 second")
            return ended.push(call.callId)
          }))
        registry = yield* makeRegistry([waiting])
        yield* registry.start(input("waiting", "first"))
        yield* registry.start(input("waiting", "second"))
        yield* Deferred.succeed(first, undefined)
        yield* Effect.yieldNow
        yield* Deferred.succeed(second, undefined)
        yield* TestClock.adjust("1 second")
        assert.deepStrictEqual(ended, ["second"])
        yield* TestClock.adjust("1 second")
        assert.deepStrictEqual(ended, ["second", "first"])
      })
  )

  it.effect.each([["that one", 1, 0], ["it", 0, 1]] as const)(
    cites("whoever waits around a call that waits, too, waits until that is over, where %s began to later", "CALL-28"),
    ([, innerSeconds, outerSeconds]) =>
      Effect.gen(function*() {
        const slow = held("slow")
        const events: Array<string> = []
        let registry: ToolRegistry.Shape | undefined
        const inner = effectTool("inner", () =>
          Effect.gen(function*() {
            yield* Effect.sleep(`${innerSeconds} seconds`)
            yield* registry!.whenIdle
            events.push("inner waited")
            yield* Effect.sleep("1 second")
            events.push("inner ended")
            return 1
          }))
        const outer = effectTool("outer", () =>
          Effect.gen(function*() {
            yield* registry!.start(input("inner"))
            yield* Effect.sleep(`${outerSeconds} seconds`)
            yield* registry!.whenIdle
            events.push("outer waited")
            return 1
          }))
        registry = yield* makeRegistry([inner, outer, slow.tool])
        yield* registry.start(input("slow"))
        const call = yield* registry.start(input("outer"))
        yield* TestClock.adjust("1 second")
        assert.deepStrictEqual(events, [])
        slow.end(1)
        yield* TestClock.adjust("1 second")
        yield* call.result
        assert.deepStrictEqual(events, ["inner waited", "inner ended", "outer waited"])
      })
  )

  it.effect(
    cites("an observer is not inside the call it hears of, and waits for all", "CALL-28"),
    () =>
      Effect.gen(function*() {
        const other = held("other")
        const registry = yield* makeRegistry([counted("a").tool, other.tool])
        const idle = yield* Deferred.make<void>()
        yield* registry.observe((call) =>
          call.name === "a"
            ? Effect.asVoid(Effect.andThen(registry.whenIdle, Deferred.succeed(idle, undefined)))
            : Effect.void
        )
        yield* registry.start(input("other"))
        yield* registry.execute(input("a"))
        assert.isFalse(yield* Deferred.isDone(idle))
        other.end(1)
        yield* Deferred.await(idle)
      })
  )
})

describe("one call", () => {
  it.effect(cites("that is cancelled, fails or hangs touches no other", "CALL-29"), () =>
    Effect.gen(function*() {
      const fine = held("fine")
      const hangs = held("hangs", "1 hour")
      const registry = yield* makeRegistry([
        fine.tool,
        hangs.tool,
        effectTool("fails", () => Effect.fail("no")),
        effectTool("dies", () => Effect.die(new Error("no"))),
        effectTool("interrupts itself", () => Effect.interrupt),
        counted("quick").tool
      ])
      const healthy = yield* registry.start(input("fine"))
      const hanging = yield* registry.start(input("hangs"))
      yield* hanging.cancel()
      assert.strictEqual(codeOf(yield* registry.execute(input("fails"))), "TOOL_FAILURE")
      assert.strictEqual(codeOf(yield* registry.execute(input("dies"))), "TOOL_FAILURE")
      assert.strictEqual(codeOf(yield* registry.execute(input("interrupts itself"))), "ABORTED")
      const controller = new AbortController()
      const aborted = registry.executePromise({ ...input("hangs", "another"), signal: controller.signal })
      controller.abort()
      assert.strictEqual(codeOf(yield* registry.execute(input("quick"))), "SUCCESS")
      assert.isFalse(fine.runs[0]!.interrupted)
      fine.end("still here")
      assert.deepInclude(yield* healthy.result, { value: "still here" })
      yield* TestClock.adjust("1 hour")
      assert.strictEqual(codeOf(yield* hanging.result), "ABORTED")
      assert.strictEqual(codeOf(yield* Effect.promise(() => aborted)), "ABORTED")
      yield* registry.whenIdle
    }))
})

describe("cancel", () => {
  it.effect(
    cites("by label reaches every call that bears it, by token one, and says how many", "CALL-33"),
    () =>
      Effect.gen(function*() {
        const a = held("a")
        const registry = yield* makeRegistry([a.tool])
        const twins = [yield* registry.start(input("a", "twin")), yield* registry.start(input("a", "twin"))]
        const other = yield* registry.start(input("a", "other"))
        assert.notStrictEqual(twins[0]!.token, twins[1]!.token)
        assert.strictEqual(yield* registry.cancel("nobody"), 0)
        assert.strictEqual(yield* registry.cancel(twins[1]!.token), 1)
        assert.deepStrictEqual(a.runs.map(({ interrupted }) => interrupted), [false, true, false])
        assert.strictEqual(codeOf(yield* twins[1]!.result), "ABORTED")
        twins.push(yield* registry.start(input("a", "twin")))
        assert.strictEqual(yield* registry.cancel("twin"), 2)
        assert.deepStrictEqual(a.runs.map(({ interrupted }) => interrupted), [true, true, false, true])
        yield* Effect.forEach(twins, ({ result }) => result)
        assert.strictEqual(yield* registry.cancel("twin"), 0)
        assert.strictEqual(yield* registry.cancel(twins[0]!.token), 0)
        a.runs[2]!.end(Exit.succeed(1))
        assert.strictEqual(codeOf(yield* other.result), "SUCCESS")
      })
  )

  it.effect(cites("gives the reason on, and the first one counts", "CALL-33"), () =>
    Effect.gen(function*() {
      const a = held("a", "1 second")
      const registry = yield* makeRegistry([a.tool])
      const call = yield* registry.start(input("a"))
      const cause = { why: "first" }
      yield* registry.cancel("a", { _tag: "Wrapper", cause })
      yield* call.cancel({ _tag: "Shutdown" })
      yield* TestClock.adjust("1 second")
      assert.strictEqual(a.runs[0]!.call.signal.reason, cause)
      assert.deepStrictEqual(detailOf(yield* call.result), { reason: "Wrapper" })
    }))

  it.effect(cites("by label knows no calls of another registry", "CALL-33"), () =>
    Effect.gen(function*() {
      const a = held("a")
      const [one, two] = [yield* makeRegistry([a.tool]), yield* makeRegistry([a.tool])]
      const call = yield* one.start(input("a"))
      assert.strictEqual(yield* two.cancel("a"), 0)
      assert.strictEqual(yield* two.cancel(call.token), 0)
      assert.isFalse(a.runs[0]!.interrupted)
    }))
})
