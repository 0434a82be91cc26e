/**
 * Runs commands, and is done with them only when nobody they started is left.
 *
 * A command runs in a session and a group of its own. However it comes to its end (by itself, by its timeout, because
 * its caller was interrupted or its scope closed), the same road is taken: its descendants are looked for, asked with
 * SIGTERM, killed with SIGKILL after the grace, and looked for again; its output is read to the end, or for a bounded
 * time where somebody holds it open. Only then is there an outcome, and what may be alive nevertheless is written in
 * its `residue`.
 */
import * as Data from "effect/Data"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Result from "effect/Result"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { Command } from "./Command.ts"
import * as Feed from "./internal/feed.ts"
import * as Supervisor from "./internal/supervisor.ts"
import * as Outcome from "./Outcome.ts"
import * as Output from "./Output.ts"

/** What the program reads from its standard input: a text, bytes, or a stream of them. One that dies stops it. */
export type Input = { readonly text: string } | Uint8Array | Stream.Stream<Uint8Array>

/** A piece of what the program wrote, in the order it was read. */
export type Chunk =
  | { readonly _tag: "Stdout"; readonly bytes: Uint8Array }
  | { readonly _tag: "Stderr"; readonly bytes: Uint8Array }

export interface SpawnOptions {
  /** Default: closed. A program that waits for an answer nobody gives would wait until its timeout. */
  readonly stdin?: Input | undefined
}

export interface RunOptions<E = never, R = never> extends SpawnOptions {
  /**
   * Sees every piece of output; while it runs, the program is held up once its pipe is full. Its failure stops the
   * command.
   */
  readonly onOutput?: ((chunk: Chunk) => Effect.Effect<void, E, R>) | undefined
  /** Sees the outcome, also that of an interrupted run, before the interrupter goes on. */
  readonly onOutcome?: ((outcome: Outcome.Outcome) => Effect.Effect<void>) | undefined
}

/** A command that was started. */
export interface Running {
  readonly pid: number
  /** Waits until the command is over and nobody is left. */
  readonly outcome: Effect.Effect<Outcome.Ran>
  /** Asks the command to end, and waits for its outcome. Interrupting the wait does not take the request back. */
  readonly stop: Effect.Effect<Outcome.Ran>
  /** What it wrote so far. */
  readonly written: Effect.Effect<{ readonly stdout: Output.Output; readonly stderr: Output.Output }>
}

/** A command one talks to. Who does not read its streams holds it up, once its pipes are full. */
export interface Opened extends Running {
  /** For one reader, from the first byte on. Once the reader leaves, the rest is only kept. */
  readonly stdout: Stream.Stream<Uint8Array>
  readonly stderr: Stream.Stream<Uint8Array>
  /** Writes to its standard input, and waits until the pipe has taken it. */
  readonly send: (bytes: Uint8Array | string) => Effect.Effect<void, InputClosed>
  /** Closes its standard input: the program reads the end of the file. */
  readonly endInput: Effect.Effect<void>
}

/** The program does not read its standard input any more. */
export class InputClosed extends Data.TaggedError("InputClosed")<{ readonly pid: number }> {
  override get message(): string {
    return `process ${this.pid} does not read its standard input any more`
  }
}

/** The command ran, and did not end by itself with exit code 0. */
export class CommandFailed extends Data.TaggedError("CommandFailed")<{
  readonly program: string
  readonly outcome: Outcome.Ran
}> {
  override get message(): string {
    const said = Output.toText(this.outcome.stderr).trim()
    return `${this.program} ${Outcome.describe(this.outcome)}${said === "" ? "" : `: ${said}`}`
  }
}

/**
 * Runs `command` and tells how it ended; every ending is an outcome, also that it could not be started.
 *
 * **Errors**: those of `onOutput`.
 *
 * **Interruption**: asks the command to end and waits until nobody of it is left: at most its grace, and 5 seconds more
 * if somebody survives SIGKILL.
 */
export const run = <E = never, R = never>(
  command: Command,
  options: RunOptions<E, R> = {}
): Effect.Effect<Outcome.Outcome, E, R> =>
  Effect.suspend(() => {
    const { onOutcome = () => Effect.void, onOutput, stdin } = options
    let started: Supervisor.Supervised | undefined
    const start = Supervisor.start(command, { stdin: pipedIf(stdin), output: onOutput ? "streamed" : "kept" }).pipe(
      Effect.tap((supervised) => Effect.sync(() => started = supervised)),
      Effect.uninterruptible
    )
    return Effect.gen(function*() {
      const attempt = yield* Effect.result(start)
      if (Result.isFailure(attempt)) return Outcome.notStarted(attempt.failure)
      const supervised = attempt.success
      const died = yield* feed(supervised, stdin)
      const ended = onOutput === undefined
        ? supervised.outcome
        : Effect.andThen(Stream.runForEach(chunks(supervised), onOutput), supervised.outcome)
      return yield* stdin === undefined ? ended : Effect.raceFirst(ended, Deferred.await(died))
    }).pipe(
      Effect.scoped,
      Effect.onExit((exit) => {
        if (started !== undefined) return Effect.flatMap(started.outcome, onOutcome)
        return Exit.isSuccess(exit) ? onOutcome(exit.value) : Effect.void
      })
    )
  })

