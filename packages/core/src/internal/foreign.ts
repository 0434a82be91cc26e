/**
 * What a function that is not ours returns, as the effect that its type promises.
 *
 * JavaScript can write `async` where an effect is due. Effect ends a fiber that meets something else than an effect
 * right there, past every handler and finalizer, so it must not get that far.
 */
import * as Effect from "effect/Effect"

export const effectOf = <A, E, R>(f: () => Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.suspend(() => {
    const returned = f()
    return Effect.isEffect(returned)
      ? returned
      : Effect.die(new TypeError("a function returned something that is no effect"))
  })
