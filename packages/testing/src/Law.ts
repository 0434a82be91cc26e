/**
 * Laws: what must hold of any registry, wrapper, policy, approval channel or body, whoever wrote it.
 *
 * A law is a statement and a program; it is broken when some interleaving of the program breaks it. Suites of them are
 * plain values, free of any test runner: `Law.test` hands them to vitest, to node:test or to anything else that takes a
 * name and a function, and `Law.check` runs them alone.
 *
 * **Example**
 *
 * ```ts test
 * import { Law } from "@quiesce/testing"
 * import { Semaphore } from "effect"
 * import { it } from "vitest"
 *
 * Law.test(Law.wrapper, () => Semaphore.makeUnsafe(4).withPermit, it) // or `test` of node:test
 * ```
 */
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type { Law, LawBroken } from "./internal/law.ts"

export { type Law, LawBroken, make } from "./internal/law.ts"
export { approval, type Subject as ApprovalSubject } from "./internal/laws/approval.ts"
export { body, type Subject as BodySubject } from "./internal/laws/body.ts"
export { policy } from "./internal/laws/policy.ts"
export { registry } from "./internal/laws/registry.ts"
export { wrapper } from "./internal/laws/wrapper.ts"

/** Laws about subjects of one kind. */
export type Suite<S> = ReadonlyArray<Law<S>>

/**
 * Registers a test for each law: `register` is vitest's `it`, `test` of node:test, or any function like them.
 *
 * `make` makes the subject anew for each interleaving: what one run left in it must not reach the next.
 */
export const test = <S>(
  suite: Suite<S>,
  make: () => S,
  register: (name: string, run: () => Promise<void>) => unknown
): void => {
  for (const law of suite) register(law.name, () => Effect.runPromise(law.check(make)))
}

/** Checks every law, and tells which of them are broken. */
export const check = <S>(suite: Suite<S>, make: () => S): Effect.Effect<ReadonlyArray<LawBroken>> =>
  Effect.map(
    Effect.forEach(suite, (law) => Effect.result(law.check(make))),
    (results) => results.flatMap((result) => Result.isFailure(result) ? [result.failure] : [])
  )
