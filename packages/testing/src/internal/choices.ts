/**
 * What a run asks its chooser, and how the answers are kept.
 *
 * Everything an interleaving leaves open goes through one question: *which of `count` ways?* The answers, in order, are
 * the interleaving: giving them again replays it.
 */
import type * as Fiber from "effect/Fiber"
import type { Footprint } from "./footprint.ts"

/**
 * What is being decided: which enabled step comes `next`, whether the running fiber is `preempted` here, whether the
 * next outside step falls into the same `tick` as the last one, or which `value` the outside world gives.
 */
export type Kind = "next" | "preempt" | "tick" | "value"

/** Returned by a chooser to give the run up: every way from here leads to a run that is explored elsewhere. */
export const redundant = -1

/** Something that can happen next. */
export interface Step {
  /** The order in which it became possible: the same in every run that took the same decisions before. */
  readonly seq: number
  readonly from: "fiber" | "outside" | "time"
  readonly label: string
  readonly run: () => void
  /** The fiber that was running when the step became possible. */
  readonly owner: Fiber.Fiber<unknown, unknown> | undefined
  /** The fiber that goes on with this step, where that is known. */
  resumes: Fiber.Fiber<unknown, unknown> | undefined
  /** The footprint somebody declared for it. */
  readonly touches: Footprint | undefined
}

/** Names the ways of a decision. */
export interface Ways {
  /** The step that is the `way`th one of a `next` decision. */
  readonly way: (way: number) => Step
  /** The fiber that runs, in a `preempt` decision. */
  readonly running: Fiber.Fiber<unknown, unknown> | undefined
}

/** Answers the questions of one run. */
export interface Chooser {
  /** Whether decisions with one way are asked too: a reduction must see every step. */
  readonly everyStep: boolean
  /** One of `0 … count - 1`, or `redundant`. */
  readonly choose: (kind: Kind, count: number, ways: Ways) => number
  /** The program said of a step what it touches. */
  readonly described: () => void
  /** A step has ended, and this is what it touched. */
  readonly stepped: (footprint: Footprint | undefined) => void
}

/** The decisions a run took: for each, what kind it was, how many ways there were, and which one was taken. */
export interface Path {
  readonly kinds: ReadonlyArray<Kind>
  readonly counts: ReadonlyArray<number>
  readonly picks: ReadonlyArray<number>
}

/** Raised when a program does not do again what it did before under the same decisions. */
export class Divergence {
  readonly decision: number
  readonly expected: string
  readonly found: string
  constructor(decision: number, expected: string, found: string) {
    this.decision = decision
    this.expected = expected
    this.found = found
  }
}
