/**
 * One run of a program under one interleaving: the scheduler its fibers see, and the steps that can be taken.
 *
 * The fibers do nothing by themselves. Whatever could go on is a *step*: a task a fiber scheduled, something the
 * outside world does, or the earliest timer. `step` asks the chooser for one and runs it to its end. Preemption is a
 * decision inside a step: at each operation of a fiber the scheduler asks whether the fiber gives way there.
 *
 * Invariants:
 * 1. Everything an interleaving leaves open is asked of `decisions`; nothing else here depends on time or chance.
 * 2. A machine serves one run. What is scheduled on it after its run ended is never executed.
 * 3. A step and the promise reactions it sets off are one: the next decision comes after both.
 */
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import type * as Scheduler from "effect/Scheduler"
import type { Chooser, Path, Step, Ways } from "./choices.ts"
import { VirtualClock } from "./clock.ts"
import { Decisions } from "./decisions.ts"
import { Enabled } from "./enabled.ts"
import { type Footprint, Tracks } from "./footprint.ts"
import type { Narrator } from "./narrator.ts"
import type { Fault, Verdict } from "./verdict.ts"

type AnyFiber = Fiber.Fiber<unknown, unknown>

export interface Statement {
  readonly statement: string
  readonly holds: () => boolean | void
}

/** Kept by the session: whether native promises moved, so that their reactions must run before the next decision. */
export interface Activity {
  moved: boolean
}

export interface Settings {
  readonly preemptions: number
  /** How often a timer may fire while something else could go on. */
  readonly timers: number
  readonly steps: number
  /** Whether steps start with an empty footprint, because the program declares what it touches. */
  readonly declared: boolean
}

/**
 * A slice spends its first operation on the resume and its second on the operation the yield displaced. A fiber that
 * is preempted at one of those yields for ever without getting on.
 */
const firstPreemptibleOperation = 3

export class Machine implements Scheduler.Scheduler, Scheduler.SchedulerDispatcher, Ways {
  readonly executionMode = "async"
  readonly clock = new VirtualClock(this)
  readonly enabled: Enabled
  readonly invariants: Array<Statement> = []
  readonly conclusions: Array<Statement> = []
  readonly narrator: Narrator | undefined
  isExploring = true
  /** Whether the run was judged. */
  isOver = false
  /** Whether the bound on preemptions took a choice away. */
  bounded = false
  running: AnyFiber | undefined

  /** What the current step touches. */
  readonly tracks: Tracks

  private readonly chooser: Chooser
  private readonly decisions: Decisions
  private readonly activity: Activity
  private readonly settings: Settings
  private preemptionsLeft: number
  private stepsLeft: number
  /** The number the next step gets. */
  seq = 0
  private fault: Fault | undefined
  private main: AnyFiber | undefined

  // What the current step has done so far.
  private current: Step | undefined
  /** The first fiber that ran in this step, and whether another one ran too. */
  private slice: AnyFiber | undefined
  private mixed = false
  /** Set between the decision to preempt and the scheduling of the preempted fiber's rest. */
  private preempting = false
  /** The last task scheduled, unless its owner went on running: then it is the owner's own resumption. */
  private lastScheduled: Step | undefined

  constructor(chooser: Chooser, activity: Activity, settings: Settings, narrator?: Narrator) {
    this.chooser = chooser
    this.decisions = new Decisions(chooser, this)
    this.tracks = new Tracks(settings.declared)
    this.activity = activity
    this.settings = settings
    this.preemptionsLeft = settings.preemptions
    this.enabled = new Enabled(this.clock.timers, settings.timers)
    this.stepsLeft = settings.steps
    this.narrator = narrator
    narrator?.attend(this)
  }

  /** Starts the program; its first slice runs at once. */
  start(fork: () => AnyFiber): void {
    this.enter(undefined)
    this.main = fork()
    this.leave()
  }

  /** Takes one step, or several that share a tick. `false` when the run is over or nothing can move. */
  step(): boolean {
    do {
      const step = this.next()
      if (step === undefined) return false
      if (this.stepsLeft-- === 0) {
        this.decisions.giveUp({ _tag: "Cut" })
        return false
      }
      this.enter(step)
      try {
        step.run()
      } catch (error) {
        this.fail({ _tag: "ActionThrew", label: step.label, error })
      }
      this.leave()
    } while (this.enabled.sharesTick)
    return true
  }

  /** Closes a step, once the promise reactions it set off have run too. */
  settle(): void {
    this.chooser.stepped(this.tracks.footprint)
    if (this.invariants.length > 0) this.check(this.invariants)
  }

  /** Judges the run, once nothing can move any more. */
  conclude(): Verdict {
    this.isOver = true
    if (this.decisions.over !== undefined) return this.decisions.over
    const exit = this.main?.pollUnsafe()
    if (exit === undefined) this.fail({ _tag: "Hung" })
    else if (Exit.isFailure(exit)) this.fail({ _tag: "Failed", exit })
    this.check(this.conclusions)
    if (this.fault !== undefined) return { _tag: "Failed", fault: this.fault }
    return { _tag: "Passed", outcome: exit !== undefined && Exit.isSuccess(exit) ? exit.value : undefined }
  }

