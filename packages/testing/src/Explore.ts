/**
 * Runs a program under every interleaving of its fibers, promises, timers and cancellation points.
 *
 * A program is an Effect that reaches the outside world through `Edge`. It fails an interleaving by failing, by dying (an
 * assertion that throws), by breaking a statement it made, or by never ending; what it succeeds with is its outcome. It
 * is run once per interleaving, so whatever it changes it must also make: between two runs nothing may survive.
 *
 * **Example**
 *
 * ```ts run
 * import { Explore, Report } from "@quiesce/testing"
 * import { Effect } from "effect"
 *
 * const lostUpdate = Effect.gen(function*() {
 *   let x = 0
 *   const seen = Effect.sync(() => x)
 *   const increment = Effect.flatMap(seen, (seen) => Effect.sync(() => x = seen + 1))
 *   yield* Effect.all([increment, increment], { concurrency: "unbounded" })
 *   if (x !== 2) throw new Error(`two increments made it ${x}`)
 * })
 *
 * const report = await Explore.runPromise(lostUpdate)
 * console.log(Report.format(report)) // the shortest interleaving that fails, and its replay string
 * ```
 */
import type * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Semaphore from "effect/Semaphore"
import { Edge, type Shape as EdgeShape } from "./Edge.ts"
import * as Interleaving from "./Interleaving.ts"
import { replayOne, runAgain } from "./internal/again.ts"
import { isExplored } from "./internal/escapes.ts"
import { explore } from "./internal/exploration.ts"
import type { Subject } from "./internal/session.ts"
import { settingsOf } from "./internal/settings.ts"
import * as Report from "./Report.ts"
import type * as Strategy from "./Strategy.ts"

/** What can be explored. */
export type Program<A, E, R = never> = Effect.Effect<A, E, R | Edge | Scope.Scope>

type Services<R> = Exclude<R, Edge | Scope.Scope>

/** How far an exploration goes. A bound that is no whole number is a defect. */
export interface Options {
  /** What the report is called. */
  readonly name?: string | undefined
  /** Default: exhaustive. */
  readonly strategy?: Strategy.Strategy | undefined
  /**
   * How many times running fibers may be preempted in one run. Default: 1. Switching where a fiber yields or waits
   * by itself is not counted; most races need no more than one preemption, and each further one multiplies the runs.
   */
  readonly preemptions?: number | undefined
  /**
   * How many times in one run a timer may fire although something else could go on. Default: 3. Beyond that, time stands
   * still until nothing else can move: otherwise a program that sleeps again and again would never come to an end.
   */
  readonly timers?: number | undefined
  /** How many interleavings are run at most. Default: 1,000,000, some minutes of work. */
  readonly runs?: number | undefined
  /** How many steps one run may take; one that needs more is given up. Default: 2,000. */
  readonly steps?: number | undefined
  /** Whether the search ends at the first failure, which is then shrunk, or goes on to count them all. Default: first. */
  readonly failures?: "first" | "all" | undefined
  /** Called about once a second on long explorations. */
  readonly onProgress?: ((progress: Progress) => void) | undefined
}

/** How an exploration is getting on. */
export interface Progress {
  readonly explored: number
  readonly failing: number
  readonly redundant: number
  readonly millis: number
}

/** How one interleaving went when it was run again. */
export interface Replayed {
  readonly result:
    | { readonly _tag: "Passed"; readonly outcome: string }
    | { readonly _tag: "Failed"; readonly message: string }
    /** The program no longer offers the decisions the string was made of. */
    | { readonly _tag: "Diverged"; readonly message: string }
    | { readonly _tag: "Cut" }
  readonly interleaving: Interleaving.Interleaving
  /** What went on outside the explorer's control: if there is anything, the result says less than it seems to. */
  readonly escapes: ReadonlyArray<Report.Escape>
}

