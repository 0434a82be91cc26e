/**
 * Names that let work run on unseen, or that keep listeners and timers the core cannot see. What each is forbidden
 * for, and what to use instead, is the message.
 */
import { ofUses } from "../rule.ts"
import type { Use } from "../uses.ts"

const bridge = "settles while the work it started still runs: use Abortable.promise, which waits for quiescence"

const forbidden: ReadonlyMap<string, string> = new Map([
  ["Promise.race", "settles with the first and abandons the rest: wait for quiescence, or race effects"],
  ["AbortSignal.any", "retains its sources and loses reasons and aborts on several Node lines: use Abortable.fuse"],
  ["AbortSignal.timeout", "runs on the wall clock, unseen by Effect's Clock: use Deadline.within"],
  ["Effect.promise", bridge],
  ["Effect.tryPromise", bridge]
])

/** The name as the table has it: effect's own module and its barrel are one. */
const nameOf = ({ module, path }: Use): string =>
  module === "effect/Effect" ? `Effect.${path.join(".")}` : path.join(".")

export const noAbandoning = ofUses("No call that settles before the work it started", (use) => {
  if (use.module !== null && use.module !== "effect" && use.module !== "effect/Effect") return undefined
  const name = nameOf(use)
  const why = forbidden.get(name)
  return why === undefined ? undefined : `${name} ${why}.`
})
