/**
 * `it.interleavings`: a test that passes only if every interleaving does. The report is the failure's message, and the
 * replay string in it, given as `{ replay }`, runs that one interleaving alone.
 *
 * **Example**
 *
 * ```ts test
 * import { Abortable } from "@quiesce/core"
 * import { Edge } from "@quiesce/testing"
 * import { it } from "@quiesce/testing/vitest"
 * import { Effect, Fiber } from "effect"
 *
 * const abortWhileRunning = Effect.gen(function*() {
 *   const user = yield* Edge.controller("ABORT")
 *   const work = yield* Effect.forkChild(Abortable.interruptOn(Edge.wait("answer"), user.signal))
 *   yield* Fiber.await(work)
 * })
 *
 * it.interleavings("an abort never leaves the work running", abortWhileRunning, { preemptions: 2 })
 * ```
 */
import { it as effectIt } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { TestOptions } from "vitest"
import type { Edge } from "./Edge.ts"
import * as Explore from "./Explore.ts"
import * as Interleaving from "./Interleaving.ts"
import * as Report from "./Report.ts"

/** How far to explore, or which one interleaving to run; the rest is vitest's. */
export interface Options extends Omit<Explore.Options, "name">, TestOptions {
  readonly replay?: string | undefined
}

/** Registers a test that explores a program. */
export interface Interleavings {
  <A, E>(name: string, program: Effect.Effect<A, E, Edge | Scope.Scope>, options?: Options): void
}

const register =
  (test: typeof effectIt.effect | typeof effectIt.effect.only): Interleavings => (name, program, options = {}) => {
    const { failures, onProgress, preemptions, replay, runs, steps, strategy, timers, ...testOptions } = options
    test(
      name,
      (): Effect.Effect<void, Explore.InterleavingFailed | Interleaving.MalformedReplay> =>
        replay === undefined
          ? exploring(name, program, { name, failures, onProgress, preemptions, runs, steps, strategy, timers })
          : replaying(program, replay, { steps }),
      testOptions
    )
  }

const exploring = <A, E>(name: string, program: Explore.Program<A, E>, options: Explore.Options) =>
  Effect.flatMap(Explore.run(program, options), (report) =>
    report.verdict === "passed" ? Effect.void : Effect.fail(
      new Explore.InterleavingFailed({
        report,
        message: Report.format(
          report,
          (replay) => `it.interleavings(${JSON.stringify(name)}, program, { replay: "${replay}" })`
        )
      })
    ))

/** A replay that fails as it did is a failing test; so is one that can no longer be made, or that escapes control. */
const replaying = <A, E>(program: Explore.Program<A, E>, replay: string, options: Pick<Explore.Options, "steps">) =>
  Effect.flatMap(Explore.replay(program, replay, options), ({ escapes, interleaving, result }) => {
    const problems = escapes.map(({ what, where }) =>
      `unsound: ${what} at ${where} goes on outside the explorer's control`
    )
    if (result._tag !== "Passed") {
      problems.push(result._tag === "Cut" ? "cut at the bound on steps" : result.message)
    }
    return problems.length === 0
      ? Effect.void
      : Effect.die(new Error([...problems, `  in: ${Interleaving.format(interleaving)}`].join("\n")))
  })

/** Registers a test that explores a program. */
export const interleavings: Interleavings & { readonly skip: Interleavings; readonly only: Interleavings } = Object
  .assign(
    register(effectIt.effect),
    { skip: register(effectIt.effect.skip), only: register(effectIt.effect.only) }
  )

/** `it` of `@effect/vitest`, with `interleavings`. */
export const it: typeof effectIt & { readonly interleavings: typeof interleavings } = new Proxy(
  effectIt as typeof effectIt & { readonly interleavings: typeof interleavings },
  {
    get: (target, property, receiver) =>
      property === "interleavings" ? interleavings : Reflect.get(target, property, receiver)
  }
)
