/**
 * The state of a session: inputs that wait, and the one whose turn it is.
 *
 * 1. There is at most one turn. The next one begins when the scope of the one before is closed.
 * 2. A cancellation meets the turn that runs or begins, and never one that comes later.
 * 3. Whoever waits for an input hears of it: how its turn ended, or that it has none.
 */
import * as ToolRegistry from "@quiesce/core/ToolRegistry"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Queue from "effect/Queue"
import * as Stream from "effect/Stream"
import type { AppendError } from "../LogError.ts"
import type * as Session from "../Session.ts"
import { SessionDisposed } from "../SessionError.ts"
import * as SessionLog from "../SessionLog.ts"
import * as Turn from "../Turn.ts"

interface Item<E> {
  readonly text: string
  readonly ended: Deferred.Deferred<Session.Ended<E>, SessionDisposed>
}

interface Said {
  readonly text: string
  /** Whether it was stored. */
  readonly stored: Deferred.Deferred<boolean, AppendError>
}

/** The turn whose turn it is: `turn` and `fiber` are there once it has begun. */
interface Current<E> {
  readonly said: Array<Said>
  /** A cancellation that came before the turn had begun. */
  cause: Turn.Cause | undefined
  turn: Turn.Turn | undefined
  fiber: Fiber.Fiber<void, E | AppendError> | undefined
}

export class Line<E> implements Session.Session<E> {
  readonly #body: (turn: Session.Running) => Effect.Effect<void, E>
  readonly #options: Turn.Options | undefined
  readonly #context: Context.Context<ToolRegistry.ToolRegistry | SessionLog.SessionLog>
  #waiting: Array<Item<E>> = []
  #current: Current<E> | undefined
  #idle: Deferred.Deferred<void> | undefined
  #disposed = false
  readonly #listeners = new Set<(turn: Turn.Turn) => void>()

  constructor(
    body: (turn: Session.Running) => Effect.Effect<void, E>,
    options: Turn.Options | undefined,
    context: Context.Context<ToolRegistry.ToolRegistry | SessionLog.SessionLog>
  ) {
    this.#body = body
    this.#options = options
    // And nothing else: a scope among it would outlive the turns.
    this.#context = Context.pick(ToolRegistry.ToolRegistry, SessionLog.SessionLog)(context)
  }

