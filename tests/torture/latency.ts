/**
 * How long a command takes from its cancel to its outcome, one at a time.
 */
import { Command, Process } from "@quiesce/node"
import { Deferred, Duration, Effect, Fiber } from "effect"

export interface Report {
  readonly name: string
  readonly cancels: number
  readonly medianMillis: number
  readonly longestMillis: number
}

export const graceMillis = 200

/** Who ends at SIGTERM, who takes some time for it, and who does not. */
export const subjects = [
  { name: "who ends at SIGTERM", script: "sleep 1000 & echo ready; wait" },
  { name: "who ignores SIGTERM", script: "trap '' TERM; sleep 1000 & echo ready; while :; do sleep 0.05; done" },
  { name: "a descendant that left the session", script: "setsid sleep 1000 & echo ready; wait" }
] as const

export const run = Effect.fnUntraced(function*(
  { name, script }: typeof subjects[number],
  cancels: number
): Effect.fn.Return<Report> {
  const times: Array<number> = []
  for (let count = 0; count < cancels; count++) {
    const ready = yield* Deferred.make<void>()
    const fiber = yield* Effect.forkChild(
      Process.run(Command.shell(script, { grace: graceMillis }), { onOutput: () => Deferred.succeed(ready, undefined) })
    )
    yield* Deferred.await(ready)
    const [elapsed] = yield* Effect.timed(Fiber.interrupt(fiber))
    times.push(Duration.toMillis(elapsed))
  }
  times.sort((a, b) => a - b)
  return {
    name,
    cancels,
    medianMillis: Math.round(times[times.length >> 1] ?? 0),
    longestMillis: Math.round(times.at(-1) ?? 0)
  }
})
