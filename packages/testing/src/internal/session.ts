/**
 * Drives runs, one after the other, for a search.
 *
 * A run stays inside one synchronous loop as long as only fibers move. When native promises moved, the loop is left
 * for one turn of the event loop, after which every reaction has run: so a program without promises is explored at full
 * speed, and one with promises correctly, without anybody choosing a mode.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Logger from "effect/Logger"
import * as Random from "effect/Random"
import * as Scheduler from "effect/Scheduler"
import type * as Scope from "effect/Scope"
import * as Tracer from "effect/Tracer"
import { Edge } from "../Edge.ts"
import type { Chooser } from "./choices.ts"
import { LiveEdge } from "./edge.ts"
import { type Escape, runWatched, type Watch, watch, type Watcher } from "./escapes.ts"
import { type Activity, Machine, type Settings } from "./machine.ts"
import type { Narrator } from "./narrator.ts"
import { makeRandom } from "./random.ts"
import type { Verdict } from "./verdict.ts"

/** The program as the session runs it: everything but scope and edge comes from the caller's context. */
export interface Subject {
  readonly program: Effect.Effect<unknown, unknown, Edge | Scope.Scope>
  readonly context: Context.Context<never>
}

/** One run to be done. */
export interface Plan {
  readonly chooser: Chooser
  readonly settings: Settings
  readonly narrator?: Narrator | undefined
  /** Whether the program's log is written. A thousand runs would write it a thousand times. */
  readonly logs?: boolean | undefined
}

/** Says which runs are to be done, and is told how each ended. */
export interface Search {
  readonly next: () => Plan | undefined
  readonly ended: (machine: Machine, verdict: Verdict, plan: Plan) => void
}

/** How long the event loop may have to wait for us: short against a frame, long against a run. */
const sliceMillis = 8

export class Session implements Watcher {
  isDriving = false
  readonly escapes = new Map<string, Escape & { count: number }>()
  private readonly activity: Activity = { moved: false }
  private readonly subject: Subject
  private readonly search: Search
  private readonly done: (exit: Exit.Exit<Session>) => void
  private readonly watch: Watch
  private machine: Machine | undefined
  private plan: Plan | undefined
  private stopped = false
  /** What the search threw, or whoever it tells. */
  private thrown: { readonly defect: unknown } | undefined

  constructor(subject: Subject, search: Search, done: (exit: Exit.Exit<Session>) => void) {
    this.subject = subject
    this.search = search
    this.done = done
    this.watch = watch(this)
    // Not from inside the fiber that asked: its operations are no part of the exploration.
    runWatched(this, () => this.later(this.drive))
  }

  /** Gives up after the current run. */
  stop(): void {
    this.stopped = true
  }

  readonly moved = (): void => {
    this.activity.moved = true
  }

  escaped(escape: Escape): void {
    const key = `${escape.what} at ${escape.where}`
    const known = this.escapes.get(key)
    if (known === undefined) this.escapes.set(key, { ...escape, count: 1 })
    else known.count++
  }

  unhandled(error: unknown): void {
    this.machine?.fail({ _tag: "Unhandled", error })
  }

  private readonly drive = (): void => {
    try {
      this.advance()
    } catch (defect) {
      // This is a turn of the event loop, and nobody is above it who would catch.
      this.thrown = { defect }
      this.later(this.end)
    }
  }

  /** Goes on until the event loop has to have a turn. */
  private advance(): void {
    const deadline = performance.now() + sliceMillis
    for (;;) {
      if (this.activity.moved) return this.later(this.drained)
      if (this.machine === undefined) {
        if (this.stopped || performance.now() > deadline) return this.later(this.stopped ? this.end : this.drive)
        this.plan = this.search.next()
        if (this.plan === undefined) return this.later(this.end)
        this.machine = this.begin(this.plan)
      } else if (!this.machine.step() && !this.activity.moved) {
        const { machine, plan } = this
        this.search.ended(machine, machine.conclude(), plan!)
        this.machine = undefined
      }
    }
  }

  private readonly drained = (): void => {
    this.watch.drained()
    this.activity.moved = false
    this.machine?.settle()
    this.drive()
  }

  private readonly end = (): void => {
    this.watch.end()
    this.done(this.thrown === undefined ? Exit.succeed(this) : Exit.die(this.thrown.defect))
  }

  private later(f: () => void): void {
    this.isDriving = true
    setImmediate(f)
    this.isDriving = false
  }

  private begin(plan: Plan): Machine {
    const machine = new Machine(plan.chooser, this.activity, plan.settings, plan.narrator)
    // Chance is the same in every run: an interleaving is decided by the explorer alone.
    const random = makeRandom(0)
    let context = this.subject.context.pipe(
      Context.add(Scheduler.Scheduler, machine),
      Context.add(Clock.Clock, machine.clock),
      Context.add(Random.Random, {
        nextIntUnsafe: () => Math.floor((random() - 0.5) * 2 * Number.MAX_SAFE_INTEGER),
        nextDoubleUnsafe: random
      }),
      Context.add(Edge, new LiveEdge(machine))
    )
    if (plan.logs !== true) context = Context.add(context, Logger.CurrentLoggers, new Set())
    if (plan.narrator !== undefined) {
      const outer = Context.getOrUndefined(this.subject.context, Tracer.Tracer)
      context = Context.add(context, Tracer.Tracer, plan.narrator.tracer(outer))
    }
    machine.start(() => Effect.runForkWith(context)(Effect.scoped(this.subject.program)))
    return machine
  }
}

/**
 * Drives a search to its end. What the search throws is a defect.
 *
 * **Interruption**: ends it after the run that is under way, and waits for that.
 */
export const drive = (subject: Subject, search: Search): Effect.Effect<Session> =>
  Effect.callback<Session>((resume) => {
    let ended = false
    let onEnd: (exit: Exit.Exit<Session>) => void = resume
    const session = new Session(subject, search, (exit) => {
      ended = true
      onEnd(exit)
    })
    return Effect.callback<void>((resume) => {
      if (ended) return resume(Effect.void)
      onEnd = () => resume(Effect.void)
      session.stop()
    })
  })