  /** Records the first thing that went wrong. The run goes on, so that its finalizers run. */
  fail(fault: Fault): void {
    this.fault ??= fault
  }

  get path(): Path {
    const { counts, kinds, picks } = this.decisions
    return { counts, kinds, picks }
  }

  get preemptions(): number {
    return this.settings.preemptions - this.preemptionsLeft
  }

  private enter(step: Step | undefined): void {
    this.current = step
    this.slice = undefined
    this.mixed = false
    this.enabled.displaced = undefined
    this.lastScheduled = undefined
    this.tracks.begin(step?.touches)
    // Two steps in one tick mix their reactions: what each touches is not known apart.
    if (this.enabled.sharesTick) this.tracks.forget()
    this.narrator?.enter(step, this.enabled.sharesTick)
  }

  private leave(): void {
    // A fiber's last act in a slice that ends with a yield is to schedule its own resumption.
    if (this.lastScheduled !== undefined) this.lastScheduled.resumes = this.lastScheduled.owner
    this.enabled.sharesTick = this.offersTick()
    if (this.enabled.sharesTick) this.tracks.forget()
    if (this.enabled.sharesTick || !this.activity.moved) this.settle()
  }

  private check(statements: ReadonlyArray<Statement>): void {
    if (this.fault !== undefined) return
    for (const { statement, holds } of statements) {
      try {
        if (holds() === false) return this.fail({ _tag: "Violated", statement, detail: undefined })
      } catch (detail) {
        return this.fail({ _tag: "Violated", statement, detail })
      }
    }
  }

  way(way: number): Step {
    return this.enabled.way(way)
  }

  private next(): Step | undefined {
    if (this.decisions.over !== undefined) return undefined
    if (!this.isExploring) return this.enabled.takeFirst()
    const count = this.enabled.count()
    if (count === 0) {
      // Nobody took the preempted fiber's place.
      if (this.enabled.displaced !== undefined) this.decisions.giveUp({ _tag: "Redundant" })
      return undefined
    }
    const way = this.decisions.decide("next", count)
    return this.decisions.over === undefined ? this.enabled.take(way) : undefined
  }

  /** Which of the values the outside world gives. */
  value(label: string, values: ReadonlyArray<unknown>): number {
    const pick = values.length > 1 && this.isExploring ? this.decisions.decide("value", values.length) : 0
    this.narrator?.chose(label, values[pick])
    return pick
  }

  /**
   * Two outside steps in one tick: the second comes before the promise reactions of the first, as when one piece of
   * code resolves a promise and aborts a signal. It counts as a preemption, of the reactions.
   */
  private offersTick(): boolean {
    if (this.current?.from !== "outside" || !this.activity.moved || this.enabled.outside.length === 0) return false
    if (!this.isExploring || this.decisions.over !== undefined) return false
    if (this.preemptionsLeft === 0) {
      this.bounded = true
      return false
    }
    if (this.decisions.decide("tick", 2) === 0) return false
    this.preemptionsLeft--
    return true
  }

  shouldYield(fiber: AnyFiber): boolean {
    this.lastScheduled = undefined
    if (fiber !== this.slice) this.see(fiber)
    const exhausted = fiber.currentOpCount >= fiber.cache.maxOpsBeforeYield
    if (fiber.currentOpCount < firstPreemptibleOperation || !this.mayGiveWay(fiber)) return exhausted
    if (this.preemptionsLeft === 0) {
      this.bounded = true
      return exhausted
    }
    this.running = fiber
    if (this.decisions.decide("preempt", 2) === 0) return exhausted
    this.preemptionsLeft--
    this.preempting = true
    this.narrator?.preempted(fiber)
    return true
  }

  makeDispatcher(): Scheduler.SchedulerDispatcher {
    return this
  }

  scheduleTask(run: () => void, _priority: number): void {
    const step = this.makeStep("fiber", "", run, undefined)
    this.enabled.fibers.push(step)
    this.lastScheduled = step
    if (!this.preempting) return
    this.preempting = false
    // Going on with the fiber is the same as not having preempted it only where it ran alone in this step, and no
    // promise reaction comes in between.
    const alone = !this.mixed && (this.current === undefined || this.current.from === "fiber")
    if (alone && !this.activity.moved) this.enabled.displaced = step
  }

  flush(): void {}

  private see(fiber: AnyFiber): void {
    if (this.slice === undefined) this.slice = fiber
    else {
      this.mixed = true
      this.enabled.displaced = undefined
    }
    this.tracks.runs(fiber)
  }

  /** Whether anything could come in between: another step, promise reactions, or the rest of this step. */
  private mayGiveWay(fiber: AnyFiber): boolean {
    if (!this.isExploring || this.decisions.over !== undefined) return false
    if (this.enabled.isAny) return true
    // Only of a step that does nothing but start the program or resume this fiber is it known that nothing follows.
    const follows = this.current !== undefined && this.current.resumes !== fiber
    return this.activity.moved || fiber !== this.slice || follows
  }

  /** For the clock and the edge, too. */
  makeStep(from: Step["from"], label: string, run: () => void, touches: Footprint | undefined): Step {
    if (touches !== undefined) this.chooser.described()
    const owner = from === "fiber" ? Fiber.getCurrent() : undefined
    return { seq: this.seq++, from, label, run, owner, resumes: undefined, touches }
  }
}
