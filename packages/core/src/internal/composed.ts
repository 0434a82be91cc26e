/**
 * What a composed function is made of. The registry takes it apart: each wrapper is a level of its own, and each review is
 * applied before the next one looks.
 */
import type { Policy, Post } from "../Policy.ts"

const partsOf = new WeakMap<object, ReadonlyArray<unknown>>()

/** Marks `whole` as made of `parts`, none of which is itself composed. */
export const compose = <F extends object>(whole: F, parts: ReadonlyArray<F>): F => {
  partsOf.set(whole, parts)
  return whole
}

/** The parts of each, in order; what is not composed is its own part. */
export const flatten = <F extends object>(functions: ReadonlyArray<F>): ReadonlyArray<F> =>
  functions.flatMap((f) => (partsOf.get(f) as ReadonlyArray<F> | undefined) ?? [f])

/** The reviews of `policy`, as methods of it; those of a sequence one by one. */
export const reviews = (policy: Policy): ReadonlyArray<Post> => {
  const { post } = policy
  if (post === undefined) return []
  return partsOf.has(post) ? flatten([post]) : [(call, result) => Reflect.apply(post, policy, [call, result])]
}
