/**
 * A session: turns of one log, one after the other.
 *
 * Inputs wait in a line, and each is a turn of its own, in a scope of its own. A turn is over, quiet and in the log, before
 * the next one begins. What a user says while one runs can be put into it: it is stored behind the results of the step
 * that runs.
 */
import type * as ToolRegistry from "@quiesce/core/ToolRegistry"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import type * as Scope from "effect/Scope"
import type * as Stream from "effect/Stream"
import { Line } from "./internal/line.ts"
import type { AppendError, ReadError } from "./LogError.ts"
import type { Entry, Seq } from "./LogEvent.ts"
import { type SessionDisposed, TooManySteps } from "./SessionError.ts"
import type * as SessionLog from "./SessionLog.ts"
import type * as Turn from "./Turn.ts"

/** A turn as the one who runs it sees it. Its input is stored. */
export interface Running extends Turn.Turn {
  readonly text: string
  /** Stores what the user has said since, and tells how many inputs that were. To be asked between two steps. */
  readonly listen: Effect.Effect<number, AppendError>
  /** The log up to now. */
  readonly history: Effect.Effect<ReadonlyArray<Entry>, ReadError>
}

/** How a turn ended. */
export interface Ended<E> {
  /** The turn in the log; `undefined` where the log could not begin it. */
  readonly seq: Seq | undefined
  readonly cancelled: Turn.Cause | undefined
  readonly exit: Exit.Exit<void, E | AppendError>
}

/** An input in the line. */
export interface Ticket<E> {
  /** Waits for the turn of the input to end. Interrupting the wait leaves it alone. */
  readonly ended: Effect.Effect<Ended<E>, SessionDisposed>
}

export interface Session<E> {
  /** Puts an input into the line. **Errors**: only that the session was disposed. */
  readonly send: (text: string) => Effect.Effect<Ticket<E>, SessionDisposed>
  /**
   * Puts what a user says into the turn that runs, and waits until it is stored there; `false` when no turn runs, or the
   * turn ended without listening: it is stored nowhere, and can be sent.
   */
  readonly steer: (text: string) => Effect.Effect<boolean, AppendError>
  /**
   * Cancels the turn that runs, and interrupts whoever runs it. Nothing happens when none runs. Inputs in the line have
   * their turns afterwards. Returns when it was passed on.
   */
  readonly cancel: (cause?: Turn.Cause) => Effect.Effect<void>
  /** The turn that runs. */
  readonly current: Effect.Effect<Turn.Turn | undefined>
  /** The turn that runs, and each that begins. */
  readonly turns: Stream.Stream<Turn.Turn>
  /** Waits until no turn runs and the line is empty. */
  readonly whenIdle: Effect.Effect<void>
  /**
   * Refuses what is in the line and what comes, cancels the turn that runs (`disposed`), and waits for it.
   *
   * **Limits**: inside of a turn it would wait for itself; cancel there.
   */
  readonly dispose: Effect.Effect<void>
}

/**
 * A session whose turns are run by `turn`, each in a scope of its own. Closing the scope of the session disposes it.
 *
 * **Interruption** of `turn`: what `cancel` does. Its steps are waited for all the same.
 */
export const make = <E, R>(
  turn: (turn: Running) => Effect.Effect<void, E, R>,
  options?: Turn.Options
): Effect.Effect<
  Session<E>,
  never,
  Exclude<R, Scope.Scope> | ToolRegistry.ToolRegistry | SessionLog.SessionLog | Scope.Scope
> =>
  Effect.contextWith((context: Context.Context<Services<R>>) => {
    const body = (running: Running) => Effect.provideContext(Effect.scoped(turn(running)), context)
    return Effect.acquireRelease(
      Effect.sync((): Session<E> => new Line<E>(body, options, context)),
      (session) => session.dispose
    )
  })

type Services<R> = Exclude<R, Scope.Scope> | ToolRegistry.ToolRegistry | SessionLog.SessionLog

/**
 * Runs a turn by asking `model` again and again: until it calls nothing and nobody has said anything since, until a call
 * concludes the turn, or until it is cancelled.
 *
 * **Errors**: `TooManySteps`. Default: 100, far more than a turn that gets anywhere takes.
 */
export const loop =
  <E, R>(model: (turn: Running) => Effect.Effect<Turn.Assistant, E, R>, options?: { readonly maxSteps?: number }) =>
  (turn: Running): Effect.Effect<void, E | AppendError | TooManySteps, R> =>
    Effect.gen(function*() {
      const maxSteps = options?.maxSteps ?? 100
      for (let steps = 0; steps < maxSteps; steps++) {
        const assistant = yield* model(turn)
        const { cancelled, concludes } = yield* turn.step(assistant)
        if (cancelled !== undefined) return
        const heard = yield* turn.listen
        if (concludes || (assistant.calls.length === 0 && heard === 0)) return
      }
      return yield* new TooManySteps({ steps: maxSteps })
    })
