/**
 * The faces of the core as one shape, so that a scenario can be run under each of them.
 *
 * They differ in who owns a call and how it is cancelled: `execute` by interrupting the fiber, `start` by hand,
 * `executePromise` and the Toolbox by an AbortSignal. What then holds is the same.
 */
import { assert } from "@effect/vitest"
import {
  Approval,
  type CancelReason,
  Observer,
  Policy,
  type Tool,
  Toolbox,
  type ToolCall,
  ToolRegistry,
  type ToolResult,
  Wrapper
} from "@quiesce/core"
import { Context, Effect, Exit, Fiber, Layer, type Scope } from "effect"

/** A call that was made through some face. */
export interface Made {
  readonly callId: string
  /** Asks the call to stop, and returns when that was passed on. */
  readonly cancel: Effect.Effect<void>
  /** Whether whoever made the call can see that it is over. */
  readonly isOver: () => boolean
  /**
   * The one result, once whoever made the call can look. It is what the observers were told: exactly once, and the same
   * object that the caller got, unless the caller was interrupted.
   */
  readonly result: Effect.Effect<ToolResult.ToolResult>
}

export interface Host {
  /** Makes a call. It has run up to its first wait when this returns. Default: no arguments, a fresh `callId`. */
  readonly call: (name: string, input?: Partial<ToolCall.Input>) => Effect.Effect<Made>
  /** Cancels the call that was made last: also from inside it, before `call` has returned. */
  readonly cancelLatest: () => void
  readonly inFlight: Effect.Effect<ReadonlyArray<ToolRegistry.InFlight>>
  readonly whenIdle: Effect.Effect<void>
  readonly close: Effect.Effect<void>
  /** Every result that was published, in order. */
  readonly published: ReadonlyArray<ToolResult.ToolResult>
}

export interface Face<in Parts> {
  readonly name: string
  /** The tag of the reason for which `Made.cancel` cancels. */
  readonly reason: CancelReason.CancelReason["_tag"]
  /** Builds what `parts` say; the end of the scope closes it. */
  readonly open: (parts: Parts) => Effect.Effect<Host, never, Scope.Scope>
}

/** What a registry is made of. */
export interface Parts {
  readonly tools: ReadonlyArray<Tool.AnyNoServices>
  readonly policy?: Policy.Policy
  readonly approval?: Approval.Channel
  readonly wrappers?: ReadonlyArray<Wrapper.Wrapper>
  readonly observers?: ReadonlyArray<Observer.Observer>
}

/** A registry of `parts`, for what only a registry has. */
export const registry = (parts: Parts): Effect.Effect<ToolRegistry.Shape, never, Scope.Scope> =>
  Effect.map(
    Layer.build(
      ToolRegistry.layer(parts.tools).pipe(Layer.provide([
        Policy.layer(parts.policy ?? {}),
        parts.approval === undefined ? Approval.layerUnavailable : Approval.layer(parts.approval),
        Wrapper.layer(parts.wrappers ?? []),
        Observer.layer(...parts.observers ?? [])
      ]))
    ),
    (context) => Context.get(context, ToolRegistry.ToolRegistry)
  ).pipe(Effect.orDie)

/** A call that one face is about to make. */
interface Begin {
  readonly cancel: () => void
  /** Makes it; the fiber ends as it does for whoever made the call. */
  readonly run: Effect.Effect<Fiber.Fiber<ToolResult.ToolResult>>
}

class Records {
  readonly #published: Array<ToolResult.ToolResult> = []
  #lastId = 0

  readonly record = (result: ToolResult.ToolResult): void => void this.#published.push(result)

