/**
 * The edge of a program under exploration: everything the outside world does to it.
 *
 * A program's own fibers are not the only thing that moves. Callers abort, promises settle, answers arrive. What is made
 * through the edge happens when the explorer decides, and so at every moment it could happen; the clock is part of the
 * edge already, so `Effect.sleep` and every deadline take part without being mentioned.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"

/** What a step reads and writes, by names of your own choosing. */
export interface Touches {
  readonly reads?: ReadonlyArray<string>
  readonly writes?: ReadonlyArray<string>
}

/** Something the outside world will do, once. */
export interface Action {
  /** Takes it back: if it has not happened by now, it never does. */
  readonly withdraw: () => void
}

/** An `AbortController` in the hands of the outside world. */
export interface Controller {
  readonly signal: AbortSignal
  /** Aborts now, from inside the program, instead of when the explorer decides. */
  readonly abort: (reason?: unknown) => void
  /** How many `abort` listeners the signal holds at this moment. */
  readonly listeners: () => number
  /** Takes the outside world's abort back. */
  readonly withdraw: () => void
}

/** The edge of one run. The methods are synchronous, so that promise bodies can use them. */
export interface Shape {
  /**
   * Registers something the outside world does once, at any moment from now on.
   *
   * By default the action is taken to conflict with everything; `touches` says what it and whatever it wakes in the
   * same step read and write, so that a reduction may swap it with steps that touch other things.
   */
  readonly action: (label: string, run: () => void, touches?: Touches) => Action
  /** Makes a native promise that settles as `settle` returns or throws, at any moment from now on. */
  readonly promise: <A>(label: string, settle: () => A) => Promise<A>
  /** Makes an `AbortController` that is aborted with `reason` at any moment from now on. */
  readonly controller: (label: string, reason?: unknown) => Controller
  /** Lets the outside world give one of `values`; every one of them is explored. */
  readonly choose: <const A>(label: string, values: ReadonlyArray<A>) => A
  /**
   * Moves time on by `millis` now, firing one after the other what falls due. Without it, time moves when the explorer
   * decides.
   */
  readonly advance: (millis: number) => void
  /** How many timers are set at this moment. */
  readonly timers: () => number
  /** States what must hold after every step. `holds` returns `false` or throws where it does not. */
  readonly always: (statement: string, holds: () => boolean | void) => void
  /** States what must hold once nothing can move any more. `holds` returns `false` or throws where it does not. */
  readonly atQuiescence: (statement: string, holds: () => boolean | void) => void
  /** Declares what the step that is running now reads and writes (see `Strategy.Reduction`). */
  readonly touch: (touches: Touches) => void
  /** Turns exploration off and on again: between the two there is one fixed interleaving and nothing from outside. */
  readonly exploring: (on: boolean) => void
}

/**
 * The edge service, provided by `Explore` to every run.
 *
 * @category services
 */
export class Edge extends Context.Service<Edge, Shape>()("@quiesce/testing/Edge") {}

/** Registers something the outside world does once, at any moment from now on. */
export const action = (label: string, run: () => void, touches?: Touches): Effect.Effect<Action, never, Edge> =>
  Effect.map(Edge, (edge) => edge.action(label, run, touches))

/** Makes a native promise that settles as `settle` returns or throws, at any moment from now on. */
export const promise = <A>(label: string, settle: () => A): Effect.Effect<Promise<A>, never, Edge> =>
  // Wrapped by the callback, not by the effect: an effect that succeeds with a promise does not wait for it.
  Effect.map(Edge, (edge) => edge.promise(label, settle))

/** Makes an `AbortController` that is aborted with `reason` at any moment from now on. */
export const controller = (label: string, reason?: unknown): Effect.Effect<Controller, never, Edge> =>
  Effect.map(Edge, (edge) => edge.controller(label, reason))

/** Lets the outside world give one of `values`; every one of them is explored. */
export const choose = <const A>(label: string, values: ReadonlyArray<A>): Effect.Effect<A, never, Edge> =>
  Effect.map(Edge, (edge) => edge.choose(label, values))

/** Suspends the fiber until the outside world lets it go on, at any moment from now on. */
export const wait = (label: string, touches?: Touches): Effect.Effect<void, never, Edge> =>
  Effect.flatMap(Edge, (edge) =>
    Effect.callback<void>((resume) => {
      const going = edge.action(label, () => resume(Effect.void), touches)
      return Effect.sync(going.withdraw)
    }))

/** States what must hold after every step. `holds` returns `false` or throws where it does not. */
export const always = (statement: string, holds: () => boolean | void): Effect.Effect<void, never, Edge> =>
  Effect.map(Edge, (edge) => edge.always(statement, holds))

/** States what must hold once nothing can move any more. `holds` returns `false` or throws where it does not. */
export const atQuiescence = (statement: string, holds: () => boolean | void): Effect.Effect<void, never, Edge> =>
  Effect.map(Edge, (edge) => edge.atQuiescence(statement, holds))

/** Declares what the step that is running now reads and writes (see `Strategy.Reduction`). */
export const touch = (touches: Touches): Effect.Effect<void, never, Edge> =>
  Effect.map(Edge, (edge) => edge.touch(touches))

/**
 * Runs `self` under one fixed interleaving, with no preemption and nothing from outside: for building layers and
 * whatever else a program needs before its races begin.
 */
export const setup = <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E, R | Edge> =>
  Effect.flatMap(Edge, (edge) =>
    Effect.acquireUseRelease(
      Effect.sync(() => edge.exploring(false)),
      () => self,
      () => Effect.sync(() => edge.exploring(true))
    ))

/** The name a fiber carries in the words of an interleaving; without one it is called by its path, such as `f0.1`. */
export const FiberName: Context.Reference<string | undefined> = Context.Reference("@quiesce/testing/Edge/FiberName", {
  defaultValue: (): string | undefined => undefined
})

/** Names the fiber that runs `self` in the words of an interleaving. */
export const named = <A, E, R>(self: Effect.Effect<A, E, R>, name: string): Effect.Effect<A, E, R> =>
  Effect.provideService(self, FiberName, name)
