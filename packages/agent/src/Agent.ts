/**
 * Turns for code without Effect: promise functions in, promises out, with the same guarantees.
 *
 * Every turn is given a signal: who can begin one can end it. Aborting it cancels the turn, and what was awaited settles
 * when the turn is quiet, with its outcome.
 */
import * as Abortable from "@quiesce/core/Abortable"
import * as Approval from "@quiesce/core/Approval"
import * as Observer from "@quiesce/core/Observer"
import * as Policy from "@quiesce/core/Policy"
import type * as Tool from "@quiesce/core/Tool"
import * as ToolRegistry from "@quiesce/core/ToolRegistry"
import * as Wrapper from "@quiesce/core/Wrapper"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { LogFailed } from "./LogError.ts"
import * as Replay from "./Replay.ts"
import * as SessionLog from "./SessionLog.ts"
import * as Turn from "./Turn.ts"

export interface Options {
  /** Tools that need no services: here nobody can supply any. */
  readonly tools: ReadonlyArray<Tool.AnyNoServices>
  /** The file of the log. Default: in memory. */
  readonly log?: string | undefined
  /** By `Policy.fromPromise`. Default: allow everything. */
  readonly policy?: Policy.Policy | undefined
  /** By `Approval.fromPromise`. Default: nobody can be asked, which denies. */
  readonly approval?: Approval.Channel | undefined
  /** By `Wrapper.fromPromise`. The first is outermost. */
  readonly wrappers?: ReadonlyArray<Wrapper.Wrapper> | undefined
  /** By `Observer.fromPromise`. */
  readonly observers?: ReadonlyArray<Observer.Observer> | undefined
}

export interface TurnOptions extends Turn.Options {
  /** Aborting it cancels the turn (`user`). */
  readonly signal: AbortSignal
  /** What the turn is about, stored first. */
  readonly input?: string | undefined
  /** Hears what happens in the turn. */
  readonly onEvent?: ((event: Turn.Event) => void) | undefined
}

/** A turn that runs. */
export interface Running {
  /** Stores what the user says in it, behind a step that runs. Rejects when the log fails, or the turn has ended. */
  readonly input: (text: string) => Promise<void>
  /**
   * Stores what the model said, runs its calls, and resolves when every one of them is quiet and its result is stored. It
   * does not reject for an outcome: outcomes are data. It rejects when the log fails.
   */
  readonly step: (assistant: Turn.Assistant) => Promise<Turn.Outcome>
  /** Asks the turn to stop. */
  readonly cancel: () => void
  /** Asks the calls with this label or number to stop, and no other. */
  readonly cancelCall: (call: number | string) => Promise<number>
  /** Aborts when the turn is cancelled: for asking a model. */
  readonly signal: AbortSignal
}

export interface Agent extends AsyncDisposable {
  /**
   * Begins a turn, and ends it when `body` has settled and all of its calls are quiet. Settles as `body` did. Rejects when
   * the log fails, or has a turn that has not ended.
   */
  readonly turn: <A>(options: TurnOptions, body: (turn: Running) => PromiseLike<A>) => Promise<A>
  readonly schemas: () => Promise<ReadonlyArray<ToolRegistry.ToolSchema>>
  /** The history so far, for `Replay.toAnthropic`, `toOpenAi` or `toAiSdk`. */
  readonly messages: () => Promise<ReadonlyArray<Replay.Message>>
  readonly verify: () => Promise<SessionLog.Report>
  /** Cancels the turn that runs (`disposed`), waits until it is quiet, and closes the log. */
  readonly close: () => Promise<void>
}

