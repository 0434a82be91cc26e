/**
 * One command from its start to the moment nobody of it is left.
 *
 * Invariants: (1) What came first decides the outcome, the exit, the timeout or a stop; what comes later changes
 * nothing. (2) There is one road to the outcome, walked once, by one fiber that nobody interrupts; the scope's
 * finalizer waits for it. (3) Every wait on that road behind its first step is bounded.
 */
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import type { Command } from "../Command.ts"
import type * as Outcome from "../Outcome.ts"
import type * as Child from "./child.ts"
import * as Ending from "./ending.ts"
import { Watch } from "./guardian/watch.ts"
import { Host } from "./host.ts"
import * as Lineage from "./lineage.ts"
import type * as Tap from "./tap.ts"

export interface Supervised {
  readonly child: Child.Child
  readonly outcome: Effect.Effect<Outcome.Ran>
  readonly stop: Effect.Effect<Outcome.Ran>
}

export interface Mode {
  readonly stdin: "closed" | "piped"
  readonly output: Tap.Mode
  readonly channel?: "piped" | undefined
}

/** Starts `command`; closing the scope stops it and waits for its outcome. */
export const start = (command: Command, mode: Mode): Effect.Effect<Supervised, Outcome.SpawnFailed, Scope.Scope> =>
  Effect.acquireRelease(acquire(command, mode), (supervised) => supervised.stop)

const acquire = Effect.fnUntraced(function*(
  command: Command,
  mode: Mode
): Effect.fn.Return<Supervised, Outcome.SpawnFailed> {
  const host = yield* Host
  const watch = yield* Watch
  const first = Deferred.makeUnsafe<First>()
  const come = (what: First) => void Deferred.doneUnsafe(first, Exit.succeed(what))
  const mark = host.nextMark()
  watch.announce(mark)
  const child = yield* host.start(command, {
    mark,
    stdin: mode.stdin,
    output: mode.output,
    channel: mode.channel ?? "none",
    onExit: (exit) => come({ _tag: "Ended", exit })
  }).pipe(Effect.onError(() => Effect.sync(() => watch.end(mark))))
  const { lineage, stderr, stdout } = child
  watch.begin(lineage)

  const road = Effect.gen(function*() {
    const { timeout } = command
    if (timeout !== undefined && Option.isNone(yield* Effect.timeoutOption(Deferred.await(first), timeout))) {
      come({ _tag: "TimedOut", timeout })
    }
    const what = yield* Deferred.await(first)
    const patience = what._tag === "Ended" ? closedWithin([stdout, stderr], command.drain) : undefined
    const ended = yield* endAll(host, command, child, patience)
    watch.end(mark)
    const exit = Deferred.isDoneUnsafe(child.exited) ? yield* Deferred.await(child.exited) : undefined
    return outcomeOf(what, exit, {
      stdout: stdout.output(),
      stderr: stderr.output(),
      swept: ended.swept,
      residue: ended.residue
    })
  })
  const outcome = Deferred.makeUnsafe<Outcome.Ran>()
  // Nobody interrupts it: the scope's finalizer owns it, asks it to come to its end, and waits.
  yield* Effect.forkDetach(Deferred.into(road, outcome), { startImmediately: true })

  return {
    child,
    outcome: Deferred.await(outcome),
    stop: Effect.suspend(() => {
      come({ _tag: "Cancelled" })
      return Deferred.await(outcome)
    })
  }
})

type First =
  | { readonly _tag: "Ended"; readonly exit: Outcome.Exit }
  | { readonly _tag: "TimedOut"; readonly timeout: Duration.Duration }
  | { readonly _tag: "Cancelled" }

const outcomeOf = (what: First, exit: Outcome.Exit | undefined, settled: Outcome.Settled): Outcome.Ran => {
  switch (what._tag) {
    case "Cancelled":
      return { _tag: "Cancelled", exit, ...settled }
    case "TimedOut":
      return { _tag: "TimedOut", timeout: what.timeout, exit, ...settled }
    case "Ended":
      return what.exit._tag === "Signal"
        ? { _tag: "Signalled", signal: what.exit.signal, ...settled }
        : { _tag: "Exited", code: what.exit.code, ...settled }
  }
}

