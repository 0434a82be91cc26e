/**
 * The error of a deadline, and the expiry of one piece of work under it.
 */
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import * as Equal from "effect/Equal"
import * as Cancellation from "./cancellation.ts"
import { type Expiry, failures } from "./work.ts"

/**
 * The deadline fired first, and the work is quiet. `cause` is what the work failed with after that, if it did. Whether
 * the work changed the world before it stopped is not known.
 */
export class DeadlineExceeded extends Data.TaggedError("DeadlineExceeded")<{
  readonly code: string
  readonly timeout: Duration.Duration
  readonly cause?: unknown
}> {
  override get message(): string {
    return `the deadline of ${Duration.format(this.timeout)} was exceeded (${this.code})`
  }
}

/** Its identity is new each time: deadlines are told apart by it, not by their code. */
export const expiry = <E>(
  timeout: Duration.Duration,
  code: string,
  fail: (exceeded: DeadlineExceeded) => E
): Expiry<E> => {
  let first: DeadlineExceeded | undefined
  // By reference: effect compares the failures of a cause by their fields, and the cause can be anything.
  const make = (cause?: unknown) =>
    Equal.byReferenceUnsafe(
      new DeadlineExceeded(cause === undefined ? { code, timeout } : { code, timeout, cause })
    )
  return {
    timeout,
    cancellation: new Cancellation.Cancellation(
      { _tag: "Deadline", deadline: Symbol(code) },
      () => first ??= make()
    ),
    error: (late) => fail(late === undefined ? first ??= make() : make(failures(late)[0]))
  }
}
