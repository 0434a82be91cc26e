/**
 * Asks something to stop, with everything that runs inside it.
 *
 * 1. All of it knows why before any of it is interrupted. So what an interruption sets off, in a listener or a finalizer,
 *    comes second everywhere, and what it begins is refused.
 * 2. The innermost is interrupted first: an interruption that a combinator passes on has lost its reason.
 * 3. It is a loop. Calls are made inside calls to any depth, and a stack has an end.
 */
import type { Cancellation } from "./cancellation.ts"

export interface Stoppable {
  /** Keeps the first cancellation, and says how it reaches what runs inside. `undefined`: too late, or not the first. */
  readonly note: (cancellation: Cancellation) => Cancellation | undefined
  /** Appends what runs inside, in the order in which it is to be interrupted. */
  readonly addInside: (to: Array<Stoppable>) => void
  /** Delivers what was noted. What is inside has been told, and may have ended this one, too. */
  readonly deliver: (cancellation: Cancellation) => void
}

export const stop = (target: Stoppable, cancellation: Cancellation): void => {
  // Each before what is inside it.
  const noted: Array<readonly [Stoppable, Cancellation]> = []
  const targets = [target]
  const reasons = [cancellation]
  for (let target = targets.pop(); target !== undefined; target = targets.pop()) {
    const reason = target.note(reasons.pop()!)
    if (reason === undefined) continue
    noted.push([target, reason])
    target.addInside(targets)
    while (reasons.length < targets.length) reasons.push(reason)
  }
  for (let index = noted.length - 1; index >= 0; index--) {
    const [target, reason] = noted[index]!
    target.deliver(reason)
  }
}
