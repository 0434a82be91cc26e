/**
 * What can go wrong between two peers, and why a request was cancelled.
 */
import * as Data from "effect/Data"

/** The peer answered with an error. `code` −32800 says that the request was cancelled, by whomever. */
export class RequestFailed extends Data.TaggedError("RequestFailed")<{
  readonly method: string
  readonly code: number
  readonly reason: string
  readonly data: unknown
}> {
  override get message(): string {
    return `${this.method} failed: ${this.reason} (${this.code})`
  }
}

/** Whether the peer says that it, or we, cancelled the request. */
export const isCancelled = (error: RequestFailed): boolean => error.code === -32800

/**
 * Nobody will answer. `closed`: the connection is, and a request that was on its way may have been carried out.
 * `answered`: the request inside which this was to be sent has its answer, so that nothing may follow.
 */
export class PeerGone extends Data.TaggedError("PeerGone")<{
  readonly method: string
  readonly reason: "closed" | "answered"
}> {
  override get message(): string {
    return this.reason === "closed"
      ? `${this.method}: the connection is closed`
      : `${this.method}: the request it belongs to is answered already`
  }
}

/**
 * Notifications came faster than their listeners took them, and in the end no listener went on: `waiting` of them were kept,
 * in about so many bytes, when the connection was given up.
 */
export class NotHeard extends Data.TaggedError("NotHeard")<{
  readonly waiting: number
  readonly bytes: number
}> {
  override get message(): string {
    return `${this.waiting} notifications (${this.bytes} bytes) wait for listeners that do not go on`
  }
}

/** The SDK gave its connection up by itself, and no handler is found any more. */
export class RouterFailed extends Data.TaggedError("RouterFailed")<{ readonly cause: unknown }> {
  override get message(): string {
    return `the connection of the SDK has ended: ${
      this.cause instanceof Error ? this.cause.message : String(this.cause)
    }`
  }
}

/**
 * Why a request was cancelled: the `signal.reason` of promise code, and the `cause` of the `CancelReason` that tools see.
 */
export class RequestCancelled extends Error {
  override readonly name = "AbortError"
  readonly by: "$/cancel_request" | "session/cancel" | "end of input" | "close" | "limit"

  constructor(by: RequestCancelled["by"]) {
    super(`the request was cancelled: ${by}`)
    this.by = by
  }
}
