/** A call through every face, cancelled at every moment: the outcome is what the contract says, and nothing is left. */
import {
  Abortable,
  Approval,
  type Policy,
  Policy as Policies,
  Tool,
  ToolRegistry,
  type ToolResult,
  Wrapper
} from "@quiesce/core"
import { Edge } from "@quiesce/testing"
import { Deferred, Effect, Fiber, Layer, Schedule, Schema, Semaphore } from "effect"
import type { Race, Subject } from "./Race.ts"

/** What happened in one run, in the order in which it did. */
interface Log {
  entered: number
  ended: number
  /** The body ended before its signal aborted: nobody had cancelled yet. */
  endedFirst: boolean
  cancelled: boolean
  results: Array<ToolResult.ToolResult>
}

type Ending = "succeeds" | "fails" | "aborts"

class Broken extends Error {
  override readonly name = "Broken"
}

const parameters = Schema.Struct({})
const success = Schema.String

/**
 * A tool that is defined once, for all runs of a program: that takes longer than a call of it. What its body works with is
 * made anew by every run, and given to it by `on`.
 */
interface Prop {
  readonly on: (edge: Edge.Shape, log: Log) => Tool.Tool<string, any, Edge.Edge>
}

const prop = (define: (run: () => { edge: Edge.Shape; log: Log }) => Tool.Tool<string, any, Edge.Edge>): Prop => {
  let current: { edge: Edge.Shape; log: Log } | undefined
  const tool = define(() => current!)
  return {
    on: (edge, log) => {
      current = { edge, log }
      return tool
    }
  }
}

/** A body that ends when the outside world says so, and does not care about its signal unless it `aborts`. */
const promiseTool = (ending: Ending, name = "tool") =>
  prop((run) =>
    Tool.fromPromise(name, {
      description: "",
      parameters,
      success,
      execute: async (_, { signal }) => {
        const { edge, log } = run()
        log.entered++
        try {
          return await new Promise<string>((resolve, reject) => {
            if (ending === "aborts") signal.addEventListener("abort", () => reject(signal.reason))
            void edge.promise(`${name} ends`, () => ending === "fails" ? reject(new Broken()) : resolve("value"))
          })
        } finally {
          log.ended++
          log.endedFirst = !signal.aborted
        }
      }
    })
  )

const effectTool = (ending: Ending, name = "tool") =>
  prop((run) =>
    Tool.make(name, {
      description: "",
      parameters,
      success,
      execute: (_, { signal }) => {
        const { log } = run()
        const end = Effect.andThen(
          Edge.wait(`${name} ends`),
          ending === "fails" ? Effect.fail(new Broken()) : Effect.succeed("value")
        )
        const body = Effect.acquireUseRelease(
          Effect.sync(() => void log.entered++),
          () => end,
          () =>
            Effect.sync(() => {
              log.ended++
              log.endedFirst = !signal.aborted
            })
        )
        return ending === "aborts" ? body : Effect.uninterruptible(body)
      }
    })
  )

const newLog = (): Log => ({ entered: 0, ended: 0, endedFirst: false, cancelled: false, results: [] })

/** The outcome is one that the contract allows for what happened, whatever that was. */
const judge = (log: Log, ending: Ending, result: ToolResult.ToolResult): string => {
  const says = (what: boolean, problem: string) => {
    if (!what) {
      throw new Error(
        `${problem}: ${JSON.stringify({ ...log, results: log.results.length })} → ${JSON.stringify(result)}`
      )
    }
  }
  says(log.entered === log.ended, "the call is over and its body is not")
  // An effect body that is interrupted before its first operation was dispatched, and touched nothing.
  says(result.dispatched || log.entered === 0, "dispatched is not what happened")
  if (result._tag === "Success") {
    says(ending !== "fails", "a failed body succeeded")
    // What a wrapper made up may have come after its body's end, however that ended.
    says(!log.cancelled || log.endedFirst || result.value !== "value", "a late success escaped")
    return "Success"
  }
  const { code } = result.error
  if (code === "TOOL_FAILURE") {
    says(ending === "fails" && result.error.name === "Broken", "the failure is not the body's")
  }
  if (code === "ABORTED") {
    says(result.dispatched, "ABORTED, and the body never ran")
    says(ending !== "fails" || log.entered === 0, "a cancellation replaced a failure")
    says(log.cancelled, "aborted by nobody")
  }
  if (code === "ABORTED_BEFORE_DISPATCH") {
    says(log.entered === 0, "ABORTED_BEFORE_DISPATCH, and the body ran")
    says(log.cancelled, "aborted by nobody")
  }
  return code
}

