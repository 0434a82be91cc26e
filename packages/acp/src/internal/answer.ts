/**
 * How what became of a handler is said to the peer.
 *
 * A cancelled request is answered like a cancelled request, whatever it then failed with: the rest is known here only.
 * Who cancelled it makes no difference: the peer, a deadline, a limit, or our own end.
 */
import { RequestError, type Result } from "@agentclientprotocol/sdk"
import { DeadlineExceeded } from "@quiesce/core/Deadline"
import * as ToolResult from "@quiesce/core/ToolResult"
import * as Cause from "effect/Cause"
import type * as Exit from "effect/Exit"
import { RequestFailed } from "../AcpError.ts"
import { code, failure } from "./message.ts"

/** Methods that have a result of their own for having been cancelled. */
const markers: { readonly [method: string]: unknown } = {
  "session/prompt": { stopReason: "cancelled" },
  "session/request_permission": { outcome: { outcome: "cancelled" } },
  "elicitation/create": { action: "cancel" }
}

/** The answer to a request that was cancelled. */
export const cancelled = (method: string, data?: unknown): Result<unknown> =>
  Object.hasOwn(markers, method)
    ? { result: markers[method] }
    : failure(code.requestCancelled, "Request cancelled", data)

/** The answer to a request whose handler came to `exit`. */
export const answerOf = (
  method: string,
  exit: Exit.Exit<unknown, unknown>,
  isCancelled: boolean
): Result<unknown> => {
  if (exit._tag === "Success") return { result: exit.value ?? null }
  if (isCancelled || Cause.hasInterruptsOnly(exit.cause)) return cancelled(method)
  try {
    const error = thrown(exit.cause)
    if (isInternalCancellation(error)) return cancelled(method, { details: messageOf(error) })
    return failed(error)
  } catch {
    // What is thrown may throw when it is looked at. Its request is answered all the same.
    return failure(code.internalError, "Internal error", { details: untold })
  }
}

/** The error of a cause: of a promise function, what it rejected with. */
const thrown = (cause: Cause.Cause<unknown>): unknown => {
  const error = Cause.squash(cause)
  return Cause.isUnknownError(error) ? error.cause : error
}

const isInternalCancellation = (error: unknown): boolean => {
  if (error instanceof ToolResult.ToolCallFailed) return aborting.has(error.code)
  if (error instanceof DeadlineExceeded || Cause.isTimeoutError(error)) return true
  if (error instanceof RequestError) return error.code === code.requestCancelled
  const name = typeof error === "object" && error !== null && "name" in error ? error.name : undefined
  return name === "AbortError" || name === "TimeoutError"
}

const aborting: ReadonlySet<ToolResult.Code> = new Set(["ABORTED", "ABORTED_BEFORE_DISPATCH", "TOOL_TIMEOUT"])

const failed = (error: unknown): Result<never> => {
  if (error instanceof RequestError) return failure(error.code, error.message, error.data)
  if (error instanceof ToolResult.ToolCallFailed) {
    const { dispatched, result: { error: { code: toolCode, message } } } = error
    return toolCode === "INVALID_ARGUMENTS"
      ? failure(code.invalidParams, "Invalid params", { details: message })
      : failure(code.internalError, "Internal error", { details: message, code: toolCode, dispatched })
  }
  if (error instanceof RequestFailed) {
    return failure(code.internalError, "Internal error", { details: error.message, code: error.code })
  }
  return failure(code.internalError, "Internal error", { details: messageOf(error) })
}

const untold = "an error that cannot be told"

/** Of anything that can be thrown: a message, at any price. */
export const messageOf = (error: unknown): string => {
  try {
    return error instanceof Error ? error.message : String(error)
  } catch {
    return untold
  }
}
