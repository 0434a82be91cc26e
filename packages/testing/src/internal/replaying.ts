/** Takes given ways, in order; beyond them, the first way of everything. */
import { type Chooser, Divergence, type Kind } from "./choices.ts"

/** Refuses to go on where the program does not offer the way that is to be taken. */
export const replaying = (picks: ReadonlyArray<number>): Chooser => {
  let decision = 0
  return {
    everyStep: false,
    choose: (kind: Kind, count) => {
      const pick = picks[decision++] ?? 0
      if (pick < count) return pick
      throw new Divergence(decision - 1, `at least ${pick + 1} ways`, `${kind} of ${count}`)
    },
    described: () => {},
    stepped: () => {}
  }
}

/** Makes do with what the program offers: for trying variations of a run. */
export const approximating = (picks: ReadonlyArray<number>): Chooser => {
  let decision = 0
  return {
    everyStep: false,
    choose: (_kind, count) => Math.min(picks[decision++] ?? 0, count - 1),
    described: () => {},
    stepped: () => {}
  }
}
