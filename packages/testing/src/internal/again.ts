/** Runs that are known: one alone, one again from its string, one more time to be told in words. */
import * as Effect from "effect/Effect"
import type { Replayed } from "../Explore.ts"
import * as Interleaving from "../Interleaving.ts"
import type * as Report from "../Report.ts"
import { describe, describeFault } from "./describe.ts"
import type { Machine, Settings } from "./machine.ts"
import { Narrator } from "./narrator.ts"
import { replaying } from "./replaying.ts"
import { drive, type Plan, type Search, type Subject } from "./session.ts"
import type { Candidate } from "./shrink.ts"
import type { Verdict } from "./verdict.ts"

export interface Ended {
  readonly machine: Machine
  readonly verdict: Verdict
  readonly escapes: ReadonlyArray<Report.Escape>
}

export const runOne = (subject: Subject) => (plan: Plan): Effect.Effect<Ended> =>
  Effect.suspend(() => {
    const plans = [plan]
    let ended: readonly [Machine, Verdict] | undefined
    const search: Search = {
      next: () => plans.pop(),
      ended: (machine, verdict) => {
        ended = [machine, verdict]
      }
    }
    return Effect.map(drive(subject, search), ({ escapes }) => {
      const [machine, verdict] = ended!
      return { machine, verdict, escapes: [...escapes.values()] }
    })
  })

/** Runs a known interleaving once more, to tell it in words. */
export const narrate = Effect.fnUntraced(function*(
  run: (plan: Plan) => Effect.Effect<Ended>,
  { path, preemptions }: Candidate,
  settings: Settings
) {
  const narrator = new Narrator()
  const { verdict } = yield* run({
    chooser: replaying(path.picks),
    settings: { ...settings, preemptions },
    narrator
  })
  const interleaving: Interleaving.Interleaving = {
    words: narrator.words(),
    replay: Interleaving.encode({ preemptions, timers: settings.timers }, path),
    preemptions
  }
  return { interleaving, verdict }
})

/** Runs the interleaving behind a replay string, and notices when the program has changed since. */
export const replayOne = (
  subject: Subject,
  { checksum, picks, preemptions, timers }: Interleaving.Decisions,
  settings: Settings
) =>
  Effect.map(
    runAgain(subject, picks, { ...settings, preemptions, timers }, true),
    (replayed): Replayed =>
      replayed.result._tag === "Diverged" || replayed.interleaving.replay.endsWith(`!${checksum}`)
        ? replayed
        : {
          ...replayed,
          result: { _tag: "Diverged", message: "the program no longer offers the decisions this replay was made of" }
        }
  )

/** Runs the interleaving with these ways, and the first way of everything beyond them. */
export const runAgain = Effect.fnUntraced(function*(
  subject: Subject,
  picks: ReadonlyArray<number>,
  settings: Settings,
  logs = false
) {
  const narrator = new Narrator()
  const { escapes, machine, verdict } = yield* runOne(subject)({ chooser: replaying(picks), settings, narrator, logs })
  const replayed: Replayed = {
    result: resultOf(verdict),
    interleaving: {
      words: narrator.words(),
      replay: Interleaving.encode(settings, machine.path),
      preemptions: machine.preemptions
    },
    escapes
  }
  return replayed
})

const resultOf = (verdict: Verdict): Replayed["result"] => {
  switch (verdict._tag) {
    case "Passed":
      return { _tag: "Passed", outcome: describe(verdict.outcome) }
    case "Failed":
      return { _tag: "Failed", message: describeFault(verdict.fault) }
    case "Diverged": {
      const { decision, expected, found } = verdict.divergence
      return { _tag: "Diverged", message: `decision ${decision}: ${expected} expected, ${found} found` }
    }
    // A replay has no reduction, so it is never redundant.
    case "Redundant":
    case "Cut":
      return { _tag: "Cut" }
  }
}
