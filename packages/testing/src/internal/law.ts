/** The shape of a law, and how one is made of a program. */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { Edge } from "../Edge.ts"
import * as Explore from "../Explore.ts"
import * as Report from "../Report.ts"

/** The law does not hold of the subject. The message says in which interleaving. */
export class LawBroken extends Data.TaggedError("LawBroken")<{ readonly law: string; readonly message: string }> {}

/** A statement about subjects of one kind. */
export interface Law<in S> {
  readonly name: `law: ${string}`
  /** `make` makes the subject anew for each interleaving: what one run left in it must not reach the next. */
  readonly check: (make: () => S) => Effect.Effect<void, LawBroken>
}

/** A law that holds when every interleaving of `program` passes, with one preemption unless `options` say otherwise. */
export const make = <S>(
  statement: string,
  program: (subject: S) => Effect.Effect<unknown, unknown, Edge | Scope.Scope>,
  options: Omit<Explore.Options, "name"> = {}
): Law<S> => {
  const name = `law: ${statement}` as const
  return {
    name,
    check: (make) =>
      Effect.flatMap(
        Explore.run(Effect.suspend(() => program(make())), { preemptions: 1, ...options, name }),
        (report) =>
          report.verdict === "passed" ? Effect.void : new LawBroken({ law: name, message: Report.format(report) })
      )
  }
}

/** Breaks the law, saying what was seen. */
export const broken = (what: string): never => {
  throw new Error(what)
}
