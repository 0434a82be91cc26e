import { assert, describe, it } from "@effect/vitest"
import { Approval, Observer, Policy, type ToolRegistry, type ToolResult, Wrapper } from "@quiesce/core"
import { Cause, Deferred, Effect, Exit, Fiber, Metric, Option, Tracer } from "effect"
import { TestClock } from "effect/testing"
import { cites } from "../../../tests/conformance/cites.ts"
import { counted, effectTool, held, input, makeRegistry, promiseTool } from "./support/registry.ts"

/** A tracer that keeps its spans. */
const recording = () => {
  const spans: Array<Tracer.NativeSpan> = []
  const tracer = Tracer.make({
    span: (options) => {
      const span = new Tracer.NativeSpan(options)
      spans.push(span)
      return span
    }
  })
  return { spans, tracer, named: (name: string) => spans.filter((span) => span.name === name) }
}

const parentOf = (span: Tracer.Span | undefined) => {
  const parent = Option.getOrUndefined(span!.parent)
  return parent?._tag === "Span" ? parent.name : undefined
}

const exitOf = (span: Tracer.Span | undefined): Exit.Exit<unknown, unknown> => {
  assert(span?.status._tag === "Ended")
  return span.status.exit
}

/** The name of the span that is current, if there is one. */
const currentSpan = Effect.map(
  Effect.option(Effect.currentSpan),
  (span) => Option.match(span, { onNone: () => null, onSome: ({ name }) => name })
)

const millis = (nanos: bigint) => Number(nanos / 1_000_000n)

