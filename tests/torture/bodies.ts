/** Bodies that nobody in their own thread could stop. They are loaded by the isolates as they are. */
import { execFileSync } from "node:child_process"

interface Context {
  readonly progress: (progress: { readonly progress: number }) => void
}

/** Loops for ever. */
export const loop = (_: unknown, { progress }: Context) => {
  progress({ progress: 0 })
  for (;;) { /* for ever */ }
}

/** Blocks its thread in a native call. */
export const block = (seconds: string, { progress }: Context) => {
  progress({ progress: 0 })
  execFileSync("sleep", [seconds])
}
