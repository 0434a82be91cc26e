import { assert, describe, it } from "@effect/vitest"
import { Abortable, type Json, Policy, type ToolCall, type ToolRegistry, type ToolResult, Wrapper } from "@quiesce/core"
import { Deferred, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { cites } from "../../../tests/conformance/cites.ts"
import { counted, effectTool, held, input, makeRegistry, promiseTool } from "./support/registry.ts"

const toJson = (result: ToolResult.ToolResult) => result as unknown as Json
const codeOf = (result: ToolResult.ToolResult) => result._tag === "Success" ? "SUCCESS" : result.error.code
const reasonOf = (result: ToolResult.ToolResult) =>
  result._tag === "Failure" ? (result.error.detail as { readonly reason?: string } | undefined)?.reason : undefined

/** Every way in which a body can make a call inside its own: `inner` is launched in the operation that runs it. */
const ways: ReadonlyArray<
  readonly [
    way: string,
    outer: (
      registry: () => ToolRegistry.Shape,
      inner: ToolCall.Input,
      told: (result: ToolResult.ToolResult) => void
    ) => ReturnType<typeof effectTool> | ReturnType<typeof promiseTool>
  ]
> = [
  [
    "through the fiber of its body",
    (registry, inner, told) =>
      effectTool("outer", () =>
        Effect.suspend(() => registry().execute(inner)).pipe(
          Effect.onExit((exit) => Effect.sync(() => exit._tag === "Success" && told(exit.value))),
          Effect.map(toJson)
        ))
  ],
  [
    "through a fiber that its body forked",
    (registry, inner, told) =>
      effectTool("outer", () =>
        Effect.suspend(() => registry().execute(inner)).pipe(
          Effect.tap((result) => Effect.sync(() => told(result))),
          Effect.map(toJson),
          Effect.forkDetach({ startImmediately: true }),
          Effect.flatMap(Fiber.join)
        ))
  ],
  ["started by its body", (registry, inner, told) =>
    effectTool("outer", () =>
      Effect.gen(function*() {
        const call = yield* registry().start(inner)
        yield* Effect.forkDetach(Effect.tap(call.result, (result) => Effect.sync(() => told(result))), {
          startImmediately: true
        })
        return toJson(yield* call.result)
      }))],
  ["through the signal of its promise body", (registry, inner, told) =>
    promiseTool("outer", async (_, call) => {
      const result = await registry().executePromise({ ...inner, signal: call.signal })
      told(result)
      return toJson(result)
    })],
  [
    "through a signal of the bridge in its effect body",
    (registry, inner, told) =>
      effectTool("outer", () =>
        Abortable.promise(async (signal) => {
          const result = await registry().executePromise({ ...inner, signal })
          told(result)
          return toJson(result)
        }))
  ],
  ["through its token", (registry, inner, told) =>
    promiseTool("outer", async (_, call) => {
      const { signal } = new AbortController()
      const result = await registry().executePromise({ ...inner, parent: call.token, signal })
      told(result)
      return toJson(result)
    })]
]

describe.each(ways)("a call made inside another, %s", (way, makeOuter) => {
  /** An outer call under way, whose body waits for a call of `tool`, in a registry of its own where `apart`. */
  const nest = Effect.fnUntraced(function*(
    tool: ReturnType<typeof effectTool>,
    { apart = false, policy = {} }: { readonly apart?: boolean; readonly policy?: Policy.Policy } = {}
  ) {
    const told: Array<ToolResult.ToolResult> = []
    let inside: ToolRegistry.Shape | undefined
    const outer = makeOuter(() => inside!, input(tool.name, "the inner call"), (result) => told.push(result))
    const registry = yield* makeRegistry([outer, tool], Policy.layer(policy))
    inside = apart ? yield* makeRegistry([tool]) : registry
    const controller = new AbortController()
    const run = Effect.suspend(() => {
      const result = registry.executePromise({ ...input("outer", "the outer call"), signal: controller.signal })
      return Effect.forkChild(Effect.promise(() => result), { startImmediately: true })
    })
    return { told, registry, inside, controller, run }
  })

  it.effect(cites(`knows its root, and its result goes to the body, ${way}`, "CALL-26"), () =>
    Effect.gen(function*() {
      const leaf = held("leaf")
      const { run } = yield* nest(leaf.tool)
      const outer = yield* run
      const { call } = leaf.runs[0]!
      assert.strictEqual(call.callId, "the inner call")
      assert.strictEqual(call.rootCallId, "the outer call")
      leaf.end(1)
      const result = yield* Fiber.join(outer)
      assert(result._tag === "Success")
      assert.include(result.value, { _tag: "Success", value: 1 })
    }))

  for (const apart of [false, true]) {
    it.effect(
      cites(
        `is cancelled with it, for the root's own reason, and awaited${apart ? ", two registries deep" : ""}, ${way}`,
        "CALL-26"
      ),
      () =>
        Effect.gen(function*() {
          const leaf = held("leaf", "1 second")
          const { controller, inside, run, told } = yield* nest(leaf.tool, { apart })
          const outer = yield* run
          const [inner] = leaf.runs
          const { signal } = inner!.call
          const reason = { why: "the user went away" }
          controller.abort(reason)
          assert.isTrue(inner!.interrupted)
          assert.strictEqual(signal.reason, reason)

          yield* TestClock.adjust("999 millis")
          assert.isUndefined(outer.pollUnsafe())
          assert.lengthOf(yield* inside.inFlight, apart ? 1 : 2)
          yield* TestClock.adjust("1 millis")
          const result = yield* Fiber.join(outer)
          assert.isTrue(inner!.quiet)
          assert.strictEqual(codeOf(result), "ABORTED")
          assert.strictEqual(reasonOf(result), "Caller")
          for (const inner of told) {
            assert.strictEqual(codeOf(inner), "ABORTED")
            assert.strictEqual(reasonOf(inner), "Parent")
          }
        })
    )
  }

  it.effect(
    cites(`settles before dispatch when the outer is cancelled while the inner waits, ${way}`, "CALL-26"),
    () =>
      Effect.gen(function*() {
        const leaf = counted("leaf")
        let waiting = 0
        const pre: Policy.Policy["pre"] = (call) =>
          call.name === "leaf"
            ? Effect.suspend(() => {
              waiting++
              return Effect.never
            })
            : Effect.succeed(Policy.allow)
        const { controller, registry, run } = yield* nest(leaf.tool, { policy: { pre } })
        const settled: Array<ToolResult.ToolResult> = []
        yield* registry.observe((_, result) => Effect.sync(() => void settled.push(result)))
        const outer = yield* run
        assert.strictEqual(waiting, 1)
        controller.abort("stop")
        yield* Fiber.join(outer)
        assert.deepStrictEqual(settled.map(codeOf), ["ABORTED_BEFORE_DISPATCH", "ABORTED"])
        assert.strictEqual(reasonOf(settled[0]!), "Parent")
        assert.lengthOf(leaf.runs, 0)
      })
  )
})

describe("a call made inside another", () => {
  it.effect(
    cites("is interrupted alone when only the part around it is", "CALL-26", "CALL-29"),
    () =>
      Effect.gen(function*() {
        const leaf = held("leaf", "1 second")
        let registry: ToolRegistry.Shape | undefined
        // What the signal belongs to is narrower than the call: the body lives on, and so must hear of the inner's end.
        const outer = effectTool("outer", () =>
          Abortable.promise((signal) =>
            registry!.executePromise({ ...input("leaf"), signal })
          ).pipe(
            Effect.timeoutOption("1 minute"),
            Effect.map((result) => result._tag)
          ))
        registry = yield* makeRegistry([outer, leaf.tool])
        const call = yield* registry.start(input("outer"))
        yield* TestClock.adjust("1 minute")
        assert.isTrue(leaf.runs[0]!.interrupted)
        assert.isFalse(leaf.runs[0]!.quiet)
        yield* TestClock.adjust("1 second")
        const result = yield* call.result
        assert(result._tag === "Success")
        assert.strictEqual(result.value, "None")
        assert.isTrue(leaf.runs[0]!.quiet)
      })
  )

  for (
    const [maker, leave] of [
      [
        "an effect body",
        (registry: () => ToolRegistry.Shape) =>
          effectTool("outer", () => Effect.as(Effect.suspend(() => registry().start(input("leaf"))), "done"))
      ],
      ["a promise body", (registry: () => ToolRegistry.Shape) =>
        promiseTool("outer", (_, call) => {
          void registry().executePromise({ ...input("leaf"), signal: call.signal })
          return "done"
        })],
      [
        "a fiber that its body leaves behind",
        (registry: () => ToolRegistry.Shape) =>
          effectTool("outer", () =>
            Effect.as(
              Effect.forkDetach(Effect.suspend(() => registry().execute(input("leaf"))), { startImmediately: true }),
              "done"
            ))
      ]
    ] as const
  ) {
    it.effect(
      cites(`left running by ${maker} is cancelled when that settles, and awaited`, "CALL-26"),
      () =>
        Effect.gen(function*() {
          const leaf = held("leaf", "1 second")
          let registry: ToolRegistry.Shape | undefined
          registry = yield* makeRegistry([leave(() => registry!), leaf.tool])
          const inner: Array<ToolResult.ToolResult> = []
          yield* registry.observe((call, result) =>
            Effect.sync(() => call.name === "leaf" && void inner.push(result)).pipe(Effect.asVoid)
          )
          const call = yield* registry.start(input("outer"))
          yield* Effect.yieldNow
          assert.isTrue(leaf.runs[0]!.interrupted)
          assert.instanceOf(leaf.runs[0]!.call.signal.reason, DOMException)
          assert.match(leaf.runs[0]!.call.signal.reason.message, /\(outer\) is over/)
          const status = yield* call.status
          assert.strictEqual(status?.stage, "body")
          assert.isUndefined(status?.cancelling)
          yield* TestClock.adjust("1 second")
          const result = yield* call.result
          assert(result._tag === "Success")
          assert.strictEqual(result.value, "done")
          assert.deepStrictEqual(inner.map(codeOf), ["ABORTED"])
          assert.deepStrictEqual(inner.map(reasonOf), ["Parent"])
        })
    )
  }

  it.effect(
    cites("after the body is over never starts, whoever holds its signal or its token", "CALL-26"),
    () =>
      Effect.gen(function*() {
        const leaf = counted("leaf")
        const bodies: Array<ToolCall.Running> = []
        const outer = promiseTool("outer", (_, call) => {
          bodies.push(call)
          return call.signal.aborted
        })
        const registry = yield* makeRegistry([outer, leaf.tool])
        yield* registry.execute(input("outer"))
        const [{ signal, token } = assert.fail("the body did not run")] = bodies
        const live = new AbortController().signal
        const late = [
          yield* Effect.promise(() => registry.executePromise({ ...input("leaf", "by signal"), signal })),
          yield* Effect.promise(() => registry.executePromise({ ...input("leaf"), parent: token, signal: live })),
          yield* registry.execute({ ...input("leaf"), parent: token })
        ]
        assert.deepStrictEqual(late.map(codeOf), Array.from(late, () => "ABORTED_BEFORE_DISPATCH"))
        assert.deepStrictEqual(late.map(reasonOf), Array.from(late, () => "Parent"))
        assert.lengthOf(leaf.runs, 0)
      })
  )

  it.effect(
    cites("whose body ends late and calls again is refused for the root's reason", "CALL-26"),
    () =>
      Effect.gen(function*() {
        const leaf = counted("leaf")
        let registry: ToolRegistry.Shape | undefined
        const inner: Array<ToolResult.ToolResult> = []
        const outer = effectTool("outer", () =>
          Effect.never.pipe(Effect.onInterrupt(() =>
            Effect.suspend(() =>
              registry!.execute(input("leaf"))
            ).pipe(
              Effect.map((result) => void inner.push(result))
            )
          )))
        registry = yield* makeRegistry([outer, leaf.tool])
        const call = yield* registry.start(input("outer"))
        yield* call.cancel()
        yield* call.result
        assert.deepStrictEqual(inner.map(codeOf), ["ABORTED_BEFORE_DISPATCH"])
        assert.deepStrictEqual(inner.map(reasonOf), ["Parent"])
      })
  )

  it.effect(
    cites("belongs to the run of the body that made it, not to the next one of a retry", "CALL-26"),
    () =>
      Effect.gen(function*() {
        const leaf = held("leaf", "1 second")
        let registry: ToolRegistry.Shape | undefined
        let runs = 0
        const outer = effectTool("outer", () =>
          Effect.suspend(() => {
            if (++runs === 2) return Effect.succeed(leaf.runs[0]!.quiet)
            return Effect.andThen(Effect.suspend(() => registry!.start(input("leaf"))), Effect.fail("once"))
          }))
        registry = yield* makeRegistry([outer, leaf.tool], Wrapper.layer([Effect.retry({ times: 1 })]))
        const call = yield* registry.start(input("outer"))
        yield* TestClock.adjust("1 second")
        const result = yield* call.result
        assert(result._tag === "Success")
        assert.strictEqual(result.value, true)
      })
  )
})

describe("a call made by a stage around a body", () => {
  /** Runs `inner` once, in the stage of that name of every call of `outer`. */
  const stages: ReadonlyArray<
    readonly [
      stage: string,
      layers: (inner: Effect.Effect<unknown>) => ReadonlyArray<Parameters<typeof makeRegistry>[1]>
    ]
  > = [
    ["a pre-policy", (inner) => [
      Policy.layer({
        pre: (call) => call.name === "outer" ? Effect.as(inner, Policy.allow) : Effect.succeed(Policy.allow)
      })
    ]],
    ["a wrapper", (inner) => [
      Wrapper.layer([(next, call) => call.name === "outer" ? Effect.andThen(inner, next) : next])
    ]],
    ["a post-policy", (inner) => [
      Policy.layer({
        post: (call) => call.name === "outer" ? Effect.as(inner, Policy.accept()) : Effect.succeed(Policy.accept())
      })
    ]]
  ]

  describe.each(stages)("%s", (stage, layers) => {
    it.effect(
      cites(`by ${stage} has that call as its root, and is cancelled with it`, "CALL-26"),
      () =>
        Effect.gen(function*() {
          const leaf = held("leaf", "1 second")
          let registry: ToolRegistry.Shape | undefined
          const outer = effectTool("outer", () => Effect.succeed("done"))
          registry = yield* makeRegistry(
            [outer, leaf.tool],
            ...layers(Effect.suspend(() => registry!.execute(input("leaf"))))
          )
          const call = yield* registry.start(input("outer"))
          assert.strictEqual(leaf.runs[0]!.call.rootCallId, "outer")
          const cause = { why: "enough" }
          yield* call.cancel({ _tag: "Caller", cause })
          assert.isTrue(leaf.runs[0]!.interrupted)
          assert.strictEqual(leaf.runs[0]!.call.signal.reason, cause)
          yield* TestClock.adjust("1 second")
          const result = yield* call.result
          assert.isTrue(leaf.runs[0]!.quiet)
          assert.strictEqual(codeOf(result), stage === "a post-policy" ? "ABORTED" : "ABORTED_BEFORE_DISPATCH")
        })
    )

    it.effect(
      cites(`by ${stage} left running, it is cancelled before that call settles, and awaited`, "CALL-26"),
      () =>
        Effect.gen(function*() {
          const leaf = held("leaf", "1 second")
          let registry: ToolRegistry.Shape | undefined
          const outer = effectTool("outer", () => Effect.succeed("done"))
          registry = yield* makeRegistry(
            [outer, leaf.tool],
            ...layers(Effect.suspend(() => registry!.start(input("leaf"))))
          )
          const call = yield* registry.start(input("outer"))
          assert.isTrue(leaf.runs[0]!.interrupted)
          yield* TestClock.adjust("999 millis")
          assert.isDefined(yield* call.status)
          yield* TestClock.adjust("1 millis")
          const result = yield* call.result
          assert.isTrue(leaf.runs[0]!.quiet)
          assert.strictEqual(codeOf(result), "SUCCESS")
        })
    )

    it.effect(
      cites(`by ${stage} never starts once that call is being cancelled`, "CALL-26"),
      () =>
        Effect.gen(function*() {
          const leaf = counted("leaf")
          let registry: ToolRegistry.Shape | undefined
          const reached = yield* Deferred.make<void>()
          const goOn = yield* Deferred.make<void>()
          const inner: Array<ToolResult.ToolResult> = []
          const outer = effectTool("outer", () => Effect.succeed("done"))
          const stubborn = Effect.gen(function*() {
            yield* Deferred.succeed(reached, undefined)
            yield* Deferred.await(goOn)
            inner.push(yield* registry!.execute(input("leaf")))
          }).pipe(Effect.uninterruptible)
          registry = yield* makeRegistry([outer, leaf.tool], ...layers(stubborn))
          const call = yield* registry.start(input("outer"))
          yield* Deferred.await(reached)
          yield* call.cancel()
          yield* Deferred.succeed(goOn, undefined)
          yield* call.result
          assert.deepStrictEqual(inner.map(codeOf), ["ABORTED_BEFORE_DISPATCH"])
          assert.deepStrictEqual(inner.map(reasonOf), ["Parent"])
          assert.deepStrictEqual(leaf.runs, [])
        })
    )
  })

  it.effect(
    cites("made by its finalizeContent or its observers is no part of it any more", "CALL-26"),
    () =>
      Effect.gen(function*() {
        const leaf = counted("leaf")
        let registry: ToolRegistry.Shape | undefined
        const late: Array<Promise<ToolResult.ToolResult>> = []
        const outer = effectTool("outer", () => Effect.succeed("done"), {
          finalizeContent: (call) => {
            const { signal } = new AbortController()
            late.push(registry!.executePromise({ ...input("leaf"), parent: call.token, signal }))
            return undefined
          }
        })
        registry = yield* makeRegistry([outer, leaf.tool])
        yield* registry.observe((call) =>
          call.name === "leaf" ? Effect.void : Effect.asVoid(Effect.suspend(() => registry!.start(input("leaf"))))
        )
        const result = yield* registry.execute(input("outer"))
        assert.strictEqual(codeOf(result), "SUCCESS")
        const inner = yield* Effect.promise(() => late[0]!)
        assert.strictEqual(codeOf(inner), "ABORTED_BEFORE_DISPATCH")
        assert.strictEqual(reasonOf(inner), "Parent")
        // The observer's own call is a root: observers are not inside the call they hear of.
        assert.deepStrictEqual(leaf.runs.map(({ rootCallId }) => rootCallId), ["leaf"])
      })
  )
})

describe("a token", () => {
  it.effect(cites("shows nothing of the call behind it", "CALL-26"), () =>
    Effect.gen(function*() {
      const tokens: Array<object> = []
      const registry = yield* makeRegistry([effectTool("a", (_, call) => Effect.sync(() => tokens.push(call.token)))])
      yield* registry.execute(input("a"))
      assert.deepStrictEqual(Reflect.ownKeys(tokens[0]!), [])
    }))
})