describe("the span of a call", () => {
  it.effect(cites("is none where nobody listens", "CALL-32"), () =>
    Effect.gen(function*() {
      const registry = yield* makeRegistry([effectTool("a", () => currentSpan)])
      assert.deepInclude(yield* registry.execute(input("a")), { value: null })
    }))

  it.effect(cites("is inside that of the caller, and the body is inside it", "CALL-32"), () =>
    Effect.gen(function*() {
      const { named, spans, tracer } = recording()
      const tool = effectTool("a", () => Effect.as(Effect.withSpan(Effect.void, "of the body"), 1))
      const registry = yield* makeRegistry([tool])
      yield* registry.execute(input("a", "the call")).pipe(
        Effect.withSpan("of the caller"),
        Effect.provideService(Tracer.Tracer, tracer)
      )
      assert.deepStrictEqual(spans.map(({ name }) => name), ["of the caller", "execute_tool a", "of the body"])
      const [span] = named("execute_tool a")
      assert.strictEqual(parentOf(span), "of the caller")
      assert.strictEqual(parentOf(named("of the body")[0]), "execute_tool a")
      assert.deepStrictEqual(Object.fromEntries(span!.attributes), {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "a",
        "gen_ai.tool.call.id": "the call",
        "quiesce.dispatched": true
      })
      assert.isTrue(Exit.isSuccess(exitOf(span)))
    }))

  it.effect(cites("is a root where there is a tracer and no span", "CALL-32"), () =>
    Effect.gen(function*() {
      const { spans, tracer } = recording()
      const registry = yield* makeRegistry([counted("a").tool])
      yield* Effect.provideService(registry.execute(input("a")), Tracer.Tracer, tracer)
      assert.lengthOf(spans, 1)
      assert.isUndefined(parentOf(spans[0]))
    }))

  it.effect(
    cites("is by the tracer of the registry for promise code, and not inside a span that is over", "CALL-32"),
    () =>
      Effect.gen(function*() {
        const { named, tracer } = recording()
        const registry = yield* makeRegistry([counted("a").tool]).pipe(
          Effect.withSpan("of the build"),
          Effect.provideService(Tracer.Tracer, tracer)
        )
        const { signal } = new AbortController()
        yield* Effect.promise(() => registry.executePromise({ ...input("a"), signal }))
        assert.lengthOf(named("execute_tool a"), 1)
        assert.isUndefined(parentOf(named("execute_tool a")[0]))
      })
  )

  describe.each(["effect", "promise"] as const)("of a body that is an %s", (kind) => {
    it.effect.each(["the caller's signal", "the caller's fiber", "the registry", "a wrapper"] as const)(
      cites("cancels the call when it hears of the body, through %s: the body never starts", "CALL-05", "CALL-11"),
      (through) =>
        Effect.gen(function*() {
          let bodies = 0
          const tool = kind === "effect"
            ? effectTool("a", () => Effect.sync(() => ++bodies))
            : promiseTool("a", () => ++bodies)
          const [caller, wrapper] = [new AbortController(), new AbortController()]
          let interrupt = () => {}
          const tracer = Tracer.make({
            span: (options) => {
              const span = new Tracer.NativeSpan(options)
              const { event } = span
              span.event = (name, ...rest) => {
                if (name === "body") interrupt()
                Reflect.apply(event, span, [name, ...rest])
              }
              return span
            }
          })
          const withCancel = Wrapper.layer([(next) => Wrapper.withCancel(next, wrapper.signal)])
          const registry = yield* Effect.provideService(makeRegistry([tool], withCancel), Tracer.Tracer, tracer)
          const results: Array<ToolResult.ToolResult> = []
          yield* registry.observe((_, result) => Effect.sync(() => results.push(result)))
          const fiber = yield* Effect.withFiber((fiber) => {
            interrupt = {
              "the caller's signal": () => caller.abort(),
              "the caller's fiber": () => fiber.interruptUnsafe(),
              "the registry": () => Effect.runSync(registry.cancel("a")),
              "a wrapper": () => wrapper.abort()
            }[through]
            return through === "the caller's signal"
              ? Effect.promise(() => registry.executePromise({ ...input("a"), signal: caller.signal }))
              : registry.execute(input("a"))
          }).pipe(Effect.provideService(Tracer.Tracer, tracer), Effect.forkChild({ startImmediately: true }))
          yield* Fiber.await(fiber)
          const [result] = results
          assert(result?._tag === "Failure")
          assert.deepStrictEqual([result.error.code, result.dispatched, bodies], ["ABORTED_BEFORE_DISPATCH", false, 0])
        })
    )
  })

  it.effect(
    cites("holds those of the calls inside, through the fiber and through the signal", "CALL-26", "CALL-32"),
    () =>
      Effect.gen(function*() {
        const { named, tracer } = recording()
        let registry: ToolRegistry.Shape | undefined
        registry = yield* makeRegistry([
          counted("leaf").tool,
          effectTool("fiber", () => Effect.as(Effect.suspend(() => registry!.execute(input("leaf"))), 1)),
          promiseTool("signal", async (_, { signal }) => {
            await registry!.executePromise({ ...input("leaf"), signal })
            return 1
          })
        ])
        for (const name of ["fiber", "signal"]) {
          yield* Effect.provideService(registry.execute(input(name)), Tracer.Tracer, tracer)
        }
        assert.deepStrictEqual(named("execute_tool leaf").map(parentOf), ["execute_tool fiber", "execute_tool signal"])
      })
  )

  it.effect(cites("is that of every stage and of the observers", "CALL-32"), () =>
    Effect.gen(function*() {
      const seen: Array<string | null> = []
      const see = Effect.map(currentSpan, (name) => void seen.push(name))
      const registry = yield* makeRegistry(
        [effectTool("a", () => Effect.as(see, 1))],
        Policy.layer({ pre: () => Effect.as(see, Policy.ask()), post: () => Effect.as(see, Policy.accept()) }),
        Approval.layer({ ask: () => Effect.as(see, Approval.allowedOnce) }),
        Wrapper.layer([(next) => Effect.andThen(see, next)]),
        Observer.layer(() => see)
      )
      yield* Effect.provideService(registry.execute(input("a")), Tracer.Tracer, recording().tracer)
      assert.deepStrictEqual(seen, Array.from({ length: 6 }, () => "execute_tool a"))
    }))

  it.effect(
    cites("tells the stages, the request to stop, and when the call was quiet", "CALL-27", "CALL-32"),
    () =>
      Effect.gen(function*() {
        const { spans, tracer } = recording()
        const slow = held("slow", "1 second")
        const approved = yield* Deferred.make<void>()
        const registry = yield* makeRegistry(
          [slow.tool],
          Policy.layer({ pre: () => Effect.succeed(Policy.ask()), post: () => Effect.succeed(Policy.accept()) }),
          Approval.layer({ ask: () => Effect.as(Deferred.await(approved), Approval.allowedOnce) })
        )
        const call = yield* Effect.provideService(registry.start(input("slow")), Tracer.Tracer, tracer)
        yield* TestClock.adjust("1 minute")
        yield* Deferred.succeed(approved, undefined)
        yield* TestClock.adjust("1 second")
        yield* call.cancel({ _tag: "Shutdown" })
        assert.strictEqual(spans[0]!.status._tag, "Started")
        yield* TestClock.adjust("1 second")
        yield* call.result
        assert.deepStrictEqual(
          spans[0]!.events.map(([name, at, attributes]) => [name, millis(at), attributes]),
          [
            ["approval", 0, undefined],
            ["wrappers", 60_000, undefined],
            ["body", 60_000, undefined],
            ["cancel", 61_000, { reason: "Shutdown" }],
            ["post", 62_000, undefined],
            ["settling", 62_000, undefined]
          ].map(([name, at, attributes]) => [name, at, attributes ?? {}])
        )
        const { status } = spans[0]!
        assert(status._tag === "Ended")
        assert.strictEqual(millis(status.startTime), 0)
        assert.strictEqual(millis(status.endTime), 62_000)
      })
  )

  it.effect(
    cites("ends as the call did: a failure is one, a cancellation an interruption", "CALL-32"),
    () =>
      Effect.gen(function*() {
        const { spans, tracer } = recording()
        const registry = yield* makeRegistry([effectTool("fails", () => Effect.fail("no")), held("waits").tool])
        const call = (effect: Effect.Effect<unknown>) => Effect.provideService(effect, Tracer.Tracer, tracer)
        yield* call(registry.execute(input("fails")))
        yield* call(registry.execute(input("unknown")))
        yield* call(Effect.timeoutOption(registry.execute(input("waits")), "1 second")).pipe(
          Effect.forkChild({ startImmediately: true })
        )
        yield* TestClock.adjust("1 second")
        const [failed, unknown, aborted] = spans
        assert.match(String(Cause.squash((exitOf(failed) as Exit.Failure<unknown, unknown>).cause)), /TOOL_FAILURE/)
        assert.strictEqual(failed!.attributes.get("error.type"), "TOOL_FAILURE")
        assert.strictEqual(unknown!.attributes.get("error.type"), "UNKNOWN_TOOL")
        assert.strictEqual(unknown!.attributes.get("quiesce.dispatched"), false)
        assert.isTrue(Exit.hasInterrupts(exitOf(aborted)))
        assert.strictEqual(aborted!.attributes.get("error.type"), "ABORTED")
      })
  )

  it.effect("is one also for a call that never begins, and for one whose body runs twice", () =>
    Effect.gen(function*() {
      const { spans, tracer } = recording()
      let runs = 0
      const registry = yield* makeRegistry(
        [effectTool("a", () => Effect.suspend(() => ++runs === 1 ? Effect.fail("no") : Effect.succeed(runs)))],
        Wrapper.layer([Effect.retry({ times: 1 })])
      )
      yield* Effect.provideService(registry.execute(input("a")), Tracer.Tracer, tracer)
      yield* registry.shutdown
      yield* Effect.provideService(registry.execute(input("a")), Tracer.Tracer, tracer)
      assert.deepStrictEqual(spans.map((span) => Exit.isSuccess(exitOf(span))), [true, false])
    }))

  it.effect("is none where tracing is turned off", () =>
    Effect.gen(function*() {
      const { spans, tracer } = recording()
      const registry = yield* makeRegistry([counted("a").tool])
      yield* registry.execute(input("a")).pipe(
        Effect.withTracerEnabled(false),
        Effect.provideService(Tracer.Tracer, tracer)
      )
      assert.deepStrictEqual(spans, [])
    }))

  const refuse = () => {
    throw new Error("no")
  }
  it.effect.each(
    [
      ["makes no span", () => Tracer.make({ span: refuse })],
      ["makes spans that do nothing right", () =>
        Tracer.make({
          span: (options) => Object.assign(new Tracer.NativeSpan(options), { event: refuse, end: refuse })
        })]
    ] as const
  )("by a tracer that %s costs the call nothing", ([, tracer]) =>
    Effect.gen(function*() {
      const registry = yield* makeRegistry([counted("a", 1).tool])
      const result = yield* Effect.provideService(registry.execute(input("a")), Tracer.Tracer, tracer())
      assert.deepInclude(result, { value: 1 })
      yield* registry.whenIdle
    }))
})

