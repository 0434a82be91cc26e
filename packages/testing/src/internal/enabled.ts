/**
 * The steps that can be taken next in one run: what its fibers have scheduled, what the outside world may do, and the
 * earliest timer. A decision counts them in this order.
 */
import type { Step } from "./choices.ts"

export class Enabled {
  readonly fibers: Array<Step> = []
  readonly outside: Array<Step> = []
  /** The rest of a preempted fiber: taking it as the very next step would be no preemption at all. */
  displaced: Step | undefined
  /** Whether the next step falls into the tick of the current one. Only the outside world takes such a step. */
  sharesTick = false
  /** Whether the bound on timers took a choice away. */
  timersBounded = false
  /** Those of the clock, the earliest first. */
  private readonly timers: Array<Step>
  private timersLeft: number

  /** `early`: how often a timer may fire while something else could go on. */
  constructor(timers: Array<Step>, early: number) {
    this.timers = timers
    this.timersLeft = early
  }

  /** How many ways there are to go on. */
  count(): number {
    if (this.sharesTick) return this.outside.length
    const others = this.fibers.length + this.outside.length
    if (others > 0 && this.timersLeft === 0 && this.timers.length > 0) this.timersBounded = true
    const timer = this.isTimerEnabled(others) ? 1 : 0
    return others + timer - (this.displaced === undefined ? 0 : 1)
  }

  way(way: number): Step {
    if (this.sharesTick) return this.outside[way]!
    // The displaced rest is the last of the fibers: nothing has run since it was put there.
    const fibers = this.displaced === undefined ? this.fibers.length : this.fibers.length - 1
    if (way < fibers) return this.fibers[way]!
    return this.outside[way - fibers] ?? this.timers[0]!
  }

  /** Takes the step that is this way. */
  take(way: number): Step {
    const step = this.way(way)
    switch (step.from) {
      case "fiber":
        this.fibers.splice(way, 1)
        return step
      case "outside":
        this.outside.splice(this.outside.indexOf(step), 1)
        return step
      case "time":
        this.timers.shift()
        if (this.fibers.length + this.outside.length > 0) this.timersLeft--
        return step
    }
  }

  /** Takes the step that comes first where nothing is explored: what is outside waits until all else has come to rest. */
  takeFirst(): Step | undefined {
    return this.fibers.shift() ?? this.timers.shift() ?? this.outside.shift()
  }

  /** Whether anything could come before the fiber that runs goes on. */
  get isAny(): boolean {
    return this.fibers.length > 0 || this.outside.length > 0 || this.isTimerEnabled(1)
  }

  /** When its bound is reached, time stands still as long as anything else can go on. */
  private isTimerEnabled(others: number): boolean {
    return this.timers.length > 0 && (this.timersLeft > 0 || others === 0)
  }
}
