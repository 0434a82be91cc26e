import { assert, describe, it } from "@effect/vitest"
import { Approval, Observer, Policy, Tool, ToolRegistry, type ToolResult, Wrapper } from "@quiesce/core"
import {
  Cause,
  Clock,
  Context,
  Effect,
  Exit,
  Layer,
  Logger,
  Random,
  References,
  Scheduler,
  Schema,
  Scope
} from "effect"
import { TestClock } from "effect/testing"
import { cites } from "../../../tests/conformance/cites.ts"
import { AnyJson, counted, effectTool, input, makeRegistry, promiseTool } from "./support/registry.ts"

const codeOf = (result: ToolResult.ToolResult) => result._tag === "Success" ? "SUCCESS" : result.error.code

const build = <A, E>(layer: Layer.Layer<A, E>) => Effect.andThen(TestClock.adjust(0), Layer.build(layer))

const registryIn = (context: Context.Context<ToolRegistry.ToolRegistry>) =>
  Context.get(context, ToolRegistry.ToolRegistry)

const denyAll = Policy.layer({ pre: () => Effect.succeed(Policy.deny("guarded")) })

describe("what a registry captures", () => {
  it.effect(
    cites("is what is provided to its layer: policy, approval, wrappers and observers", "CALL-32"),
    () =>
      Effect.gen(function*() {
        const events: Array<string> = []
        const event = (name: string) => Effect.sync(() => void events.push(name))
        const registry = yield* makeRegistry(
          [effectTool("a", () => Effect.as(event("body"), 1))],
          Policy.layer({
            pre: () => Effect.as(event("pre"), Policy.ask()),
            post: () => Effect.as(event("post"), Policy.accept())
          }),
          Approval.layer({ ask: () => Effect.as(event("approval"), Approval.allowedOnce) }),
          Wrapper.layer([
            (next) => Effect.andThen(event("first"), next),
            (next) => Effect.andThen(event("second"), next)
          ]),
          Observer.layer(() => event("observer 1"), () => event("observer 2"))
        )
        yield* registry.execute(input("a"))
        assert.deepStrictEqual(events, [
          "pre",
          "approval",
          "first",
          "second",
          "body",
          "post",
          "observer 1",
          "observer 2"
        ])
      })
  )

  it.effect(
    cites("has defaults: all is allowed, nobody can be asked, nothing is wrapped or observed", "CALL-32"),
    () =>
      Effect.gen(function*() {
        const registry = yield* makeRegistry([counted("a").tool])
        assert.strictEqual(codeOf(yield* registry.execute(input("a"))), "SUCCESS")
        const asking = yield* makeRegistry(
          [counted("a").tool],
          Policy.layer({ pre: () => Effect.succeed(Policy.ask()) })
        )
        const result = yield* asking.execute(input("a"))
        assert.strictEqual(codeOf(result), "DENIED")
        assert.match(result._tag === "Failure" ? result.error.message : "", /nobody can be asked/)
      })
  )

  it.effect(cites("can be made by an effect, with the services of its layer", "CALL-32"), () =>
    Effect.gen(function*() {
      class Secret extends Context.Service<Secret, string>()("test/Secret") {}
      const policy = Policy.layerEffect(
        Effect.map(Secret, (secret): Policy.Policy => ({ pre: () => Effect.succeed(Policy.deny(secret)) }))
      )
      const wrappers = Wrapper.layerEffect(
        Effect.map(Secret, (secret): ReadonlyArray<Wrapper.Wrapper> => [() => Effect.succeed(secret)])
      )
      const secret = Layer.succeed(Secret, "the secret")
      const denying = yield* makeRegistry([counted("a").tool], Layer.provide(policy, secret))
      const denied = yield* denying.execute(input("a"))
      assert.strictEqual(denied._tag === "Failure" && denied.error.message, "the secret")
      const wrapping = yield* makeRegistry([counted("a").tool], Layer.provide(wrappers, secret))
      assert.deepInclude(yield* wrapping.execute(input("a")), { value: "the secret", dispatched: false })
    }))

  it.effect(
    cites("is the last of two layers of a kind: an application writes one list", "CALL-32"),
    () =>
      Effect.gen(function*() {
        const registry = yield* makeRegistry([counted("a").tool], denyAll, Policy.layer({}))
        assert.strictEqual(codeOf(yield* registry.execute(input("a"))), "SUCCESS")
      })
  )
})

