/**
 * Cancels commands at random instants, and counts what is left behind.
 *
 * Left behind is: a process that is alive after the outcome and not named in its residue; a listener on the signal; an
 * open file or a timer of this process more than before. A seed makes a run that found something come again, as far as
 * the machine lets it.
 */
import { Abortable } from "@quiesce/core"
import { Command, type Outcome, Process } from "@quiesce/node"
import { Deferred, Effect, Random } from "effect"
import { getEventListeners } from "node:events"
import * as Census from "./census.ts"
import * as Scenarios from "./scenarios.ts"

export interface Report {
  readonly cancels: number
  /** One line for each thing that was left behind. */
  readonly left: ReadonlyArray<string>
  /** How many outcomes named somebody who may be alive. */
  readonly residues: number
  /** How the commands ended, by the name of the outcome. */
  readonly outcomes: ReadonlyMap<string, number>
}

/** When a command is cancelled: some time after its start or after it says that everything is in place. */
const instants = [
  "in the tick of its start",
  "some time after its start",
  "once it is ready",
  "some time after it is ready"
] as const

const graceMillis = 60

/** Runs `cancels` cancels, `concurrency` at a time. */
export const run = Effect.fnUntraced(function*(options: {
  readonly cancels: number
  readonly concurrency: number
  readonly seed: string
  readonly onProgress: (done: number) => void
}): Effect.fn.Return<Report> {
  // The first child makes Node open what it keeps open for all of them.
  yield* Process.run(Command.make("true"))
  const before = Census.holdings()
  const controller = new AbortController()
  const left: Array<string> = []
  const outcomes = new Map<string, number>()
  let residues = 0
  let done = 0

  const one = Effect.fnUntraced(function*(index: number) {
    const scenario = yield* pick(Scenarios.all)
    const instant = yield* pick(instants)
    const wait = yield* Random.nextIntBetween(0, 40)
    const isTwice = yield* Random.nextBoolean
    // Nine digits that no other process has: the run, and the cancel.
    const mark = `9${String(process.pid).padStart(7, "0")}.${String(index).padStart(6, "0")}`
    const outcome = yield* cancelled(scenario.script(mark), instant, wait, isTwice, controller.signal)
    outcomes.set(outcome?._tag ?? "none", (outcomes.get(outcome?._tag ?? "none") ?? 0) + 1)
    if (outcome !== undefined && outcome.residue.length > 0) residues++
    const named = new Set(outcome?.residue.map(({ pid }) => pid))
    for (const pid of Census.alive(mark)) {
      // A residue without a pid says that somebody is alive who cannot be found.
      if (!named.has(pid) && !named.has(undefined)) {
        left.push(`process ${pid} of ${scenario.name}, cancelled ${instant} (${wait} ms)`)
      }
      kill(pid)
    }
    options.onProgress(++done)
  })

  yield* Effect.forEach(Array.from({ length: options.cancels }, (_, index) => index), one, {
    concurrency: options.concurrency,
    discard: true
  }).pipe(Random.withSeed(options.seed))

  const listeners = getEventListeners(controller.signal, "abort").length
  if (listeners > 0) left.push(`${listeners} listeners on the signal`)
  const after = Census.holdings()
  if (after.files > before.files) left.push(`${after.files - before.files} open files`)
  if (after.timers > before.timers) left.push(`${after.timers - before.timers} timers`)
  return { cancels: options.cancels, left, residues, outcomes }
})

const pick = <A>(all: ReadonlyArray<A>): Effect.Effect<A> =>
  Effect.map(Random.nextIntBetween(0, all.length - 1), (index) => all[index]!)

/** Runs a script as a promise on a signal of its own beside the shared one, and aborts it. */
const cancelled = Effect.fnUntraced(function*(
  script: string,
  instant: typeof instants[number],
  wait: number,
  isTwice: boolean,
  shared: AbortSignal
) {
  const ready = yield* Deferred.make<void>()
  let outcome: Outcome.Outcome | undefined
  const command = Command.shell(script, { grace: graceMillis, drain: graceMillis, maxBytes: 4096 })
  const run = Process.run(command, {
    onOutput: ({ bytes }) => Buffer.from(bytes).includes("ready") ? Deferred.succeed(ready, undefined) : Effect.void,
    onOutcome: (settled) => Effect.sync(() => void (outcome = settled))
  })
  const controller = new AbortController()
  // With the context of here, in which the guardian is.
  const runPromise = Abortable.runPromiseWith(yield* Effect.context<never>())
  const settled = runPromise(Abortable.interruptOn(run, shared), { signal: controller.signal }).then(
    () => Deferred.doneUnsafe(ready, Effect.void),
    () => Deferred.doneUnsafe(ready, Effect.void)
  )
  // Whoever interrupts the torture itself has cancelled this command too.
  const end = Effect.suspend(() => {
    controller.abort("torture")
    return Effect.exit(Abortable.promise(() => settled))
  })
  yield* Effect.gen(function*() {
    if (instant === "once it is ready" || instant === "some time after it is ready") yield* Deferred.await(ready)
    if (instant === "some time after its start" || instant === "some time after it is ready") yield* Effect.sleep(wait)
    controller.abort("torture")
    if (isTwice) {
      yield* Effect.sleep(wait)
      controller.abort("again")
    }
  }).pipe(Effect.ensuring(end))
  return outcome
})

const kill = (pid: number): void => {
  try {
    process.kill(pid, "SIGKILL")
  } catch {
    // It ended by itself after it was counted.
  }
}
