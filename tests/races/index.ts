/** Every race of the repository: one file per subject. */
import { core } from "./core.ts"
import { effect } from "./effect.ts"
import type { Subject } from "./Race.ts"

export const subjects: ReadonlyArray<Subject> = [core, effect]