describe("a registry that was wired beside what it should have captured", () => {
  const beside: ReadonlyArray<readonly [what: string, layer: Layer.Layer<never>]> = [
    ["policy", denyAll],
    ["approval channel", Approval.layerDeny],
    ["list of wrappers", Wrapper.layer([() => Effect.fail("no")])]
  ]
  const faces: ReadonlyArray<
    readonly [face: string, call: Effect.Effect<unknown, unknown, ToolRegistry.ToolRegistry>]
  > = [
    ["execute", Effect.flatMap(ToolRegistry.ToolRegistry, (registry) => registry.execute(input("a")))],
    ["start", Effect.flatMap(ToolRegistry.ToolRegistry, (registry) => registry.start(input("a")))],
    ["call", ToolRegistry.call(counted("a").tool, {})]
  ]
  for (const [what, layer] of beside) {
    it.effect.each(faces)(
      cites(`refuses to work, and says where the ${what} belongs: %s`, "CALL-32"),
      ([, call]) =>
        Effect.gen(function*() {
          const a = counted("a")
          const context = yield* build(Layer.merge(ToolRegistry.layer([a.tool]), layer))
          const exit = yield* Effect.exit(Effect.provideContext(call, context))
          assert(Exit.isFailure(exit) && Cause.hasDies(exit.cause))
          const message = String(Cause.squash(exit.cause))
          assert.include(message, what)
          assert.include(message, "Layer.provide")
          assert.deepStrictEqual(a.runs, [])
          assert.deepStrictEqual(yield* registryIn(context).inFlight, [])
        })
    )
  }

  const { signal } = new AbortController()
  it.effect.each(beside)(
    cites("refuses promise code as well, which has no context to show: %s", "CALL-32"),
    ([what, layer]) =>
      Effect.gen(function*() {
        const a = counted("a")
        const registry = registryIn(yield* build(Layer.merge(ToolRegistry.layer([a.tool]), layer)))
        const refused = yield* Effect.callback<unknown>((resume) => {
          void registry.executePromise({ ...input("a"), signal })
            .then((result) => resume(Effect.succeed(result)), (thrown) => resume(Effect.succeed(thrown)))
        })
        assert.instanceOf(refused, Error)
        assert.include(String(refused), what)
        assert.deepStrictEqual(a.runs, [])
      })
  )

  it.effect(
    cites("refuses promise code that an effect with another policy runs", "CALL-32"),
    () =>
      Effect.gen(function*() {
        const a = counted("a")
        const registry = yield* makeRegistry([a.tool])
        const call = Effect.promise(() => registry.executePromise({ ...input("a"), signal }).catch(String))
        assert.include(yield* Effect.provide(call, denyAll), "policy")
        assert.deepStrictEqual(a.runs, [])
      })
  )

  it.effect(
    cites(
      "serves promise code where a policy was taken up: by this registry, by another, or by another policy",
      "CALL-32"
    ),
    () =>
      Effect.gen(function*() {
        class Other extends Context.Service<Other, ToolRegistry.Shape>()("Other") {}
        const guarded = ToolRegistry.layer([counted("a").tool]).pipe(Layer.provide(denyAll))
        const open = Layer.effect(Other, ToolRegistry.ToolRegistry).pipe(
          Layer.provide(Layer.fresh(ToolRegistry.layer([counted("a").tool])))
        )
        const made = Policy.layerEffect(Effect.map(Policy.Current, (policy) => Policy.sequence(policy)))
        const call = (registry: ToolRegistry.Shape) =>
          Effect.map(Effect.promise(() => registry.executePromise({ ...input("a"), signal })), codeOf)
        const two = yield* build(Layer.mergeAll(guarded, open, denyAll))
        assert.strictEqual(yield* call(registryIn(two)), "DENIED")
        assert.strictEqual(yield* call(Context.get(two, Other)), "SUCCESS")
        const derived = yield* build(
          ToolRegistry.layer([counted("a").tool]).pipe(Layer.provide(made), Layer.provide(denyAll))
        )
        assert.strictEqual(yield* call(registryIn(derived)), "DENIED")
      })
  )

  it.effect(
    cites("refuses also when another policy was captured, and at every call anew", "CALL-32"),
    () =>
      Effect.gen(function*() {
        const a = counted("a")
        const context = yield* build(
          Layer.merge(ToolRegistry.layer([a.tool]).pipe(Layer.provide(Policy.layer({}))), denyAll)
        )
        const call = Effect.provideContext(Effect.exit(registryIn(context).execute(input("a"))), context)
        for (const exit of [yield* call, yield* call]) assert.isTrue(Exit.isFailure(exit))
        assert.deepStrictEqual(a.runs, [])
      })
  )

  it.effect(
    cites("refuses tools that come with a policy of their own, which nobody would ask", "CALL-32"),
    () =>
      Effect.gen(function*() {
        const registry = ToolRegistry.layer([])
        const tools = ToolRegistry.layerTools([counted("a").tool]).pipe(Layer.provide(registry), Layer.provide(denyAll))
        const exit = yield* Effect.exit(build(Layer.provideMerge(tools, registry)))
        assert(Exit.isFailure(exit))
        assert.include(String(Cause.squash(exit.cause)), "policy")
      })
  )

  it.effect(
    cites("is none where the context of the caller holds what was captured", "CALL-32"),
    () =>
      Effect.gen(function*() {
        const layer = ToolRegistry.layer([counted("a").tool]).pipe(
          Layer.provideMerge([denyAll, Approval.layerDeny, Wrapper.layer([]), Observer.layer(() => Effect.void)])
        )
        const context = yield* build(layer)
        const result = yield* Effect.provideContext(registryIn(context).execute(input("a")), context)
        assert.strictEqual(codeOf(result), "DENIED")
      })
  )

  it.effect(
    cites("is none inside a call: another registry has a policy of its own", "CALL-32"),
    () =>
      Effect.gen(function*() {
        const inner = yield* makeRegistry([counted("inner").tool], denyAll)
        const outer = effectTool("outer", () => Effect.map(inner.execute(input("inner")), codeOf))
        const registry = yield* makeRegistry(
          [outer],
          Policy.layer({ post: () => Effect.succeed(Policy.accept()) }),
          Wrapper.layer([(next) => next])
        )
        assert.deepInclude(yield* registry.execute(input("outer")), { value: "DENIED" })
      })
  )
})

