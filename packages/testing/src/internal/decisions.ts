/**
 * The decisions of one run: asked of its chooser, and kept as its path.
 *
 * A decision with one way is not kept: a path holds choices only. Once the run is over, because the chooser gave it up or
 * because it went too far, every further question is answered with the first way, so that whatever is under way can end.
 */
import { type Chooser, Divergence, type Kind, redundant, type Ways } from "./choices.ts"
import type { Verdict } from "./verdict.ts"

export class Decisions {
  readonly kinds: Array<Kind> = []
  readonly counts: Array<number> = []
  readonly picks: Array<number> = []
  /** Set when the run is given up. */
  over: Verdict | undefined
  private readonly chooser: Chooser
  private readonly ways: Ways

  constructor(chooser: Chooser, ways: Ways) {
    this.chooser = chooser
    this.ways = ways
  }

  /** Which of `count` ways is taken. */
  decide(kind: Kind, count: number): number {
    if (this.over !== undefined || (count === 1 && !this.chooser.everyStep)) return 0
    const pick = this.ask(kind, count)
    if (pick === redundant) {
      this.giveUp({ _tag: "Redundant" })
      return 0
    }
    if (count > 1) {
      this.kinds.push(kind)
      this.counts.push(count)
      this.picks.push(pick)
    }
    return pick
  }

  giveUp(verdict: Verdict): void {
    this.over ??= verdict
  }

  private ask(kind: Kind, count: number): number {
    try {
      return this.chooser.choose(kind, count, this.ways)
    } catch (error) {
      if (!(error instanceof Divergence)) throw error
      this.giveUp({ _tag: "Diverged", divergence: error })
      return 0
    }
  }
}