describe("Observer.metrics", () => {
  /** The states of the metric of that name, by code. */
  const states = (id: string) =>
    Effect.map(
      Metric.snapshot,
      (all) =>
        Object.fromEntries(all.flatMap((metric) =>
          metric.id === id
            ? [[String(metric.attributes?.["code"]), metric.state as unknown as Record<string, unknown>]]
            : []
        ))
    )

  it.effect("counts the calls that settle by code, and measures how long they took", () =>
    Effect.gen(function*() {
      const slow = held("slow", "3 seconds")
      const registry = yield* makeRegistry(
        [slow.tool, counted("a").tool, effectTool("fails", () => Effect.fail("no"))],
        Observer.layer(Observer.metrics)
      )
      for (const name of ["a", "a", "fails"]) yield* registry.execute(input(name))
      const call = yield* registry.start(input("slow"))
      yield* TestClock.adjust("1 second")
      yield* call.cancel()
      yield* TestClock.adjust("3 seconds")
      yield* call.result
      const calls = yield* states("quiesce_calls")
      assert.deepStrictEqual(
        Object.entries(calls).map(([code, { count }]) => [code, Number(count)]).sort(),
        [["ABORTED", 1], ["SUCCESS", 2], ["TOOL_FAILURE", 1]]
      )
      const durations = yield* states("quiesce_call_duration")
      assert.deepInclude(durations["ABORTED"], { count: 1, sum: 4000 })
      assert.deepInclude(durations["SUCCESS"], { count: 2, sum: 0 })
    }).pipe(Effect.provideService(Metric.MetricRegistry, new Map())))

  it.effect("is opted into: no call is counted without it", () =>
    Effect.gen(function*() {
      const registry = yield* makeRegistry([counted("a").tool])
      yield* registry.execute(input("a"))
      assert.deepStrictEqual(yield* states("quiesce_calls"), {})
    }).pipe(Effect.provideService(Metric.MetricRegistry, new Map())))
})
