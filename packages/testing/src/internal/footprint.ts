/** What a step touches, observed while it runs. */
import type * as Fiber from "effect/Fiber"

/**
 * What a step reads and writes, as far as it matters to other steps. `undefined` is the footprint of a step nobody
 * described: it conflicts with every other one, which is always sound.
 */
export interface Footprint {
  readonly reads: Set<unknown>
  readonly writes: Set<unknown>
}

const disjoint = (a: ReadonlySet<unknown>, b: ReadonlySet<unknown>): boolean => {
  for (const item of a) if (b.has(item)) return false
  return true
}

/** Whether two steps may be swapped without anybody noticing. */
export const independent = (a: Footprint | undefined, b: Footprint | undefined): boolean =>
  a !== undefined && b !== undefined
  && disjoint(a.writes, b.writes) && disjoint(a.writes, b.reads) && disjoint(a.reads, b.writes)

/** What is touched by either. */
export const union = (a: Footprint | undefined, b: Footprint | undefined): Footprint | undefined =>
  a === undefined || b === undefined
    ? undefined
    : { reads: new Set([...a.reads, ...b.reads]), writes: new Set([...a.writes, ...b.writes]) }

/** Writes down what the steps of one run touch. */
export class Tracks {
  /** Of the current step, so far. */
  footprint: Footprint | undefined
  private readonly declared: boolean
  private readonly ordinals = new Map<Fiber.Fiber<unknown, unknown>, number>()

  /** `declared`: steps begin with an empty footprint, because the program declares what it touches. */
  constructor(declared: boolean) {
    this.declared = declared
  }

  begin(touches: Footprint | undefined): void {
    if (touches !== undefined) {
      this.footprint = { reads: new Set(touches.reads), writes: new Set(touches.writes) }
    } else this.footprint = this.declared ? { reads: new Set(), writes: new Set() } : undefined
  }

  /** What the step touches can no longer be told. */
  forget(): void {
    this.footprint = undefined
  }

  reads(what: unknown): void {
    this.footprint?.reads.add(what)
  }

  writes(what: unknown): void {
    this.footprint?.writes.add(what)
  }

  /**
   * Whoever runs, interrupts or resumes a fiber conflicts with that fiber's own steps. A fiber is told by the order in
   * which fibers were first seen, which is the same in every run with the same decisions.
   */
  runs(fiber: Fiber.Fiber<unknown, unknown>): void {
    if (this.footprint === undefined) return
    let ordinal = this.ordinals.get(fiber)
    if (ordinal === undefined) this.ordinals.set(fiber, ordinal = this.ordinals.size)
    this.footprint.writes.add(ordinal)
  }
}
