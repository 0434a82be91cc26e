/** Counts how runs ended, and keeps the first path to each different end. */
import { type Divergence, type Path } from "./choices.ts"
import { describe, describeFault } from "./describe.ts"
import type { Machine } from "./machine.ts"
import type { Verdict } from "./verdict.ts"

/** A way to end, how often it was met, and the first path to it. */
export interface End {
  readonly message: string
  count: number
  readonly path: Path
  readonly preemptions: number
}

export class Tally {
  explored = 0
  failing = 0
  redundant = 0
  cut = 0
  readonly byPreemptions: Array<number> = []
  divergence: Divergence | undefined
  readonly outcomes = new Map<string, End>()
  readonly failures = new Map<string, End>()

  add(machine: Machine, verdict: Verdict): void {
    switch (verdict._tag) {
      case "Passed":
        this.explore(machine)
        return met(this.outcomes, describe(verdict.outcome), machine)
      case "Failed":
        this.explore(machine)
        this.failing++
        return met(this.failures, describeFault(verdict.fault), machine)
      case "Redundant":
        this.redundant++
        return
      case "Cut":
        this.explore(machine)
        this.cut++
        return
      case "Diverged":
        this.divergence ??= verdict.divergence
        return
    }
  }

  private explore({ preemptions }: Machine): void {
    this.explored++
    while (this.byPreemptions.length <= preemptions) this.byPreemptions.push(0)
    this.byPreemptions[preemptions]!++
  }
}

/** A program whose every run ends differently would otherwise keep a path for each; reports show a dozen. */
const maxKept = 1_000

const met = (ends: Map<string, End>, message: string, machine: Machine): void => {
  const key = ends.has(message) || ends.size < maxKept ? message : "something else again"
  const end = ends.get(key)
  if (end !== undefined) end.count++
  else ends.set(key, { message: key, count: 1, path: machine.path, preemptions: machine.preemptions })
}
