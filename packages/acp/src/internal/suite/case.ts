/** A case: what an agent must do. */
import * as Effect from "effect/Effect"
import type { Link } from "./link.ts"

export interface Case {
  /** Its place. */
  readonly number: number
  /** A word to find it by. */
  readonly name: string
  /** What must hold, as a sentence. */
  readonly title: string
  readonly run: (link: Link) => Promise<void>
}

export const sleep = (millis: number): Promise<void> => Effect.runPromise(Effect.sleep(millis))
