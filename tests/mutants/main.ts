/**
 * The command line of the mutants: tries those that the filter selects and sets the exit code.
 */
import { Data, Effect, Runtime } from "effect"
import { clausesOf, type Mutant } from "./Mutant.ts"
import * as Mutation from "./Mutation.ts"
import * as Report from "./Report.ts"
import type * as Scratch from "./Scratch.ts"

/** The mutants whose name, clause or file contains `filter`. */
export const select = (mutants: ReadonlyArray<Mutant>, filter: string): ReadonlyArray<Mutant> =>
  mutants.filter((mutant) => [mutant.name, mutant.file, ...clausesOf(mutant)].some((text) => text.includes(filter)))

/**
 * Runs `program` as this process: a signal interrupts it, and the process ends once its finalizers have run (here: the
 * tests are killed and the scratch copies removed).
 */
const runMain = Runtime.makeRunMain(({ fiber, teardown }) => {
  const interrupt = () => fiber.interruptUnsafe()
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const
  for (const signal of signals) process.on(signal, interrupt)
  fiber.addObserver((exit) => {
    for (const signal of signals) process.off(signal, interrupt)
    teardown(exit, (code) => {
      process.exitCode = code
    })
  })
})

/** Something was not caught, or nothing was tried: the process ends with 1. It has been printed. */
class Unproved extends Data.TaggedError("Unproved")<{}> {}

/**
 * Tries the selected mutants and ends the process with 0 if all were caught, with 1 otherwise. `keep` is given how each
 * ended.
 */
export const main = (
  mutants: ReadonlyArray<Mutant>,
  repository: Effect.Effect<Scratch.Repository, Scratch.ScratchFailed>,
  filter: string,
  keep: (outcomes: ReadonlyArray<Mutation.Outcome>) => void = () => {}
): void => {
  const selected = select(mutants, filter)
  const print = (text: string) => Effect.sync(() => console.log(text))
  const program = Effect.gen(function*() {
    if (selected.length === 0) yield* print(`None of the ${mutants.length} mutants matches "${filter}".`)
    const outcomes = yield* Mutation.run(yield* repository, selected, (outcome) => print(Report.line(outcome)))
    yield* print(Report.summary(outcomes))
    keep(outcomes)
    if (!Report.proves(outcomes)) return yield* new Unproved()
  }).pipe(
    Effect.catchTag("ScratchFailed", (error) => Effect.andThen(print(error.message), new Unproved()))
  )
  runMain(program, { disableErrorReporting: true })
}
