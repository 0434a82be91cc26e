/**
 * Catches programs that provide a policy, a channel or wrappers beside their registry instead of to it.
 *
 * A Reference has a default, so such a program builds, and its policy is never asked. Two things give it away. Whoever
 * makes a call with Effect shows its context: what is in there must be what the registry has captured. And layers that are
 * built together share a memo map. What was provided there and never taken up, neither by a registry nor by a layer that
 * may be made of it, was meant for the registry that has only the default: that is how promise code is served, too, which
 * has no context to show.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"

/** What was provided under one key by the layers of one build, and what of it was taken up. */
class Provisions {
  readonly provided = new Set<unknown>()
  readonly taken = new Set<unknown>()

  get isLost(): boolean {
    for (const value of this.provided) if (!this.taken.has(value)) return true
    return false
  }
}

/** An entry lives as long as the layers that were built with it. */
const builds = new WeakMap<Layer.MemoMap, Map<string, Provisions>>()

const provisionsIn = (context: Context.Context<never>, { key }: Context.Reference<any>): Provisions => {
  const memoMap = Context.getOrUndefined(context, Layer.CurrentMemoMap)
  if (memoMap === undefined) return new Provisions()
  let build = builds.get(memoMap)
  if (build === undefined) builds.set(memoMap, build = new Map())
  let provisions = build.get(key)
  if (provisions === undefined) build.set(key, provisions = new Provisions())
  return provisions
}

/** The layer of a `value` that a registry is to capture. */
export const layer = <A>(key: Context.Reference<A>, value: A): Layer.Layer<never> =>
  layerEffect(key, Effect.succeed(value))

export const layerEffect = <A, E, R>(
  key: Context.Reference<A>,
  make: Effect.Effect<A, E, R>
): Layer.Layer<never, E, Exclude<R, Scope.Scope>> =>
  Layer.effectContext(Effect.map(
    Effect.all([make, Effect.context()]),
    ([value, context]) => {
      const { provided, taken } = provisionsIn(context, key)
      // What this one may be made of.
      taken.add(Context.getOrUndefined(context, key))
      provided.add(value)
      return Context.make(key, value) as Context.Context<never>
    }
  ))

/**
 * A check of the callers of a registry that captures `keys` from `context`. It throws for one that sees something else,
 * and for any while something is lost that the registry has only the default of.
 */
export const checkOf = (
  context: Context.Context<never>,
  keys: ReadonlyArray<readonly [what: string, key: Context.Reference<any>]>
): (caller: Context.Context<never>) => void => {
  const captured = keys.map(([what, key]) => {
    const provisions = provisionsIn(context, key)
    const value = Context.getOrUndefined(context, key)
    provisions.taken.add(value)
    return { what, key, provisions, value: Context.get(context, key), isDefault: value === undefined }
  })
  return (caller) => {
    for (const { isDefault, key, provisions, value, what } of captured) {
      const seen = Context.getOrUndefined(caller, key)
      if (seen === undefined ? isDefault && provisions.isLost : seen !== value) {
        throw new Error(
          `the ${what} that was provided beside the registry is not the one that it captured, and would not be asked: ` +
            `provide its layer to the registry's layer, ToolRegistry.layer([...]).pipe(Layer.provide(...))`
        )
      }
    }
  }
}
