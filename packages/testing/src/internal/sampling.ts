/** Choosers that draw runs instead of enumerating them, for programs too large to exhaust. */
import type * as Fiber from "effect/Fiber"
import type { Chooser, Kind, Step, Ways } from "./choices.ts"
import { makeRandom } from "./random.ts"

/**
 * How often a random run preempts where it could. A slice has some ten preemptible operations: much more often, and no
 * fiber ever gets through one; much more rarely, and only whole slices are shuffled.
 */
const preemptionRate = 0.1

/** Every way is equally likely, except that most operations are not preempted. */
export const randomWalk = (seed: number): Chooser => {
  const random = makeRandom(seed)
  return {
    everyStep: false,
    choose: (kind, count) =>
      kind === "preempt" || kind === "tick" ? random() < preemptionRate ? 1 : 0 : Math.floor(random() * count),
    described: () => {},
    stepped: () => {}
  }
}

type Thread = Fiber.Fiber<unknown, unknown> | Step

/**
 * Probabilistic concurrency testing: every fiber and every outside action gets a random priority, the highest always
 * runs, and at `depth - 1` random moments whoever runs falls behind everybody else. A bug that needs `depth` ordering
 * constraints among `n` fibers and `length` moments is met by one run with probability at least `1 / (n * length ^ (depth - 1))`.
 *
 * **Source**: Burckhardt, Kothari, Musuvathi, Nagarakatte: A Randomized Scheduler with Probabilistic Guarantees of
 * Finding Bugs (ASPLOS 2010).
 */
export const probabilistic = (
  seed: number,
  depth: number,
  length: number
): Chooser & { readonly moments: () => number } => {
  const random = makeRandom(seed)
  const changes = new Set(Array.from({ length: depth - 1 }, () => Math.floor(random() * Math.max(1, length))))
  const priorities = new Map<Thread, number>()
  let moment = 0
  let lowest = 0

  const threadOf = (step: Step): Thread => step.resumes ?? step
  const priorityOf = (thread: Thread): number => {
    let priority = priorities.get(thread)
    if (priority === undefined) priorities.set(thread, priority = 1 + random())
    return priority
  }
  const highest = (count: number, ways: Ways): number => {
    let best = 0
    for (let way = 1; way < count; way++) {
      if (priorityOf(threadOf(ways.way(way))) > priorityOf(threadOf(ways.way(best)))) best = way
    }
    return best
  }
  const choose = (kind: Kind, count: number, ways: Ways): number => {
    if (kind === "value" || kind === "tick") return Math.floor(random() * count)
    const changing = changes.has(moment++)
    if (kind === "next") {
      const best = highest(count, ways)
      if (!changing) return best
      priorities.set(threadOf(ways.way(best)), lowest--)
      return highest(count, ways)
    }
    if (!changing) return 0
    priorities.set(ways.running!, lowest--)
    return 1
  }
  return { everyStep: false, choose, described: () => {}, stepped: () => {}, moments: () => moment }
}