const registryOf = (
  tools: ReadonlyArray<Tool.Tool<string, any, Edge.Edge>>,
  ...provided: ReadonlyArray<Layer.Layer<never>>
) => {
  const live = ToolRegistry.layer(tools)
  return Edge.setup(
    Effect.map(
      Layer.build(
        provided.length === 0 ? live : Layer.provide(live, Layer.mergeAll(...provided as [Layer.Layer<never>]))
      ),
      (context) => context
    )
  ).pipe(Effect.flatMap((context) => Effect.provide(ToolRegistry.ToolRegistry, context)))
}

const input = { callId: "a", name: "tool", arguments: {} }

/** Nothing is in flight and no listener is left, once the result is there. */
const leavesNothing = (registry: ToolRegistry.Shape, listeners: () => number = () => 0) =>
  Effect.gen(function*() {
    const inFlight = yield* registry.inFlight
    if (inFlight.length > 0) throw new Error(`in flight: ${JSON.stringify(inFlight)}`)
    if (listeners() > 0) throw new Error("a listener is left")
  })

/** Cancels a call through the promise face at any moment. */
const promiseFace = (ending: Ending, ...provided: ReadonlyArray<Layer.Layer<never>>) => {
  const tool = promiseTool(ending)
  return Effect.gen(function*() {
    const edge = yield* Edge.Edge
    const log = newLog()
    const registry = yield* registryOf([tool.on(edge, log)], ...provided)
    const controller = edge.controller("ABORT", "why")
    controller.signal.addEventListener("abort", () => log.cancelled = true)
    const result = yield* Effect.callback<ToolResult.ToolResult>((resume) => {
      void registry.executePromise({ ...input, signal: controller.signal }).then((result) => {
        if (controller.listeners() > 1) throw new Error("a listener is left")
        resume(Effect.succeed(result))
      })
    })
    yield* leavesNothing(registry)
    return judge(log, ending, result)
  })
}

/** Interrupts the fiber that runs `execute` at any moment. */
const effectFace = (
  tool: Prop,
  ending: Ending,
  ...provided: ReadonlyArray<Layer.Layer<never>>
) =>
  Effect.gen(function*() {
    const edge = yield* Edge.Edge
    const log = newLog()
    const registry = yield* registryOf([tool.on(edge, log)], ...provided)
    yield* registry.observe((_, result) => Effect.sync(() => void log.results.push(result)))
    const fiber = yield* Effect.forkChild(registry.execute(input))
    yield* Edge.action("INTERRUPT", () => {
      log.cancelled = true
      fiber.interruptUnsafe()
    })
    yield* Fiber.await(fiber)
    yield* leavesNothing(registry)
    const [result] = log.results
    if (log.results.length > 1) throw new Error(`${log.results.length} results`)
    // Interrupted before it ran its first operation, the fiber never made the call.
    return result === undefined ? "never made" : judge(log, ending, result)
  })

