/**
 * Makes a failing run smaller, as long as it fails the same way: fewer preemptions first, then fewer decisions that differ
 * from the ordinary first way, then earlier ways.
 */
import * as Effect from "effect/Effect"
import type { Path } from "./choices.ts"
import { describeFault } from "./describe.ts"
import type { Machine, Settings } from "./machine.ts"
import { approximating } from "./replaying.ts"
import type { Plan } from "./session.ts"
import type { Verdict } from "./verdict.ts"

/** A run, by its decisions under the preemption bound it needs. */
export interface Candidate {
  readonly preemptions: number
  readonly path: Path
}

/** Each attempt is one run; the greedy search below rarely needs a hundred, and each round of it must gain something. */
const maxAttempts = 1_000

export const shrink = Effect.fnUntraced(function*(
  run: (plan: Plan) => Effect.Effect<{ readonly machine: Machine; readonly verdict: Verdict }>,
  message: string,
  found: Candidate,
  settings: Settings
) {
  let attempts = 0
  let best = found

  /** Runs a variation, and keeps it when it fails the same way and is smaller. */
  const attempt = Effect.fnUntraced(function*(preemptions: number, picks: ReadonlyArray<number>) {
    if (attempts++ >= maxAttempts) return false
    const { machine, verdict } = yield* run({
      chooser: approximating(picks),
      settings: { ...settings, preemptions, declared: false }
    })
    if (verdict._tag !== "Failed" || describeFault(verdict.fault) !== message) return false
    const candidate = tighten({ preemptions: machine.preemptions, path: machine.path })
    if (compare(candidate, best) >= 0) return false
    best = candidate
    return true
  })

  const round = Effect.fnUntraced(function*() {
    const { path: { picks }, preemptions } = best
    const taken = picks.flatMap((pick, i) => pick > 0 ? [i] : [])
    for (const i of taken) if (yield* attempt(preemptions, picks.slice(0, i))) return true
    for (const i of taken) if (yield* attempt(preemptions, picks.with(i, 0))) return true
    // Without a preemption the decisions after it move up: the one about what ran instead goes too.
    for (const gap of [1, 2, 3]) {
      for (const i of taken) if (yield* attempt(preemptions, picks.toSpliced(i, gap))) return true
      for (const i of taken) if (yield* attempt(preemptions, picks.toSpliced(i, gap, 0))) return true
    }
    for (const i of taken) {
      for (let pick = 1; pick < picks[i]!; pick++) if (yield* attempt(preemptions, picks.with(i, pick))) return true
    }
    return false
  })

  best = tighten(found)
  while (yield* round()) { /* until nothing can be taken away */ }
  return best
})

/** The same run under the smallest preemption bound that allows it: the decisions that bound does not offer are gone. */
export const tighten = ({ path, preemptions }: Candidate): Candidate => {
  let left = preemptions
  const keep: Array<number> = []
  for (let i = 0; i < path.kinds.length; i++) {
    const costs = path.kinds[i] === "preempt" || path.kinds[i] === "tick"
    if (costs && left === 0) continue
    if (costs && path.picks[i] === 1) left--
    keep.push(i)
  }
  return {
    preemptions,
    path: {
      kinds: keep.map((i) => path.kinds[i]!),
      counts: keep.map((i) => path.counts[i]!),
      picks: keep.map((i) => path.picks[i]!)
    }
  }
}

const compare = (a: Candidate, b: Candidate): number => {
  const [x, y] = [measure(a), measure(b)]
  for (let i = 0; i < x.length; i++) if (x[i] !== y[i]) return x[i]! - y[i]!
  return 0
}

const measure = ({ path: { picks }, preemptions }: Candidate): ReadonlyArray<number> => [
  preemptions,
  picks.filter((pick) => pick > 0).length,
  picks.reduce((sum, pick) => sum + pick, 0),
  picks.findLastIndex((pick) => pick > 0)
]