  host(
    rest: Omit<Host, "call" | "cancelLatest" | "published">,
    begin: (input: ToolCall.Input) => Begin
  ): Host {
    let latest: Begin | undefined
    const call: Host["call"] = (name, partial) =>
      Effect.suspend(() => {
        const input: ToolCall.Input = { callId: `call-${++this.#lastId}`, name, arguments: {}, ...partial }
        const { cancel, run } = latest = begin(input)
        return Effect.map(run, (fiber): Made => ({
          callId: input.callId,
          cancel: Effect.sync(cancel),
          isOver: () => fiber.pollUnsafe() !== undefined,
          result: Effect.map(Fiber.await(fiber), (exit) => this.#only(input.callId, exit))
        }))
      })
    return { ...rest, call, cancelLatest: () => latest?.cancel(), published: this.#published }
  }

  #only(callId: string, exit: Exit.Exit<ToolResult.ToolResult>): ToolResult.ToolResult {
    const told = this.#published.filter((result) => result.callId === callId)
    assert.strictEqual(told.length, 1, `observers were told ${told.length} results of ${callId}`)
    if (Exit.isSuccess(exit)) assert.strictEqual(exit.value, told[0], "the caller and the observers see one object")
    else assert.isTrue(Exit.hasInterrupts(exit), "a caller that gets no result was interrupted")
    return told[0]!
  }
}

const registryFace = (
  name: string,
  reason: CancelReason.CancelReason["_tag"],
  begin: (registry: ToolRegistry.Shape, input: ToolCall.Input) => Begin
): Face<Parts> => ({
  name,
  reason,
  open: (parts) =>
    Effect.gen(function*() {
      const records = new Records()
      const recorder: Observer.Observer = (_, result) => Effect.sync(() => records.record(result))
      const made = yield* registry({ ...parts, observers: [recorder, ...parts.observers ?? []] })
      return records.host(
        { inFlight: made.inFlight, whenIdle: made.whenIdle, close: made.shutdown },
        (input) => begin(made, input)
      )
    })
})

const fork = <A>(effect: Effect.Effect<A>): Effect.Effect<Fiber.Fiber<A>> =>
  Effect.forkDetach(effect, { startImmediately: true })

export const execute: Face<Parts> = registryFace("execute", "Interrupt", (registry, input) => {
  let fiber: Fiber.Fiber<unknown, unknown> | undefined
  return {
    cancel: () => fiber?.interruptUnsafe(),
    run: fork(Effect.withFiber((own) => {
      fiber = own
      return registry.execute(input)
    }))
  }
})

export const start: Face<Parts> = registryFace("start", "Caller", (registry, input) => ({
  cancel: () => void Effect.runSync(registry.cancel(input.callId)),
  run: Effect.flatMap(registry.start(input), (call) => fork(call.result))
}))

const bySignal = (
  execute: (input: ToolCall.Input & { readonly signal: AbortSignal }) => Promise<ToolResult.ToolResult>,
  input: ToolCall.Input
): Begin => {
  const controller = new AbortController()
  return {
    cancel: () => controller.abort(),
    run: Effect.suspend(() => fork(awaiting(execute({ ...input, signal: controller.signal }))))
  }
}

const awaiting = (promise: Promise<ToolResult.ToolResult>): Effect.Effect<ToolResult.ToolResult> =>
  Effect.callback((resume) => {
    promise.then((result) => resume(Effect.succeed(result)), (thrown) => resume(Effect.die(thrown)))
  })

export const executePromise: Face<Parts> = registryFace(
  "executePromise",
  "Caller",
  (registry, input) => bySignal(registry.executePromise, input)
)

export const toolbox: Face<Toolbox.Options> = {
  name: "Toolbox",
  reason: "Caller",
  open: (options) =>
    Effect.gen(function*() {
      const records = new Records()
      const made = Toolbox.make({
        ...options,
        observers: [(_, result) => records.record(result), ...options.observers ?? []]
      })
      yield* Effect.addFinalizer(() => Effect.promise(() => made.close()))
      return records.host(
        {
          inFlight: Effect.sync(made.inFlight),
          whenIdle: Effect.promise(() => made.whenIdle()),
          close: Effect.promise(() => made.close())
        },
        (input) => bySignal(made.execute, input)
      )
    })
}

/** The faces of a registry. */
export const registryFaces: ReadonlyArray<Face<Parts>> = [execute, start, executePromise]

/** Every face, for scenarios whose stages are promise functions. */
export const allFaces: ReadonlyArray<Face<Toolbox.Options>> = [
  ...registryFaces.map((face): Face<Toolbox.Options> => ({
    ...face,
    open: (options) => face.open(partsOf(options))
  })),
  toolbox
]

/** A Toolbox's options as the parts of a registry. */
const partsOf = ({ approval, observers, policy, tools, wrappers }: Toolbox.Options): Parts => ({
  tools,
  ...(policy && { policy: policyOf(policy) }),
  ...(approval && {
    approval: Approval.fromPromise(async (...args) => answerOf(await approval(...args)))
  }),
  ...(wrappers && { wrappers: wrappers.map(Wrapper.fromPromise) }),
  ...(observers && { observers: observers.map(Observer.fromPromise) })
})

const policyOf = ({ post, pre }: NonNullable<Toolbox.Options["policy"]>): Policy.Policy =>
  Policy.fromPromise({
    ...(post && { post }),
    ...(pre && {
      pre: async (...args) => {
        const decision = await pre(...args)
        if (decision === "allow") return Policy.allow
        return "ask" in decision ? Policy.ask(decision.ask) : Policy.deny(decision.deny)
      }
    })
  })

const answerOf = (answer: Toolbox.Answer): Approval.Outcome => {
  if (answer === "allow") return Approval.allowedOnce
  if (answer === "cancel") return Approval.cancelled
  return Approval.rejected(answer === "deny" ? undefined : answer.deny)
}