/** Opens the log, closes what a crash left open in it, and makes the tools ready. Rejects with the log's own errors. */
export const open = async (options: Options): Promise<Agent> => {
  const { approval, log: file, observers = [], policy, tools, wrappers = [] } = options
  const registry = Layer.provide(ToolRegistry.layer(tools), [
    Policy.layer(policy ?? {}),
    approval === undefined ? Approval.layerUnavailable : Approval.layer(approval),
    Wrapper.layer(wrappers),
    Observer.layer(...observers)
  ])
  const sessionLog = file === undefined ? SessionLog.layerMemory : SessionLog.layerSqlite(file)
  const scope = Scope.makeUnsafe()
  // The registry is closed first, and what its calls still write then finds the log open.
  const context = await settle(
    Effect.onExit(
      Layer.buildWithScope(Layer.provideMerge(registry, sessionLog), scope),
      (exit) => Exit.isFailure(exit) ? Scope.close(scope, exit) : Effect.void
    )
  )
  const log = Context.get(context, SessionLog.SessionLog)
  const running = new Set<Place>()
  let closed = false

  const turn: Agent["turn"] = async ({ input, onEvent, signal, ...options }, body) => {
    if (closed) throw new LogFailed({ log: file ?? "a log in memory", reason: "Closed" })
    const { promise: over, resolve } = Promise.withResolvers<void>()
    const place: Place = { turn: undefined, over }
    running.add(place)
    const work = Effect.gen(function*() {
      const turn = place.turn = yield* Turn.make(options)
      if (closed) yield* turn.cancel("disposed")
      yield* onAbort(signal, turn.cancel("user"))
      const cancelled = new AbortController()
      // Hears all of the turn, the last event too: it ends when the turn does, which is after this scope has.
      const hearing = Stream.runForEach(turn.events, (event) => {
        if (event._tag === "Cancelled") cancelled.abort(signal.aborted ? signal.reason : undefined)
        const tell = Effect.sync(() => onEvent?.(event))
        return Effect.catchCause(tell, (cause) => Effect.logWarning("A listener of a turn failed", cause))
      })
      yield* Effect.forkDetach(hearing, { startImmediately: true })
      if (input !== undefined) yield* turn.input(input)
      return yield* Abortable.promise(() =>
        body({
          input: (text) => settle(turn.input(text)),
          step: (assistant) => settle(turn.step(assistant)),
          cancel: () => void Effect.runFork(turn.cancel("user")),
          cancelCall: (call) => settle(turn.cancelCall(call)),
          signal: cancelled.signal
        })
      )
    })
    try {
      return await settle(Effect.provideContext(Effect.scoped(work), context))
    } finally {
      running.delete(place)
      resolve()
    }
  }

  const close = async (): Promise<void> => {
    closed = true
    const places = [...running]
    const turns = places.flatMap(({ turn }) => turn === undefined ? [] : [turn])
    await settle(Effect.forEach(turns, (turn) => turn.cancel("disposed"), { discard: true }))
    await Promise.all(places.map(({ over }) => over))
    await settle(Scope.close(scope, Exit.void))
  }

  return {
    turn,
    schemas: () => settle(Context.get(context, ToolRegistry.ToolRegistry).schemas),
    messages: () => settle(Effect.map(Stream.runCollect(log.read()), Replay.messages)),
    verify: () => settle(log.verify),
    close,
    [Symbol.asyncDispose]: close
  }
}

/** A turn, once it has begun, and when it is over. */
interface Place {
  turn: Turn.Turn | undefined
  readonly over: Promise<void>
}

const onAbort = (signal: AbortSignal, cancel: Effect.Effect<void>): Effect.Effect<void, never, Scope.Scope> =>
  Effect.asVoid(Effect.acquireRelease(
    Effect.sync(() => {
      const listener = () => void Effect.runFork(cancel)
      signal.addEventListener("abort", listener, { once: true })
      if (signal.aborted) listener()
      return listener
    }),
    (listener) => Effect.sync(() => signal.removeEventListener("abort", listener))
  ))

/** A promise of what `effect` does. A rejection of the host's own code comes out as it went in. */
const settle = async <A, E>(effect: Effect.Effect<A, E>): Promise<A> => {
  const exit = await Effect.runPromiseExit(effect)
  if (Exit.isSuccess(exit)) return exit.value
  const error = Cause.squash(exit.cause)
  throw Cause.isUnknownError(error) ? error.cause : error
}
