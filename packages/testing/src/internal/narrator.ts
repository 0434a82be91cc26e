/**
 * Tells a run in words. Exploration is fast because it keeps picks only; the few interleavings that are shown are run
 * once more with a narrator, which follows every operation to know which fiber is whose child.
 *
 * A fiber is called by its path: `f0` is the program, `f0.1` the second fiber `f0` forked. Paths are the same in every
 * run, whatever else the process has forked before; the fibers' own ids are not.
 */
import type * as Fiber from "effect/Fiber"
import * as Tracer from "effect/Tracer"
import { FiberName } from "../Edge.ts"
import type { Step } from "./choices.ts"
import type { Machine } from "./machine.ts"

type AnyFiber = Fiber.Fiber<unknown, unknown>

interface Life {
  readonly parent: AnyFiber | undefined
  /** When it was forked, in the numbering of steps; of two equal ones, the order in which they were seen. */
  readonly born: number
  readonly seen: number
  /** The name it was born with is its parent's; one it took later is its own. */
  readonly inherited: string | undefined
  name: string | undefined
}

interface Entry {
  readonly step: Step | undefined
  readonly sharesTick: boolean
  fiber: AnyFiber | undefined
  readonly preempted: Set<AnyFiber>
  readonly chosen: Array<string>
}

export class Narrator {
  private readonly entries: Array<Entry> = []
  private readonly lives = new Map<AnyFiber, Life>()
  /** The fibers whose operations are being evaluated, innermost last. */
  private readonly stack: Array<AnyFiber> = []
  private machine: Machine | undefined

  attend(machine: Machine): void {
    this.machine = machine
  }

  /** A tracer that follows every operation, and otherwise does what `outer` does. */
  tracer(outer: Tracer.Tracer | undefined): Tracer.Tracer {
    return Tracer.make({
      span: (options) => outer === undefined ? new Tracer.NativeSpan(options) : outer.span(options),
      context: (primitive, fiber) => {
        this.see(fiber)
        this.stack.push(fiber)
        try {
          return outer?.context === undefined
            ? primitive["~effect/Effect/evaluate"](fiber)
            : outer.context(primitive, fiber)
        } finally {
          this.stack.pop()
        }
      }
    })
  }

  enter(step: Step | undefined, sharesTick: boolean): void {
    this.entries.push({ step, sharesTick, fiber: undefined, preempted: new Set(), chosen: [] })
  }

  preempted(fiber: AnyFiber): void {
    this.see(fiber)
    this.entries.at(-1)?.preempted.add(fiber)
  }

  chose(label: string, value: unknown): void {
    this.entries.at(-1)?.chosen.push(`${label}: ${String(value)}`)
  }

  /** The run so far, a word or two for each step; steps of one fiber in a row are one. */
  words(): ReadonlyArray<string> {
    const words: Array<string> = []
    for (const entry of this.entries) {
      const { step } = entry
      const isFiber = step === undefined || step.from === "fiber"
      let word = isFiber
        ? entry.fiber === undefined ? undefined : this.nameOf(entry.fiber)
        : step.label
      if (word === undefined) continue
      for (const fiber of entry.preempted) {
        word += isFiber && fiber === entry.fiber ? " (preempted)" : ` (${this.nameOf(fiber)} preempted)`
      }
      for (const chosen of entry.chosen) word += ` (${chosen})`
      if (entry.sharesTick) words.push(`${words.pop()} + ${word}`)
      else if (words.at(-1) !== word) words.push(word)
    }
    return words
  }

  private see(fiber: AnyFiber): void {
    const entry = this.entries.at(-1)
    if (entry !== undefined) entry.fiber ??= fiber
    const life = this.lives.get(fiber)
    const name = fiber.getRef(FiberName)
    if (life !== undefined) {
      if (name !== life.inherited) life.name = name
      return
    }
    // Seen first inside an operation of another fiber, it was forked by that one and started at once; seen first as
    // a step of its own, it was forked by whoever scheduled that step, when it was scheduled.
    const inside = this.stack.at(-1)
    const scheduled = inside === undefined && entry?.step?.from === "fiber" ? entry.step : undefined
    this.lives.set(fiber, {
      parent: inside ?? scheduled?.owner,
      born: scheduled?.seq ?? this.machine!.seq - 0.5,
      seen: this.lives.size,
      inherited: name,
      name: undefined
    })
  }

  private nameOf(fiber: AnyFiber): string {
    const life = this.lives.get(fiber)!
    if (life.name !== undefined) return life.name
    let index = 0
    for (const [other, { parent, born, seen }] of this.lives) {
      if (other === fiber || parent !== life.parent) continue
      if (born < life.born || (born === life.born && seen < life.seen)) index++
    }
    return life.parent === undefined ? `f${index}` : `${this.nameOf(life.parent)}.${index}`
  }
}