describe("the context of a call", () => {
  /** What a body sees of its context. */
  const seeing = <A>(effect: Effect.Effect<A>) => {
    const seen: Array<A> = []
    return { seen, tool: effectTool("a", () => Effect.as(Effect.map(effect, (value) => seen.push(value)), null)) }
  }
  const clockAt = (clock: Clock.Clock, millis: number): Clock.Clock => ({
    ...clock,
    currentTimeMillis: Effect.succeed(millis),
    currentTimeMillisUnsafe: () => millis
  })
  const settings: ReadonlyArray<
    readonly [
      what: string,
      key: Context.Reference<any>,
      make: (clock: Clock.Clock) => readonly [callers: unknown, registrys: unknown]
    ]
  > = [
    ["clock", Clock.Clock, (clock) => [clockAt(clock, 1), clockAt(clock, 2)]],
    ["scheduler", Scheduler.Scheduler, () => [new Scheduler.MixedScheduler(), new Scheduler.MixedScheduler()]],
    ["random numbers", Random.Random, () => [{ callers: true }, { registrys: true }]],
    ["loggers", Logger.CurrentLoggers, () => [new Set(), new Set()]],
    ["log level", References.MinimumLogLevel, () => ["Error", "Debug"]],
    ["log annotations", References.CurrentLogAnnotations, () => [{ callers: true }, { registrys: true }]],
    ["log spans", References.CurrentLogSpans, () => [[["callers", 0]], [["registrys", 0]]]]
  ]

  it.effect.each(settings)(cites("has the %s of the caller", "CALL-32"), ([, key, make]) =>
    Effect.gen(function*() {
      const [callers, registrys] = make(yield* Clock.Clock)
      const { seen, tool } = seeing(Effect.map(key, (value) => value))
      const registry = yield* makeRegistry([tool]).pipe(Effect.provideService(key, registrys))
      yield* Effect.provideService(registry.execute(input("a")), key, callers)
      yield* Effect.flatMap(Effect.provideService(registry.start(input("a")), key, callers), ({ result }) => result)
      assert.deepStrictEqual(seen, [callers, callers])
      assert.isTrue(seen.every((value) => value === callers))
    }))

  it.effect.each(settings.filter(([what]) => !what.startsWith("log ")))(
    cites("has the %s of the registry for promise code, and inside a call those of that", "CALL-26", "CALL-32"),
    ([, key, make]) =>
      Effect.gen(function*() {
        const [callers, registrys] = make(yield* Clock.Clock)
        const { seen, tool } = seeing(Effect.map(key, (value) => value))
        let registry: ToolRegistry.Shape | undefined
        const outer = promiseTool("outer", async (_, { signal }) =>
          codeOf(await registry!.executePromise({ ...input("a"), signal })))
        registry = yield* makeRegistry([tool, outer]).pipe(Effect.provideService(key, registrys))
        const { signal } = new AbortController()
        yield* Effect.promise(() =>
          registry.executePromise({ ...input("a"), signal })
        )
        yield* Effect.provideService(registry.execute(input("outer")), key, callers)
        assert.isTrue(seen[0] === registrys)
        assert.isTrue(seen[1] === callers)
      })
  )

  it.effect(
    cites("does not hold the log annotations and spans of the moment it was registered in", "CALL-32"),
    () =>
      Effect.gen(function*() {
        const { seen, tool } = seeing(Effect.all([References.CurrentLogAnnotations, References.CurrentLogSpans]))
        const registry = yield* makeRegistry([tool]).pipe(
          Effect.annotateLogs("at", "the registration"),
          Effect.withLogSpan("the registration")
        )
        yield* registry.execute(input("a"))
        assert.deepStrictEqual(seen, [[{}, []]])
      })
  )

  it.effect(
    cites("has the services the tool was registered with, whatever the caller has", "CALL-32"),
    () =>
      Effect.gen(function*() {
        class Name extends Context.Service<Name, string>()("test/Name") {}
        const Setting = Context.Reference<string>("test/Setting", { defaultValue: () => "default" })
        const tool = Tool.make("a", {
          description: "",
          parameters: AnyJson,
          success: AnyJson,
          execute: () => Effect.all([Name, Setting])
        })
        const registry = registryIn(
          yield* build(
            ToolRegistry.layer([tool]).pipe(
              Layer.provide([Layer.succeed(Name, "registered"), Layer.succeed(Setting, "registered")])
            )
          )
        )
        const result = yield* registry.execute(input("a")).pipe(
          Effect.provideService(Name, "the caller's"),
          Effect.provideService(Setting, "the caller's")
        )
        assert.deepInclude(result, { value: ["registered", "registered"] })
        const unset = yield* makeRegistry([effectTool("b", () => Setting)])
        assert.deepInclude(
          yield* Effect.provideService(unset.execute(input("b")), Setting, "the caller's"),
          { value: "default" }
        )
      })
  )

  it.effect(
    cites("gives each tool the services of its own registration", "CALL-25", "CALL-32"),
    () =>
      Effect.gen(function*() {
        class Name extends Context.Service<Name, string>()("test/Name") {}
        const named = (name: string) =>
          Tool.make(name, {
            description: "",
            parameters: AnyJson,
            success: Schema.String,
            execute: () => Effect.map(Name, String)
          })
        const registry = yield* makeRegistry([])
        for (const name of ["one", "two"]) yield* Effect.provideService(registry.register(named(name)), Name, name)
        for (const name of ["one", "two", "one"]) {
          assert.deepInclude(yield* registry.execute(input(name)), { value: name })
        }
      })
  )

  it.effect(
    cites("has a scope of the body's own, and not that of the caller or the registration", "CALL-07", "CALL-32"),
    () =>
      Effect.gen(function*() {
        const closed: Array<string> = []
        const tool = Tool.make("a", {
          description: "",
          parameters: AnyJson,
          success: AnyJson,
          execute: () => Effect.as(Effect.addFinalizer(() => Effect.sync(() => closed.push("the body's"))), 1)
        })
        const registry = registryIn(yield* build(ToolRegistry.layer([tool])))
        const scope = yield* Scope.make()
        yield* Scope.addFinalizer(scope, Effect.sync(() => closed.push("the caller's")))
        yield* Scope.provide(registry.execute(input("a")), scope)
        assert.deepStrictEqual(closed, ["the body's"])
        yield* Scope.close(scope, Exit.void)
      })
  )

  it.effect(cites("passes on to policies, wrappers and observers as well", "CALL-32"), () =>
    Effect.gen(function*() {
      const seen: Array<unknown> = []
      const see = Effect.map(References.CurrentLogAnnotations, ({ who }) => void seen.push(who))
      const registry = yield* makeRegistry(
        [counted("a").tool],
        Policy.layer({ pre: () => Effect.as(see, Policy.ask()), post: () => Effect.as(see, Policy.accept()) }),
        Approval.layer({ ask: () => Effect.as(see, Approval.allowedOnce) }),
        Wrapper.layer([(next) => Effect.andThen(see, next)]),
        Observer.layer(() => see)
      )
      yield* registry.execute(input("a")).pipe(Effect.annotateLogs("who", "the caller"))
      assert.deepStrictEqual(seen, Array.from({ length: 5 }, () => "the caller"))
    }))
})
