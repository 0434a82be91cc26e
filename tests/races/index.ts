/** Every race of the repository: one file per subject. */
import { effect } from "./effect.ts"
import type { Subject } from "./Race.ts"

export const subjects: ReadonlyArray<Subject> = [effect]
