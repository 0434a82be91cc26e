/** The floors a promise can stand on, from nothing to the full duties. */
import type { Host } from "../Host.ts"
import { bare, listener } from "./promises.ts"
import { reference } from "./reference.ts"

export const floors: ReadonlyArray<Host> = [bare, listener, reference]
