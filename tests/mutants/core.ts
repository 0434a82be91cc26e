/** The mutants of `packages/core`. */
import type { Mutant } from "./Mutant.ts"

export const core: ReadonlyArray<Mutant> = []