/** Starts a call and cancels it twice, from different sides. */
const startFace = (ending: Ending) => {
  const tool = promiseTool(ending)
  return Effect.gen(function*() {
    const edge = yield* Edge.Edge
    const log = newLog()
    const registry = yield* registryOf([tool.on(edge, log)])
    const call = yield* registry.start(input)
    const cancel = Effect.suspend(() => {
      log.cancelled = true
      return call.cancel()
    })
    yield* Effect.forkChild(Effect.andThen(Edge.wait("first"), cancel))
    yield* Effect.forkChild(
      Effect.andThen(Edge.wait("second"), Effect.andThen(Effect.sync(() => log.cancelled = true), registry.cancel("a")))
    )
    const result = yield* call.result
    const admitted = yield* call.admitted
    if (result.dispatched && !admitted) throw new Error("dispatched, and never admitted")
    yield* leavesNothing(registry)
    return judge(log, ending, result)
  })
}

const asking: Policy.Policy = { pre: () => Effect.succeed(Policies.ask()) }

/** An approval is asked for, answered and cancelled at any moment: an answer to a closed question starts nothing. */
const approval = (answer: "allow" | "deny") => {
  const tool = promiseTool("aborts")
  return Effect.gen(function*() {
    const edge = yield* Edge.Edge
    const log = newLog()
    let asked = 0
    const channel: Approval.Channel = {
      ask: () =>
        Effect.suspend(() => {
          asked++
          return Effect.as(
            Effect.uninterruptible(Effect.yieldNow),
            answer === "allow" ? Approval.allowedOnce : Approval.rejected()
          )
        }).pipe(Effect.tap(Effect.callback<void>((resume) => {
          const answering = edge.action("answer", () => resume(Effect.void))
          return Effect.sync(answering.withdraw)
        })))
    }
    const registry = yield* registryOf(
      [tool.on(edge, log)],
      Policies.layer(asking),
      Approval.layer(channel)
    )
    const call = yield* registry.start(input)
    yield* Edge.action("CANCEL", () => {
      log.cancelled = true
      Effect.runFork(call.cancel())
    })
    const result = yield* call.result
    if (asked > 1) throw new Error("asked twice")
    yield* leavesNothing(registry)
    const code = judge(log, "aborts", result)
    if (answer === "deny" && log.entered > 0) throw new Error("a denied call ran")
    return code
  })
}

/** A tool with a budget: whichever comes first, the deadline or the cancellation, decides. */
const deadline = (ending: Ending, listed: boolean) =>
  Effect.gen(function*() {
    const edge = yield* Edge.Edge
    const log = newLog()
    let first: "deadline" | "cancel" | undefined
    const tool = Tool.fromPromise("tool", {
      description: "",
      parameters,
      success,
      timeout: 10,
      execute: async (_, { signal }) => {
        log.entered++
        signal.addEventListener("abort", () => {
          first ??= log.cancelled ? "cancel" : "deadline"
        })
        try {
          return await new Promise<string>((resolve, reject) => {
            if (ending === "aborts") signal.addEventListener("abort", () => reject(signal.reason))
            void edge.promise("tool ends", () => ending === "fails" ? reject(new Broken()) : resolve("value"))
          })
        } finally {
          log.ended++
          log.endedFirst = first === undefined
        }
      }
    })
    const registry = yield* registryOf([tool], ...(listed ? [Wrapper.layer([Wrapper.timeout])] : []))
    const call = yield* registry.start(input)
    yield* Edge.action("CANCEL", () => {
      log.cancelled = true
      Effect.runFork(call.cancel())
    })
    const result = yield* call.result
    yield* leavesNothing(registry)
    const code = result._tag === "Success" ? "Success" : result.error.code
    if (log.entered !== log.ended) throw new Error("the call is over and its body is not")
    if (first === "deadline" && code !== "TOOL_TIMEOUT") throw new Error(`the deadline fired first, and it is ${code}`)
    if (first === "cancel" && code !== (ending === "fails" ? "TOOL_FAILURE" : "ABORTED")) {
      throw new Error(`cancelled first, and it is ${code}`)
    }
    if (!listed && first === undefined && code === "TOOL_TIMEOUT") throw new Error("timed out, and nobody was told")
    return code
  })