/**
 * Runs `command` and gives what it wrote to standard output, as text.
 *
 * **Errors**: `SpawnFailed` (nothing happened), `CommandFailed` (any ending but exit code 0).
 *
 * **Limits**: output beyond the command's `maxBytes` is cut in its middle, and says so.
 */
export const text = Effect.fnUntraced(function*(
  command: Command,
  options: SpawnOptions = {}
): Effect.fn.Return<string, Outcome.SpawnFailed | CommandFailed> {
  const outcome = yield* run(command, options)
  if (outcome._tag === "SpawnFailed") return yield* outcome.error
  if (!Outcome.isSuccess(outcome)) return yield* new CommandFailed({ program: command.program, outcome })
  return Output.toText(outcome.stdout)
})

/** Starts `command` and goes on; closing the scope stops it and waits until nobody of it is left. */
export const spawn = Effect.fnUntraced(function*(
  command: Command,
  options: SpawnOptions = {}
): Effect.fn.Return<Running, Outcome.SpawnFailed, Scope.Scope> {
  const supervised = yield* Supervisor.start(command, { stdin: pipedIf(options.stdin), output: "kept" })
  yield* feed(supervised, options.stdin)
  return running(supervised)
})

/** Starts `command` to talk to it through its three streams; closing the scope stops it like `spawn`'s. */
export const open = Effect.fnUntraced(function*(
  command: Command
): Effect.fn.Return<Opened, Outcome.SpawnFailed, Scope.Scope> {
  const supervised = yield* Supervisor.start(command, { stdin: "piped", output: "streamed" })
  const { pid, stderr, stdin, stdout } = supervised.child
  return {
    ...running(supervised),
    stdout: stdout.stream,
    stderr: stderr.stream,
    send: (bytes) => Effect.mapError(Feed.send(stdin, bytes), () => new InputClosed({ pid })),
    endInput: Feed.end(stdin)
  }
})

/**
 * Runs `command` as the stream of what it writes. A consumer that is slow holds the program up; one that has enough
 * stops it, and waits until nobody of it is left.
 *
 * **Errors**: `SpawnFailed` (nothing happened); behind the last piece `CommandFailed`, for any ending but exit code 0.
 */
export const stream = (
  command: Command,
  options: SpawnOptions = {}
): Stream.Stream<Chunk, Outcome.SpawnFailed | CommandFailed> =>
  Stream.unwrap(Effect.gen(function*() {
    const supervised = yield* Supervisor.start(command, { stdin: pipedIf(options.stdin), output: "streamed" })
    yield* feed(supervised, options.stdin)
    const verdict = Effect.flatMap(supervised.outcome, (outcome) =>
      Outcome.isSuccess(outcome) ? Effect.void : Effect.fail(new CommandFailed({ program: command.program, outcome })))
    return Stream.concat(chunks(supervised), Stream.drain(Stream.fromEffect(verdict)))
  }))

const pipedIf = (stdin: Input | undefined): "piped" | "closed" => stdin === undefined ? "closed" : "piped"

const running = ({ child, outcome, stop }: Supervisor.Supervised): Running => ({
  pid: child.pid,
  outcome,
  stop,
  written: Effect.sync(() => ({ stdout: child.stdout.output(), stderr: child.stderr.output() }))
})

const chunks = ({ child: { stderr, stdout } }: Supervisor.Supervised): Stream.Stream<Chunk> =>
  Stream.merge(
    Stream.map(stdout.stream, (bytes): Chunk => ({ _tag: "Stdout", bytes })),
    Stream.map(stderr.stream, (bytes): Chunk => ({ _tag: "Stderr", bytes }))
  )

/**
 * Writes `input` for as long as the program reads it; that it stops reading is its own affair. An input that dies stops
 * the program: it would take its half for the whole. Gives what it died of, if it does.
 */
const feed = ({ child: { stdin }, stop }: Supervisor.Supervised, input: Input | undefined) => {
  const died = Deferred.makeUnsafe<never>()
  if (input === undefined) return Effect.succeed(died)
  const write = Stream.isStream(input)
    ? Stream.runForEach(input, (bytes) => Feed.send(stdin, bytes))
    : Feed.send(stdin, input instanceof Uint8Array ? input : input.text)
  return Effect.ignore(write).pipe(
    Effect.onExit((exit) => {
      if (!Exit.isFailure(exit) || !Exit.hasDies(exit)) return Feed.end(stdin)
      Deferred.doneUnsafe(died, Exit.failCause(exit.cause))
      return stop
    }),
    Effect.forkScoped,
    Effect.as(died)
  )
}
