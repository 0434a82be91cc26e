/**
 * The clock of one run. Time moves only when the explorer fires the earliest timer, and it may do so at every decision:
 * a program under exploration is arbitrarily slow against its timers, which among themselves keep their order.
 */
import type * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type { Step } from "./choices.ts"
import type { Machine } from "./machine.ts"

interface Timer extends Step {
  readonly at: number
}

export class VirtualClock implements Clock.Clock {
  readonly timers: Array<Timer> = []
  private readonly machine: Machine
  private now = 0

  constructor(machine: Machine) {
    this.machine = machine
  }

  currentTimeMillisUnsafe(): number {
    this.machine.tracks.reads(clock)
    return this.now
  }
  currentTimeNanosUnsafe(): bigint {
    return BigInt(this.currentTimeMillisUnsafe()) * 1_000_000n
  }
  monotonicTimeNanosUnsafe(): bigint {
    return this.currentTimeNanosUnsafe()
  }
  get currentTimeMillis(): Effect.Effect<number> {
    return Effect.sync(() => this.currentTimeMillisUnsafe())
  }
  get currentTimeNanos(): Effect.Effect<bigint> {
    return Effect.sync(() => this.currentTimeNanosUnsafe())
  }
  get monotonicTimeNanos(): Effect.Effect<bigint> {
    return Effect.sync(() => this.monotonicTimeNanosUnsafe())
  }

  sleep(duration: Duration.Duration): Effect.Effect<void> {
    const millis = Duration.toMillis(duration)
    if (millis <= 0) return Effect.yieldNow
    if (!Number.isFinite(millis)) return Effect.never
    return Effect.callback<void>((resume) => {
      const timer = this.set(this.now + millis, () => resume(Effect.void))
      return Effect.sync(() => this.clear(timer))
    })
  }

  /** Fires what falls due within `millis`, in order, each at its own time. */
  advance(millis: number): void {
    this.machine.tracks.writes(clock)
    const end = this.now + millis
    while (this.timers[0] !== undefined && this.timers[0].at <= end) this.timers.shift()!.run()
    this.now = end
  }

  private set(at: number, wake: () => void): Timer {
    this.machine.tracks.writes(clock)
    const run = () => {
      this.machine.tracks.writes(clock)
      this.now = at
      wake()
    }
    const timer: Timer = { ...this.machine.makeStep("time", `${at} ms`, run, undefined), at }
    // Equal times fire in the order in which they were set, as timers do everywhere.
    let index = this.timers.length
    while (index > 0 && this.timers[index - 1]!.at > at) index--
    this.timers.splice(index, 0, timer)
    return timer
  }

  private clear(timer: Timer): void {
    this.machine.tracks.writes(clock)
    const index = this.timers.indexOf(timer)
    if (index >= 0) this.timers.splice(index, 1)
  }
}

/** The clock as something a step touches. */
const clock = Symbol("the clock")