/** An exploration failed, or it escaped control. The message is the whole report. */
export class InterleavingFailed extends Data.TaggedError("InterleavingFailed")<{
  readonly report: Report.Report
  readonly message: string
}> {}

// The process has one set of hooks and listeners, so it has one exploration at a time.
const exclusive = Semaphore.makeUnsafe(1)

/**
 * Explores `program` and reports what was found.
 *
 * **Interruption**: ends the exploration after the interleaving that is being run.
 *
 * **Limits**: one exploration at a time in a process; the others wait. An explored program cannot explore.
 */
export const run = <A, E, R>(
  program: Program<A, E, R>,
  options: Options = {}
): Effect.Effect<Report.Report, never, Services<R>> => exclusively((subject) => explore(subject, options), program)

/**
 * Explores `program` and fails unless every interleaving passed and nothing escaped.
 *
 * **Errors**: `InterleavingFailed`, with the report in words as its message.
 */
export const check = <A, E, R>(
  program: Program<A, E, R>,
  options: Options = {}
): Effect.Effect<Report.Report, InterleavingFailed, Services<R>> =>
  Effect.flatMap(run(program, options), (report) =>
    report.verdict === "passed"
      ? Effect.succeed(report)
      : Effect.fail(new InterleavingFailed({ report, message: Report.format(report) })))

/** `run` for code without Effect. */
export const runPromise = <A, E>(program: Program<A, E>, options?: Options): Promise<Report.Report> =>
  Effect.runPromise(run(program, options))

/** `check` for code without Effect: rejects with `InterleavingFailed`. */
export const checkPromise = <A, E>(program: Program<A, E>, options?: Options): Promise<Report.Report> =>
  Effect.runPromise(check(program, options))

/** Makes a program of an asynchronous function: what it resolves with is the outcome, a rejection fails. */
export const fromPromise = <A>(body: (edge: EdgeShape) => PromiseLike<A>): Effect.Effect<A, unknown, Edge> =>
  Effect.flatMap(Edge, (edge) =>
    Effect.callback<A, unknown>((resume) => {
      const settled = Promise.resolve(edge).then(body)
      settled.then((value) => resume(Effect.succeed(value)), (error) => resume(Effect.fail(error)))
    }))

/**
 * Runs one interleaving again.
 *
 * **Errors**: `MalformedReplay` when the string is none. That the program has changed since is no error but a result:
 * `Diverged`.
 */
export const replay = <A, E, R>(
  program: Program<A, E, R>,
  replay: string,
  options: Pick<Options, "steps"> = {}
): Effect.Effect<Replayed, Interleaving.MalformedReplay, Services<R>> =>
  Effect.flatMap(
    Effect.fromResult(Interleaving.decode(replay)),
    (decisions) => exclusively((subject) => replayOne(subject, decisions, settingsOf(options)), program)
  )

/**
 * Runs the one interleaving in which everybody takes turns: fibers first, in order, then the outside world, then time.
 * What the outside world does last comes when everything else has come to rest.
 */
export const once = <A, E, R>(
  program: Program<A, E, R>,
  options: Pick<Options, "steps" | "timers"> = {}
): Effect.Effect<Replayed, never, Services<R>> =>
  exclusively(
    (subject) => runAgain(subject, [], { ...settingsOf(options), preemptions: 0 }),
    program
  )

const exclusively = <B, A, E, R>(
  use: (subject: Subject) => Effect.Effect<B>,
  program: Program<A, E, R>
): Effect.Effect<B, never, Services<R>> =>
  Effect.contextWith((context: Context.Context<Services<R>>) => {
    if (isExplored()) return Effect.die(new Error("an explored program cannot explore"))
    if (!Effect.isEffect(program)) {
      return Effect.die(
        new TypeError("a program is an Effect; of an asynchronous function, Explore.fromPromise makes one")
      )
    }
    // The program's other services are in `context`; scope and edge are added for each run.
    return exclusive.withPermit(use({ program: program as Subject["program"], context }))
  })
