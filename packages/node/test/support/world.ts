/**
 * The real world, seen by other eyes than the code under test: processes are told by a text in their command line, which
 * neither a session of their own nor a cleared environment takes away.
 */
import { type Command, type Outcome, Process } from "@quiesce/node"
import { Deferred, Effect, Fiber, type Scope } from "effect"
import { randomInt } from "node:crypto"
import { readdirSync, readFileSync } from "node:fs"

/** A duration for `sleep` that no other process on this machine has in its command line. */
export const fingerprint = (): string => `${randomInt(10_000, 99_999)}.${randomInt(100_000, 999_999)}`

/** The living processes that have `text` in their command line. */
export const alive = (text: string): ReadonlyArray<number> =>
  readdirSync("/proc").flatMap((entry) => {
    if (!/^\d+$/.test(entry)) return []
    try {
      const isDead = /^\d+ \(.*\) [ZX]/s.test(readFileSync(`/proc/${entry}/stat`, "latin1"))
      const commandLine = readFileSync(`/proc/${entry}/cmdline`, "latin1")
      return !isDead && commandLine.includes(text) ? [Number(entry)] : []
    } catch {
      return []
    }
  })

export interface Started {
  readonly fiber: Fiber.Fiber<Outcome.Outcome>
  /** Its outcome, also when the fiber was interrupted. */
  readonly outcome: Effect.Effect<Outcome.Outcome>
  /** Interrupts the run and gives its outcome. */
  readonly cancel: Effect.Effect<Outcome.Outcome>
}

/** Runs `command` in a fiber, and goes on once it has written `word`. */
export const startedUntil = (
  command: Command.Command,
  word: string
): Effect.Effect<Started, never, Scope.Scope> =>
  Effect.gen(function*() {
    const ready = yield* Deferred.make<void>()
    const outcome = yield* Deferred.make<Outcome.Outcome>()
    let written = ""
    const fiber = yield* Process.run(command, {
      onOutput: ({ bytes }) => {
        written += new TextDecoder().decode(bytes)
        return written.includes(word) ? Deferred.succeed(ready, undefined) : Effect.void
      },
      onOutcome: (settled) => Deferred.succeed(outcome, settled)
    }).pipe(Effect.forkScoped)
    // A command that ends without the word fails the test at once instead of by its timeout.
    yield* Effect.raceFirst(
      Deferred.await(ready),
      Effect.flatMap(Deferred.await(outcome), (early) => Effect.die(new Error(`ended early: ${JSON.stringify(early)}`)))
    )
    return {
      fiber,
      outcome: Deferred.await(outcome),
      cancel: Effect.andThen(Fiber.interrupt(fiber), Deferred.await(outcome))
    }
  })