type Closing = Pick<Tap.Tap, "closed" | "isClosed">

/**
 * How long an end-of-file that is already there may take to be read. It is a matter of one turn of the event loop; the
 * bound counts for the case that somebody unknown holds the pipe.
 */
const lastWords = Duration.millis(50)

/** Ends every process of the command, first those it can name, then those that hold its pipes; then lets go of these. */
const endAll = Effect.fnUntraced(function*(
  host: Host,
  command: Command,
  child: Child.Child,
  patience: Effect.Effect<unknown> | undefined
) {
  const { channel, lifeline, lineage, stderr, stdout } = child
  const taps = [stdout, stderr, lifeline]
  const pipes = [...taps, channel]
  const spares = (row: Lineage.Row) => command.strays === "report" && row.session !== lineage.leader.session
  const end = (where: Pick<Ending.Options, "table" | "carries">) =>
    Ending.end(host, lineage, { patience, grace: command.grace, spares, ...where })

  let ended = yield* end({ table: host.table(lineage), carries: (row) => host.carriesMark(row, lineage.mark) })
  for (const tap of taps) tap.release()
  if (!(yield* closedWithin(pipes, lastWords)) && ended.isProved) {
    const holds = (row: Lineage.Row) => host.holds(row, child.files)
    ended = Ending.both(ended, yield* end({ table: host.everybody, carries: holds }))
    yield* closedWithin(pipes, lastWords)
  }
  const isHeld = pipes.some((pipe) => !pipe.isClosed())
  for (const pipe of pipes) pipe.destroy()
  child.stdin.destroy()
  // (3): a leader that survived, or of which nothing is known, is not waited for.
  const isDead = ended.isProved && !ended.survivors.some(({ row }) => Lineage.isSame(row, lineage.leader))
  if (isDead) yield* Deferred.await(child.closed)
  const suspects = ended.suspects.filter((row) => Lineage.isThere(host.row(row.pid), row))
  return { ...ended, residue: residueOf({ ...ended, suspects }, isHeld) }
})

/** Waits until all of `pipes` are closed, and says whether they are, after at most `duration`. */
const closedWithin = Effect.fnUntraced(function*(pipes: ReadonlyArray<Closing>, duration: Duration.Duration) {
  const closed = Effect.forEach(pipes, (pipe) => pipe.closed, { discard: true })
  if (Option.isSome(yield* Effect.timeoutOption(closed, duration))) return true
  // A host that was busy all the time finds the timer before the pipes: let it look at these once.
  yield* Effect.yieldNow
  yield* Effect.yieldNow
  return pipes.every((pipe) => pipe.isClosed())
})

const residueOf = (ended: Ending.Ended, isHeld: boolean): ReadonlyArray<Outcome.Residue> => {
  const named = [
    ...ended.survivors.map(({ row, why }) => residue(row, survivorTexts[why])),
    ...ended.suspects.map((row) =>
      residue(row, "may have been started by the command: it carries its mark or its files")
    )
  ]
  if (!ended.isProved) return [...named, { kind: "process", detail: "the process table could not be read" }]
  if (isHeld && named.length === 0) {
    return [{ kind: "process", detail: "a process that cannot be found still holds the command's pipes" }]
  }
  return named
}

const residue = ({ name, pid }: Lineage.Row, what: string): Outcome.Residue => ({
  kind: "process",
  pid,
  detail: `process ${pid} (${name}) ${what}`
})

const survivorTexts = {
  Unkillable: `is alive ${Duration.format(Ending.killWait)} after SIGKILL`,
  Denied: "belongs to another user and cannot be signalled",
  Spared: "runs on in a session of its own"
} satisfies { readonly [W in Ending.Survivor["why"]]: string }
