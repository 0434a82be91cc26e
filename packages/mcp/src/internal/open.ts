/** What is open at an HTTP server: an exchange, a session, a request without one. */
import type { InFlight } from "./inFlight.ts"

export interface Open {
  readonly inFlight: InFlight
  /** Asks it to end; it has ended when `inFlight` is quiet. */
  readonly end: (cause: unknown) => void
}

/** Takes note of what is open, which then ends with the server. Returns how to let go of it: when it is quiet. */
export type Track = (open: Open) => () => void