/** A failure that no handler recovered from survives a cancellation, whatever stands around the body. */
const wrapped = (ending: Ending, ...wrappers: ReadonlyArray<Wrapper.Wrapper>) =>
  promiseFace(ending, Wrapper.layer(wrappers))

const renamed: Wrapper.Wrapper = (next) => Effect.mapError(next, (error) => error)
const tapped: Wrapper.Wrapper = (next) => Effect.tapError(next, () => Effect.void)
const onceMore: Wrapper.Wrapper = (next) => Effect.retry(next, { times: 0, schedule: Schedule.recurs(0) })
const limited = (): Wrapper.Wrapper => Semaphore.makeUnsafe(1).withPermit
const masked: Wrapper.Wrapper = (next) => Effect.uninterruptible(next)
const forked: Wrapper.Wrapper = (next) => Effect.flatMap(Effect.forkChild(next), Fiber.join)
const detached: Wrapper.Wrapper = (next) => Effect.flatMap(Effect.forkDetach(next), Fiber.join)
const timed: Wrapper.Wrapper = (next) => Effect.timeout(next, "1 hour")
const abandoning: Wrapper.Wrapper = (next) => Effect.as(Effect.forkDetach(next, { startImmediately: true }), "made up")

const fallBack = () => Effect.succeed("recovered")
const insisting: Wrapper.Wrapper = (next) => Effect.uninterruptible(Effect.catchCause(next, fallBack))
const handling = (next: Wrapper.Next) => Abortable.handling(next, Effect.catchCause(fallBack))
const raced: Wrapper.Wrapper = (next) => Effect.raceFirst(handling(next), Effect.never)
const promised = Wrapper.fromPromise(async (next, _, { signal }) => {
  try {
    return await next(signal)
  } catch {
    return "recovered"
  }
})

/** A failure that a handler recovered from is gone, whenever the cancellation comes, and so it is for a wrapper around. */
const recovered = (...wrappers: ReadonlyArray<Wrapper.Wrapper>) => {
  const tool = promiseTool("fails")
  return Effect.gen(function*() {
    const edge = yield* Edge.Edge
    const log = newLog()
    const registry = yield* registryOf([tool.on(edge, log)], Wrapper.layer(wrappers))
    const controller = edge.controller("ABORT", "why")
    controller.signal.addEventListener("abort", () => log.cancelled = true)
    const result = yield* Effect.callback<ToolResult.ToolResult>((resume) => {
      void registry.executePromise({ ...input, signal: controller.signal }).then((it) => resume(Effect.succeed(it)))
    })
    yield* leavesNothing(registry)
    if (log.entered !== log.ended) throw new Error("the call is over and its body is not")
    if (result._tag === "Success" && result.value === "recovered") return "recovered"
    const code = result._tag === "Success" ? "Success" : result.error.code
    if (!log.cancelled || !code.startsWith("ABORTED")) throw new Error(`a handler ran, and it is ${code}`)
    return code
  })
}

/** Cancelled by the caller, by a wrapper, or by both: a failure that nobody took stays, whoever came first. */
const fromTwoSides = (ending: Ending, around: Wrapper.Wrapper) => {
  const tool = promiseTool(ending)
  return Effect.gen(function*() {
    const edge = yield* Edge.Edge
    const log = newLog()
    const [outer, inner] = [edge.controller("ABORT", "why"), edge.controller("ABORT INSIDE", "why")]
    for (const { signal } of [outer, inner]) signal.addEventListener("abort", () => log.cancelled = true)
    const registry = yield* registryOf(
      [tool.on(edge, log)],
      Wrapper.layer([(next, call) => around(Wrapper.withCancel(next, inner.signal), call)])
    )
    const result = yield* Effect.callback<ToolResult.ToolResult>((resume) => {
      void registry.executePromise({ ...input, signal: outer.signal }).then((it) => resume(Effect.succeed(it)))
    })
    yield* leavesNothing(registry)
    return judge(log, ending, result)
  })
}