  readonly send = (text: string): Effect.Effect<Session.Ticket<E>, SessionDisposed> =>
    // Interrupted before the fork, it would leave a line that nobody serves.
    Effect.uninterruptible(Effect.suspend(() => {
      if (this.#disposed) return Effect.fail(new SessionDisposed({ text }))
      const item: Item<E> = { text, ended: Deferred.makeUnsafe() }
      this.#waiting.push(item)
      const ticket: Session.Ticket<E> = { ended: Deferred.await(item.ended) }
      if (this.#idle !== undefined) return Effect.succeed(ticket)
      const idle = this.#idle = Deferred.makeUnsafe<void>()
      // Owned by whoever disposes the session, which waits for it.
      return Effect.as(Effect.forkDetach(this.#drain(idle), { uninterruptible: true }), ticket)
    }))

  readonly steer = (text: string): Effect.Effect<boolean, AppendError> =>
    Effect.suspend(() => {
      if (this.#current === undefined) return Effect.succeed(false)
      const said: Said = { text, stored: Deferred.makeUnsafe() }
      this.#current.said.push(said)
      return Deferred.await(said.stored)
    })

  readonly cancel = (cause: Turn.Cause = "user"): Effect.Effect<void> =>
    Effect.uninterruptible(Effect.suspend(() => {
      const current = this.#current
      if (current === undefined) return Effect.void
      if (current.cause === undefined || cause === "disposed") current.cause = cause
      return current.turn === undefined ? Effect.void : this.#pass(current, cause)
    }))

  readonly current: Effect.Effect<Turn.Turn | undefined> = Effect.sync(() => this.#current?.turn)

  /** Unbounded: a turn is begun by hand, or by whoever reads this. */
  readonly turns: Stream.Stream<Turn.Turn> = Stream.callback<Turn.Turn>((queue) =>
    Effect.acquireRelease(
      Effect.sync(() => {
        const listener = (turn: Turn.Turn) => void Queue.offerUnsafe(queue, turn)
        if (this.#current?.turn !== undefined) listener(this.#current.turn)
        this.#listeners.add(listener)
        return listener
      }),
      (listener) => Effect.sync(() => this.#listeners.delete(listener))
    ), { bufferSize: Number.POSITIVE_INFINITY })

  readonly whenIdle: Effect.Effect<void> = Effect.suspend(() =>
    this.#idle === undefined ? Effect.void : Deferred.await(this.#idle)
  )

  readonly dispose: Effect.Effect<void> = Effect.suspend(() => {
    this.#disposed = true
    for (const { ended, text } of this.#waiting.splice(0)) {
      Deferred.doneUnsafe(ended, Effect.fail(new SessionDisposed({ text })))
    }
    return Effect.andThen(this.cancel("disposed"), this.whenIdle)
  })

  #drain(idle: Deferred.Deferred<void>): Effect.Effect<void> {
    return Effect.suspend(() => {
      const item = this.#waiting.shift()
      if (item !== undefined) return Effect.andThen(this.#run(item), this.#drain(idle))
      this.#idle = undefined
      return Effect.asVoid(Deferred.succeed(idle, undefined))
    })
  }

  #run({ ended, text }: Item<E>): Effect.Effect<void> {
    return Effect.suspend(() => {
      const current: Current<E> = { said: [], cause: undefined, turn: undefined, fiber: undefined }
      this.#current = current
      return Effect.exit(Effect.scoped(this.#turn(current, text))).pipe(
        Effect.flatMap((exit) =>
          Effect.map(current.turn?.cancelled ?? Effect.succeed(current.cause), (cancelled) => {
            Deferred.doneUnsafe(ended, Effect.succeed({ seq: current.turn?.seq, cancelled, exit }))
          })
        )
      )
    })
  }

  readonly #turn = Effect.fnUntraced({ self: this }, function*(this: Line<E>, current: Current<E>, text: string) {
    const log = Context.get(this.#context, SessionLog.SessionLog)
    const over = () => {
      this.#current = undefined
      for (const { stored } of current.said.splice(0)) Deferred.doneUnsafe(stored, Effect.succeed(false))
    }
    const turn = yield* Effect.provideContext(Turn.make(this.#options), this.#context).pipe(
      Effect.tapCause(() => Effect.sync(over))
    )
    current.turn = turn
    const running: Session.Running = {
      seq: turn.seq,
      input: turn.input,
      step: turn.step,
      cancel: turn.cancel,
      cancelCall: turn.cancelCall,
      cancelled: turn.cancelled,
      events: turn.events,
      text,
      listen: this.#listen(current, turn),
      history: Stream.runCollect(log.read())
    }
    for (const listener of this.#listeners) listener(turn)
    const body = Effect.andThen(turn.input(text), Effect.suspend(() => this.#body(running)))
    // Outside of this region, so that a cancellation ends the wait for a model; its steps are waited for.
    current.fiber = yield* Effect.forkDetach(Effect.interruptible(body), { startImmediately: true })
    if (current.cause !== undefined) yield* this.#pass(current, current.cause)
    const exit = yield* Fiber.await(current.fiber)
    over()
    return yield* exit
  })

  /** Each is told of its own: one that could not be stored is no reason to keep the others waiting. */
  #listen({ said }: Current<E>, turn: Turn.Turn): Effect.Effect<number, AppendError> {
    return Effect.uninterruptible(Effect.suspend(() => {
      const heard = said.splice(0)
      const store = Effect.forEach(heard, ({ stored, text }) =>
        Effect.tap(
          Effect.exit(Effect.as(turn.input(text), true)),
          (exit) => Effect.sync(() => Deferred.doneUnsafe(stored, exit))
        ))
      return Effect.flatMap(store, (exits) => Effect.as(Effect.all(exits), heard.length))
    }))
  }

  /** First the turn, so that it is this cause that counts; then whoever runs it. */
  #pass({ fiber, turn }: Current<E>, cause: Turn.Cause): Effect.Effect<void> {
    return Effect.andThen(turn!.cancel(cause), Effect.sync(() => fiber?.interruptUnsafe()))
  }
}
