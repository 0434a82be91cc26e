import { assert, describe, it } from "@effect/vitest"
import { Policy, Tool, ToolRegistry } from "@quiesce/core"
import { Context, Deferred, Effect, Exit, Fiber, Layer, Schema, Scope, Stream } from "effect"
import { TestClock } from "effect/testing"
import { cites } from "../../../tests/conformance/cites.ts"
import { counted, effectTool, held, input, makeRegistry } from "./support/registry.ts"

const names = (registry: ToolRegistry.Shape) => Effect.map(registry.schemas, (all) => all.map(({ name }) => name))

/** Lets the calls of `name` wait in their pre-policy, deaf to being cancelled. */
const holding = (name: string) => {
  const goOn = Deferred.makeUnsafe<void>()
  const policy = Policy.layer({
    pre: (call) =>
      call.name === name
        ? Effect.as(Effect.uninterruptible(Deferred.await(goOn)), Policy.allow)
        : Effect.succeed(Policy.allow)
  })
  return { policy, goOn: Deferred.succeed(goOn, undefined) }
}

describe("a registration", () => {
  it.effect(
    cites("ends with its scope: the tool is gone, its calls are cancelled and awaited", "CALL-25"),
    () =>
      Effect.gen(function*() {
        const mine = held("mine", "1 second")
        const other = held("other")
        const registry = yield* makeRegistry([other.tool])
        const scope = yield* Scope.make()
        yield* Scope.provide(registry.register(mine.tool), scope)
        const call = yield* registry.start(input("mine"))
        const untouched = yield* registry.start(input("other"))

        const closing = yield* Effect.forkChild(Scope.close(scope, Exit.void), { startImmediately: true })
        assert.deepStrictEqual(yield* names(registry), ["other"])
        assert.isTrue(mine.runs[0]!.interrupted)
        yield* TestClock.adjust("999 millis")
        assert.isUndefined(closing.pollUnsafe())
        yield* TestClock.adjust("1 millis")
        yield* Fiber.join(closing)
        assert.isTrue(mine.runs[0]!.quiet)
        const result = yield* call.result
        assert(result._tag === "Failure")
        assert.deepInclude(result.error, { code: "ABORTED", detail: { reason: "Shutdown" } })
        assert.strictEqual((yield* registry.execute(input("mine")))._tag, "Failure")

        assert.isFalse(other.runs[0]!.interrupted)
        other.end("fine")
        assert.strictEqual((yield* untouched.result)._tag, "Success")
      })
  )

  it.effect(
    cites("of a name that is taken is refused, and none of its tools is left behind", "CALL-25"),
    () =>
      Effect.gen(function*() {
        const first = counted("taken", "the first")
        const registry = yield* makeRegistry([first.tool])
        const scope = yield* Scope.make()
        const { fresh, second } = { fresh: counted("fresh"), second: counted("taken", "the second") }
        const error = yield* Effect.flip(Scope.provide(registry.register(fresh.tool, second.tool), scope))
        assert.deepInclude(error, { _tag: "DuplicateTool", name: "taken" })
        assert.deepStrictEqual(yield* names(registry), ["taken"])
        assert.deepInclude(yield* registry.execute(input("taken")), { value: "the first" })

        // Nor does what was never registered take anything away when its scope closes.
        yield* Scope.close(scope, Exit.void)
        assert.deepStrictEqual(yield* names(registry), ["taken"])
      })
  )

  it.effect(cites("of one name twice is refused as a whole", "CALL-25"), () =>
    Effect.gen(function*() {
      const [one, two] = [counted("twin"), counted("twin")]
      const registry = yield* makeRegistry([])
      assert.strictEqual((yield* Effect.flip(registry.register(one.tool, two.tool))).name, "twin")
      assert.deepStrictEqual(yield* names(registry), [])
      assert.strictEqual((yield* Effect.flip(makeRegistry([one.tool, two.tool])))._tag, "DuplicateTool")
    }))

  it.effect(cites("can take a name again that was given back", "CALL-25"), () =>
    Effect.gen(function*() {
      const registry = yield* makeRegistry([])
      yield* Effect.scoped(registry.register(counted("name", "before").tool))
      yield* registry.register(counted("name", "after").tool)
      assert.deepInclude(yield* registry.execute(input("name")), { value: "after" })
    }))

  it.effect(cites("that comes while a call waits is the one whose body runs", "CALL-25"), () =>
    Effect.gen(function*() {
      const { goOn, policy } = holding("late")
      const registry = yield* makeRegistry([], policy)
      class Answer extends Context.Service<Answer, string>()("test/Answer") {}
      const late = Tool.make("late", {
        description: "",
        parameters: Schema.Struct({}),
        success: Schema.String,
        finalizeContent: () => [{ type: "text", text: "of a tool the call did not know when it began" }],
        execute: () => Effect.map(Answer, (answer) => answer)
      })
      const call = yield* registry.start(input("late"))
      yield* Effect.provideService(registry.register(late), Answer, "42")
      yield* goOn
      // The body has its services, though the call began in the context of another.
      assert.deepInclude(yield* call.result, {
        _tag: "Success",
        value: "42",
        content: [{ type: "text", text: "\"42\"" }]
      })
    }))

  it.effect(
    cites("that ends while a call waits still has the last say in its content", "CALL-25"),
    () =>
      Effect.gen(function*() {
        const { goOn, policy } = holding("gone")
        const registry = yield* makeRegistry([], policy)
        const gone = effectTool("gone", () => Effect.succeed(1), {
          finalizeContent: (_, result) => [{ type: "text", text: `last words: ${result._tag}` }]
        })
        const scope = yield* Scope.make()
        yield* Scope.provide(registry.register(gone), scope)
        const call = yield* registry.start(input("gone"))
        const closing = yield* Effect.forkChild(Scope.close(scope, Exit.void), { startImmediately: true })
        const replacement = counted("gone")
        yield* registry.register(replacement.tool)
        yield* goOn
        yield* Fiber.join(closing)
        const result = yield* call.result
        assert(result._tag === "Failure")
        assert.strictEqual(result.error.code, "ABORTED_BEFORE_DISPATCH")
        assert.deepStrictEqual(result.content, [{ type: "text", text: "last words: Failure" }])
        assert.deepStrictEqual(replacement.runs, [])
      })
  )

  it.effect(
    cites("can be ended by a body of its own tool, which is not awaited there", "CALL-25", "CALL-28"),
    () =>
      Effect.gen(function*() {
        const scope = yield* Scope.make()
        const registry = yield* makeRegistry([])
        const suicidal = effectTool(
          "suicidal",
          () => Effect.uninterruptible(Effect.as(Scope.close(scope, Exit.void), "closed"))
        )
        yield* Scope.provide(registry.register(suicidal), scope)
        const result = yield* registry.execute(input("suicidal"))
        assert(result._tag === "Failure")
        assert.deepInclude(result.error, { code: "ABORTED", detail: { reason: "Shutdown" } })
      })
  )

  it.effect(cites("by layers adds up: none overrides another", "CALL-25", "CALL-32"), () =>
    Effect.gen(function*() {
      const base = ToolRegistry.layer([counted("a").tool])
      const all = Layer.mergeAll(
        base,
        ToolRegistry.layerTools([counted("b").tool]).pipe(Layer.provide(base)),
        ToolRegistry.layerTools([counted("c").tool]).pipe(Layer.provide(base))
      )
      const registry = Context.get(yield* Layer.build(all), ToolRegistry.ToolRegistry)
      assert.deepStrictEqual((yield* names(registry)).sort(), ["a", "b", "c"])
      assert.deepStrictEqual((yield* registry.tools).map(({ name }) => name).sort(), ["a", "b", "c"])
    }))

  it.effect(
    cites("is told to whoever follows the schemas, and so is its end", "CALL-25"),
    () =>
      Effect.gen(function*() {
        const registry = yield* makeRegistry([counted("a").tool])
        const heard: Array<ReadonlyArray<string>> = []
        yield* Effect.forkChild(
          Stream.runForEach(
            registry.schemaChanges,
            (schemas) => Effect.sync(() => heard.push(schemas.map(({ name }) => name)))
          ),
          { startImmediately: true }
        )
        yield* Effect.yieldNow
        yield* Effect.scoped(registry.register(counted("b").tool))
        yield* Effect.flip(registry.register(counted("a").tool))
        yield* registry.register(counted("c").tool)
        yield* TestClock.adjust(0)
        assert.deepStrictEqual(heard, [["a", "b"], ["a"], ["a", "c"]])
      })
  )
})