/** Two calls on one signal: each has its own result, and the signal one listener. */
const [first, second] = [promiseTool("succeeds", "one"), promiseTool("aborts", "two")]
const sharedSignal = Effect.gen(function*() {
  const edge = yield* Edge.Edge
  const logs = [newLog(), newLog()] as const
  const registry = yield* registryOf([first.on(edge, logs[0]), second.on(edge, logs[1])])
  const controller = edge.controller("ABORT")
  controller.signal.addEventListener("abort", () => logs.forEach((log) => log.cancelled = true))
  yield* Edge.always("one native listener", () => controller.listeners() <= 2)
  const call = (name: string) =>
    Effect.callback<ToolResult.ToolResult>((resume) => {
      void registry.executePromise({ callId: name, name, arguments: {}, signal: controller.signal })
        .then((result) => resume(Effect.succeed(result)))
    })
  const [one, two] = yield* Effect.all([call("one"), call("two")], { concurrency: "unbounded" })
  yield* leavesNothing(registry, () => controller.listeners() - 1)
  return `${judge(logs[0], "succeeds", one)} ${judge(logs[1], "aborts", two)}`
})

/** A call inside a call: the inner one ends first, and knows the root's reason. */
const nested = (ending: Ending) => {
  const tool = promiseTool(ending, "inner")
  return Effect.gen(function*() {
    const edge = yield* Edge.Edge
    const log = newLog()
    let inner: ToolResult.ToolResult | undefined
    let outerDone = false
    const outerTool = Tool.make("outer", {
      description: "",
      parameters,
      success,
      execute: () =>
        Effect.gen(function*() {
          const registry = yield* Deferred.await(itself)
          inner = yield* registry.execute({ callId: "inner", name: "inner", arguments: {} })
          return "outer"
        })
    })
    const itself = yield* Deferred.make<ToolRegistry.Shape>()
    const registry = yield* registryOf([tool.on(edge, log), outerTool])
    yield* registry.observe((call, result) =>
      Effect.sync(() => {
        if (call.name === "inner") {
          inner = result
          if (outerDone) throw new Error("the outer call is over, and the inner one was not")
        } else outerDone = true
      })
    )
    yield* Deferred.succeed(itself, registry)
    const call = yield* registry.start({ callId: "outer", name: "outer", arguments: {} })
    yield* Edge.action("CANCEL", () => {
      log.cancelled = true
      Effect.runFork(call.cancel())
    })
    const result = yield* call.result
    yield* leavesNothing(registry)
    if (log.entered !== log.ended) throw new Error("the outer call is over, and the inner body is not")
    return `${result._tag === "Success" ? "Success" : result.error.code}, inner ${
      inner === undefined ? "never made" : judge(log, ending, inner)
    }`
  })
}

/** Shutdown while a call is made: it is refused, or cancelled and awaited. */
const closed = promiseTool("succeeds")
const shuttingDown = Effect.gen(function*() {
  const edge = yield* Edge.Edge
  const log = newLog()
  const registry = yield* registryOf([closed.on(edge, log)])
  const closing = yield* Effect.forkChild(
    Effect.andThen(
      Effect.andThen(Edge.wait("SHUTDOWN"), Effect.sync(() => log.cancelled = true)),
      registry.shutdown
    )
  )
  const calling = yield* Effect.forkChild(Effect.andThen(Edge.wait("call"), registry.execute(input)))
  yield* Fiber.join(closing)
  // A call that is made only now is refused, which may take it an instant.
  const isRefused = ({ cancelling, stage }: ToolRegistry.InFlight) =>
    (stage === "pre" || stage === "settling") && cancelling?._tag === "Shutdown"
  if (!(yield* registry.inFlight).every(isRefused)) throw new Error("the registry is shut down, and a call is not over")
  if (log.entered !== log.ended) throw new Error("the registry is shut down, and a body is not")
  const result = yield* Fiber.join(calling)
  yield* leavesNothing(registry)
  return judge(log, "succeeds", result)
})

