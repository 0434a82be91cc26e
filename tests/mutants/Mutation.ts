/**
 * Tries mutants: sees every named test green in a scratch copy, then applies one mutant after the other and sees its
 * test red.
 *
 * Each worker owns a scratch copy and a process that runs tests in it, and takes the next job when it is done with one.
 */
import { Clock, Data, Effect, Result } from "effect"
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { apply, type Mutant } from "./Mutant.ts"
import * as Scratch from "./Scratch.ts"
import * as TestProcess from "./TestProcess.ts"
import { judge, notGreen, type Trial, Verdict } from "./Trial.ts"

/** A mutant and what came of it. */
export interface Outcome {
  readonly mutant: Mutant
  readonly verdict: Verdict
  readonly millis: number
}

/** The test of a mutant says nothing about it: it is not green on the source as it stands. */
class NotGreen extends Data.TaggedError("NotGreen")<{ readonly reason: string }> {
  override get message() {
    return `its test is not green without it: ${this.reason}`
  }
}

/** Two trials at a time: each is one busy process, and CI has two cores. */
const workers = 2

/**
 * Tries `mutants` on scratch copies of `repository` and hands each outcome to `report` as it comes.
 *
 * **Errors**: `ScratchFailed` when nothing could be tried. What is wrong with one mutant is its verdict.
 *
 * **Interruption**: kills the tests that run, waits until they are gone, and removes the copies.
 */
export const run = (
  repository: Scratch.Repository,
  mutants: ReadonlyArray<Mutant>,
  report: (outcome: Outcome) => Effect.Effect<void>
): Effect.Effect<ReadonlyArray<Outcome>, Scratch.ScratchFailed> =>
  Effect.gen(function*() {
    const scratches = yield* Effect.forEach(
      Array.from({ length: Math.min(workers, mutants.length) }),
      () => Scratch.make(repository)
    )
    const red = new Map<Mutant, string>()
    const files = Map.groupBy(mutants, ({ test }) => test.file)
    yield* inParallel(scratches, [...files], (process, [file, mutants]) =>
      Effect.gen(function*() {
        const trial = yield* process.run({ file, titles: mutants.map(({ test }) => test.title), changed: [] })
        for (const mutant of mutants) {
          const reason = notGreen(trial, mutant.test.title)
          if (reason !== undefined) red.set(mutant, reason)
        }
        return trial
      }))

    const outcomes: Array<Outcome> = []
    yield* inParallel(scratches, mutants, (process, mutant, scratch) =>
      Effect.gen(function*() {
        const started = yield* Clock.currentTimeMillis
        const tried = yield* Effect.result(tryMutant(process, scratch, mutant, red.get(mutant)))
        const verdict = Result.match(tried, {
          onSuccess: judge,
          onFailure: ({ message }): Verdict => Verdict.Broken({ detail: message })
        })
        const outcome = { mutant, verdict, millis: (yield* Clock.currentTimeMillis) - started }
        outcomes.push(outcome)
        yield* report(outcome)
        return Result.getOrUndefined(tried)
      }))
    return outcomes
  }).pipe(Effect.scoped)

/**
 * Hands `jobs` to one worker per scratch. A trial that did not finish spoils the process that ran it, and the worker
 * goes on with a new one.
 */
const inParallel = <Job>(
  scratches: ReadonlyArray<Scratch.Scratch>,
  jobs: ReadonlyArray<Job>,
  run: (
    process: TestProcess.TestProcess,
    job: Job,
    scratch: Scratch.Scratch
  ) => Effect.Effect<Trial | undefined>
): Effect.Effect<void> => {
  const waiting = [...jobs]
  return Effect.forEach(scratches, (scratch) =>
    Effect.gen(function*() {
      const process = yield* TestProcess.make(scratch)
      for (let job = waiting.shift(); job !== undefined; job = waiting.shift()) {
        const trial = yield* run(process, job, scratch)
        if (trial !== undefined && trial._tag !== "Finished") return
      }
    }).pipe(
      Effect.scoped,
      Effect.repeat({ while: () => waiting.length > 0 })
    ), { concurrency: "unbounded", discard: true })
}

/** Runs the mutant's test with the mutant in place; `red` says why the test is not green without. */
const tryMutant = Effect.fnUntraced(
  function*(process: TestProcess.TestProcess, scratch: Scratch.Scratch, mutant: Mutant, red: string | undefined) {
    if (red !== undefined) return yield* new NotGreen({ reason: red })
    const path = join(scratch.root, mutant.file)
    const source = existsSync(path) ? readFileSync(path, "utf8") : ""
    const mutated = yield* Effect.fromResult(apply(mutant, source))
    return yield* Effect.acquireUseRelease(
      Effect.sync(() => writeFileSync(path, mutated)),
      () => process.run({ file: mutant.test.file, titles: [mutant.test.title], changed: [mutant.file] }),
      () => Effect.sync(() => writeFileSync(path, source))
    )
  }
)
