/**
 * Every interleaving, depth first: each run repeats the decisions of the one before up to the last that still has an
 * untried way, takes that, and goes on with the first way of everything after.
 *
 * With a reduction, sleep sets skip what would only repeat: once the runs in which `a` comes first have been explored, a
 * run in which `b` comes first need not take `a` until something happened that `a` conflicts with, because swapping
 * independent neighbours leads back to a run already seen. The extent of a step may itself hold decisions (a preemption
 * inside it), so what `a` touches is the union over all of its explored variants.
 *
 * **Source**: Godefroid, Partial-Order Methods for the Verification of Concurrent Systems (1996), chapter 5. Preemptions
 * are decisions inside steps, so swapping steps does not change how many there are, and the bound stays exact.
 */
import type { Reduction } from "../Strategy.ts"
import { type Chooser, Divergence, type Kind, redundant, type Ways } from "./choices.ts"
import { type Footprint, independent, union } from "./footprint.ts"

interface Node {
  readonly kind: Kind
  readonly count: number
  pick: number
  /** For a `next` decision under a reduction: the steps behind the ways, which sleep, and what those taken touched. */
  readonly steps: ReadonlyArray<number>
  readonly asleep: ReadonlyMap<number, Footprint>
  readonly touched: Map<number, Footprint | undefined>
}

const nobody: ReadonlyMap<number, Footprint> = new Map()

export class DepthFirst implements Chooser {
  /** Whether steps are noted. It may be turned on at any time: what was not noted before is not skipped. */
  everyStep: boolean
  private readonly reduction: Reduction
  private readonly nodes: Array<Node> = []
  private depth = 0
  private asleep = nobody
  private deciding: Node | undefined
  private taken = -1
  private started = false

  constructor(reduction: Reduction) {
    this.reduction = reduction
    this.everyStep = reduction === "declared"
  }

  /** Until an action is described, noting steps would cost a third of the speed and save nothing. */
  described(): void {
    if (this.reduction === "actions") this.everyStep = true
  }

  /** Sets out for the next run. `false` when there is none. */
  advance(): boolean {
    const nodes = this.nodes
    if (this.started) {
      // What lies beyond the point a run was given up at belongs to no run.
      nodes.length = this.depth
      for (let node = nodes.at(-1); node !== undefined; node = nodes.at(-1)) {
        const pick = this.nextWay(node, node.pick + 1)
        if (pick !== redundant) {
          node.pick = pick
          break
        }
        nodes.pop()
      }
      if (nodes.length === 0) return false
    }
    this.started = true
    this.depth = 0
    this.asleep = nobody
    this.deciding = undefined
    return true
  }

  choose(kind: Kind, count: number, ways: Ways): number {
    if (this.everyStep && kind === "next") return this.chooseStep(count, ways)
    const node = this.nodes[this.depth]
    if (node === undefined) {
      this.nodes.push({ kind, count, pick: 0, steps: [], asleep: nobody, touched: new Map() })
      this.depth++
      return 0
    }
    return this.again(node, kind, count)
  }

  stepped(footprint: Footprint | undefined): void {
    if (!this.everyStep) return
    const node = this.deciding
    const before = this.asleep
    this.deciding = undefined
    if (node !== undefined) {
      node.touched.set(
        node.pick,
        node.touched.has(node.pick) ? union(node.touched.get(node.pick), footprint) : footprint
      )
    }
    this.asleep = nobody
    if (footprint === undefined) return
    const asleep = new Map<number, Footprint>()
    for (const [step, touched] of before) {
      if (step !== this.taken && independent(touched, footprint)) asleep.set(step, touched)
    }
    for (let way = 0; node !== undefined && way < node.pick; way++) {
      const touched = node.touched.get(way)
      if (touched !== undefined && independent(touched, footprint)) asleep.set(node.steps[way]!, touched)
    }
    this.asleep = asleep
  }

  private chooseStep(count: number, ways: Ways): number {
    let node: Node | undefined
    let pick = 0
    if (count === 1) {
      if (this.asleep.has(ways.way(0).seq)) return redundant
    } else {
      node = this.nodes[this.depth]
      if (node === undefined) {
        const steps = Array.from({ length: count }, (_, way) => ways.way(way).seq)
        node = { kind: "next", count, pick: 0, steps, asleep: this.asleep, touched: new Map() }
        pick = node.pick = this.nextWay(node, 0)
        if (pick === redundant) return redundant
        this.nodes.push(node)
        this.depth++
      } else pick = this.again(node, "next", count)
    }
    this.deciding = node
    this.taken = ways.way(pick).seq
    return pick
  }

  private again(node: Node, kind: Kind, count: number): number {
    if (node.kind !== kind || node.count !== count) {
      throw new Divergence(this.depth, `${node.kind} of ${node.count}`, `${kind} of ${count}`)
    }
    this.depth++
    return node.pick
  }

  private nextWay(node: Node, from: number): number {
    let way = from
    while (way < node.count && node.asleep.has(node.steps[way]!)) way++
    return way < node.count ? way : redundant
  }
}