const endings: ReadonlyArray<Ending> = ["succeeds", "fails", "aborts"]

const race = (name: string, program: Race["program"], ...clauses: Race["clauses"]): Race => ({
  name,
  clauses,
  program,
  preemptions: {}
})

/** Time is not what these are about; the watch over calls, which sets timers too, is raced by the faces. */
const untimed = (name: string, program: Race["program"], ...clauses: Race["clauses"]): Race => ({
  ...race(name, program, ...clauses),
  timers: 0
})

export const core: Subject = {
  subject: "the core",
  races: [
    ...endings.map((it) => race(`promise face: a body that ${it}`, promiseFace(it), "CALL-07", "CALL-08", "CALL-16")),
    ...endings.flatMap((it) => [
      race(
        `effect face: a promise body that ${it}`,
        effectFace(promiseTool(it), it),
        "CALL-18",
        "CALL-09"
      ),
      race(
        `effect face: an effect body that ${it}`,
        effectFace(effectTool(it), it),
        "CALL-18",
        "CALL-09"
      )
    ]),
    ...endings.map((it): Race => ({
      ...untimed(`started, and cancelled from two sides: a body that ${it}`, startFace(it), "CALL-01", "CALL-17"),
      preemptions: { ci: 0 }
    })),
    untimed("an approval that allows", approval("allow"), "CALL-05", "CALL-22"),
    untimed("an approval that refuses", approval("deny"), "CALL-05", "CALL-22"),
    ...endings.flatMap((it) => [
      race(`a budget, and a body that ${it}`, deadline(it, false), "TIME-02", "TIME-03"),
      race(`a budget enforced where it is listed, and a body that ${it}`, deadline(it, true), "TIME-02", "TIME-05")
    ]),
    ...endings.flatMap((it) => [
      untimed(`mapError around a body that ${it}`, wrapped(it, renamed), "CALL-09", "CALL-12"),
      untimed(`tapError around a body that ${it}`, wrapped(it, tapped), "CALL-09"),
      untimed(`retry around a body that ${it}`, wrapped(it, onceMore), "CALL-09", "CALL-15"),
      untimed(`two wrappers around a body that ${it}`, wrapped(it, limited(), renamed), "CALL-09"),
      untimed(`an uninterruptible region around a body that ${it}`, wrapped(it, masked), "CALL-12"),
      untimed(`another fiber around a body that ${it}`, wrapped(it, forked), "CALL-12"),
      race(`Effect.timeout around a body that ${it}`, wrapped(it, timed), "CALL-09", "CALL-12"),
      untimed(`a detached fiber around a body that ${it}`, wrapped(it, detached), "CALL-12")
    ]),
    untimed("a handler that insists around a body that fails", recovered(insisting), "CALL-09"),
    untimed("`handling` around a body that fails", recovered(handling), "CALL-09"),
    untimed("`handling` inside a race and `mapError`", recovered(renamed, raced), "CALL-09"),
    untimed("a promise wrapper that recovers", recovered(promised), "CALL-09"),
    ...endings.map((it): Race => ({
      ...untimed(
        `mapError, and a cancellation from two sides: a body that ${it}`,
        fromTwoSides(it, renamed),
        "CALL-09"
      ),
      preemptions: { ci: 0 }
    })),
    ...endings.map((it): Race => ({
      ...race(`a timeout, and a cancellation from two sides: a body that ${it}`, fromTwoSides(it, timed), "CALL-09"),
      preemptions: { ci: 0 }
    })),
    untimed("a wrapper that settles first", wrapped("succeeds", abandoning), "CALL-07"),
    untimed("two calls on one signal", sharedSignal, "CALL-16", "CALL-29"),
    ...endings.map((it) => untimed(`a call inside a call: a body that ${it}`, nested(it), "CALL-26")),
    untimed("shutdown while a call is made", shuttingDown, "CALL-28")
  ]
}
