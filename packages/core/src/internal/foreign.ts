/**
 * What a function that is not ours returns, as the effect that its type promises.
 *
 * JavaScript can write `async` where an effect is due. Effect ends a fiber that meets something else than an effect
 * right there, past every handler and finalizer, so it must not get that far.
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"

export const effectOf = <A, E, R>(f: () => Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.suspend(() => begin(f))

/** The same at once: what `f` throws is a defect of the effect. */
export const begin = <A, E, R>(f: () => Effect.Effect<A, E, R>): Effect.Effect<A, E, R> => {
  try {
    const returned = f()
    return Effect.isEffect(returned)
      ? returned
      : Effect.die(new TypeError("a function returned something that is no effect"))
  } catch (thrown) {
    return Effect.die(thrown)
  }
}

/** The exit of an effect that waits for nothing, and is one already. */
export const known = <A, E>(effect: Effect.Effect<A, E>): Exit.Exit<A, E> | undefined =>
  Exit.isExit(effect) ? effect as Exit.Exit<A, E> : undefined
