/**
 * The errors of a session.
 */
import * as Data from "effect/Data"

/** The session was disposed: what was to be done was not begun. */
export class SessionDisposed extends Data.TaggedError("SessionDisposed")<{ readonly text: string }> {
  override get message(): string {
    return "the session was disposed before this input had its turn"
  }
}

/** The model went on and on. */
export class TooManySteps extends Data.TaggedError("TooManySteps")<{ readonly steps: number }> {
  override get message(): string {
    return `the turn did not end in ${this.steps} steps`
  }
}
