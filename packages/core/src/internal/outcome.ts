/**
 * What decided a call, and how that becomes its result. Pure: every rule of precedence is here.
 *
 * Cancellation replaces success and nothing else. So an exit is read for failures first, those that were dropped unhandled
 * included, and only one that has none is the cancellation's.
 */
import * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"
import type * as Approval from "../Approval.ts"
import type { CancelReason } from "../CancelReason.ts"
import { DeadlineExceeded } from "../Deadline.ts"
import type { Json } from "../Json.ts"
import type * as Policy from "../Policy.ts"
import { allow, ask, Denied } from "../Policy.ts"
import type * as ToolResult from "../ToolResult.ts"
import type { Call } from "./call.ts"
import * as Cancellation from "./cancellation.ts"
import { failures } from "./failure.ts"
import { formatPath, NotJson, snapshot } from "./json.ts"
import { type Issue, issuesOf } from "./shape.ts"
import { describe, isA, isAbort } from "./thrown.ts"

export type Outcome = Succeeded | Failed

export interface Succeeded {
  readonly _tag: "Success"
  /** As JSON, frozen. */
  readonly value: Json
  readonly content: ReadonlyArray<ToolResult.Content>
}

export interface Failed {
  readonly _tag: "Failure"
  readonly code: ToolResult.Code
  readonly name: string
  readonly message: string
  readonly detail?: Json | undefined
  /** Default: the message. */
  readonly content?: ReadonlyArray<ToolResult.Content> | undefined
}

const failed = (code: ToolResult.Code, name: string, message: string, detail?: Json): Failed => {
  const carried = detail === undefined ? undefined : carry(detail)
  return carried === undefined
    ? { _tag: "Failure", code, name, message }
    : { _tag: "Failure", code, name, message, detail: carried }
}

/** A detail that is no JSON, or too deep or too large as a whole, is left out: no failure may be lost over its detail. */
const carry = (detail: Json): Json | undefined => {
  try {
    return snapshot(detail)
  } catch {
    return undefined
  }
}

const threw = (code: ToolResult.Code, thrown: unknown): Failed => {
  const { detail, message, name } = describe(thrown)
  return failed(code, name, message, detail)
}

export const aborted = (call: Call, cause?: Cause.Cause<unknown>): Failed => {
  const cancellation = call.cancellation ?? (cause && Cancellation.fromCause(cause)) ?? Cancellation.interrupted()
  return abortedBy(call, cancellation.reason._tag)
}

const abortedBy = (call: Call, reason: CancelReason["_tag"]): Failed => {
  const detail = { reason }
  return call.dispatched
    ? failed("ABORTED", "AbortError", "tool call aborted", detail)
    : failed("ABORTED_BEFORE_DISPATCH", "AbortError", "tool call aborted before dispatch", detail)
}

/** `reason` is foreign: a policy or a channel in JavaScript may give anything. */
const denied = (reason: unknown): Failed => failed("DENIED", "Denied", describe(reason).message)

export const blocked = (feedback: string): Failed => failed("BLOCKED", "Blocked", feedback)

export const unknownTool = (name: string): Failed =>
  failed("UNKNOWN_TOOL", "UnknownTool", `there is no tool named ${JSON.stringify(name)}`)

const invalidArguments = (issues: ReadonlyArray<Issue>): Failed =>
  failed("INVALID_ARGUMENTS", "InvalidArguments", `invalid arguments: ${list(issues)}`, issueDetail(issues))

export const notJson = (thrown: unknown): Failed =>
  isA(thrown, NotJson)
    ? invalidArguments([{ path: thrown.path, message: thrown.problem }])
    : invalidArguments([{ path: [], message: describe(thrown).message }])

export const invalidOutput = (issues: ReadonlyArray<Issue>): Failed =>
  failed("INVALID_OUTPUT", "InvalidOutput", `invalid output: ${list(issues)}`, issueDetail(issues))

export const policyFailed = (thrown: unknown): Failed => threw("POLICY_FAILURE", thrown)

export const wrapperFailed = (thrown: unknown): Failed => threw("WRAPPER_FAILURE", thrown)

/** The failure of a body whose tool has no failure schema: its fields are its detail. */
export const toolFailed = (thrown: unknown): Failed => threw("TOOL_FAILURE", thrown)

/**
 * The failure of a body whose tool has one. What the schema wrote is the detail, and where it wrote nothing there is none:
 * a schema says what may be published of a failure.
 */
export const toolFailedAs = (thrown: unknown, written: Json | undefined): Failed => {
  const { message, name } = describe(thrown)
  return failed("TOOL_FAILURE", name, message, written)
}

export const timedOut = ({ cause, code, timeout }: {
  readonly code: string
  readonly timeout: Duration.Duration
  readonly cause?: unknown
}): Failed =>
  failed(
    "TOOL_TIMEOUT",
    "TimeoutError",
    `tool call timed out after ${Duration.format(timeout)}`,
    {
      code,
      timeoutMillis: Duration.toMillis(timeout),
      ...(cause === undefined ? {} : { cause: `${describe(cause).name}: ${describe(cause).message}` })
    }
  )

/** The deadline of a wrapper. One that somebody made by hand may hold anything: then it is an error like any other. */
const ofDeadline = (exceeded: DeadlineExceeded): Failed => {
  try {
    return timedOut(exceeded)
  } catch {
    return wrapperFailed(exceeded)
  }
}

/** A pre-policy that did not decide. */
export const ofPolicy = (call: Call, cause: Cause.Cause<unknown>): Failed => {
  const thrown = ownFailures(call, cause)
  if (thrown.length === 0) return aborted(call, cause)
  const first = thrown[0]
  return isA(first, Denied) ? denied(first.reason) : policyFailed(first)
}

/** What a pre-policy decided; whatever else it is, is the policy's fault, also where looking at it throws. */
export const ofDecision = (decision: Policy.Decision): Policy.Allow | Policy.Ask | Failed => {
  try {
    const tag = decision._tag
    if (tag === "Allow") return allow
    if (tag === "Ask") return ask((decision as Policy.Ask).reason)
    if (tag === "Denied") return denied((decision as Denied).reason)
  } catch (thrown) {
    return policyFailed(thrown)
  }
  return policyFailed(new TypeError("pre-policy returned something that is no decision"))
}

/** Arguments that the tool's schema did not take. */
export const ofDecoding = (call: Call, cause: Cause.Cause<unknown>): Failed =>
  ownFailures(call, cause).length === 0 ? aborted(call, cause) : invalidArguments(issuesOf(cause))

/** An approval channel that did not answer: nobody allowed it. */
export const ofApproval = (call: Call, cause: Cause.Cause<unknown>): Failed => {
  const thrown = ownFailures(call, cause)
  return thrown.length === 0
    ? aborted(call, cause)
    : denied(`the approval channel failed: ${describe(thrown[0]).message}`)
}

/** An answer that is not a permission; `undefined` for one that is. */
export const ofAnswer = (call: Call, answer: Approval.Outcome): Failed | undefined => {
  try {
    switch (answer._tag) {
      case "AllowedOnce":
        return undefined
      case "Rejected":
        return denied(answer.reason ?? "the approval was refused")
      case "Cancelled":
        return aborted(call, byWhoeverWasAsked)
      case "Unavailable":
        return denied("approval is needed, and nobody can be asked")
    }
  } catch {
    // Looking at it throws: that is no outcome, either.
  }
  return denied("the approval channel failed: it answered with something that is no outcome")
}

const byWhoeverWasAsked: Cause.Cause<never> = Cause.annotate(
  Cause.interrupt(),
  Cancellation.byCaller(Cancellation.abortError("whoever was asked cancelled the call")).annotations
)

/** A post-policy that did not review: what it was to withhold is withheld, unless it chose to be interrupted. */
export const ofReview = (call: Call, outcome: Outcome, cause: Cause.Cause<unknown>): Outcome => {
  const thrown = ownFailures(call, cause)
  if (thrown.length > 0) return policyFailed(thrown[0])
  return call.cancellation === undefined
    ? policyFailed(new Error("post-policy interrupted itself"))
    : outcome
}

/** Wrappers, journal and body that did not yield a value. */
export const ofDispatch = (call: Call, cause: Cause.Cause<unknown>): Failed => {
  const thrown = ownFailures(call, cause)
  if (thrown.length === 0) {
    // Interrupted, by nobody who owns the call, and not by the body itself: it was a wrapper, by whatever means.
    const byWrapper = call.cancellation === undefined && call.registry.services.wrappers.length > 0 && !hasQuit(call)
    return byWrapper ? abortedBy(call, "Wrapper") : aborted(call, cause)
  }
  const first = thrown[0]
  if (call.hasMade(first)) return ofResult(first.result)
  return isA(first, DeadlineExceeded) ? ofDeadline(first) : wrapperFailed(first)
}

/** What a cancellation that has come by now leaves of the outcome: it replaces a success, and nothing else. */
export const unlessCancelled = (call: Call, outcome: Outcome): Outcome =>
  outcome._tag === "Success" && call.cancellation !== undefined ? aborted(call) : outcome

/** Whether post-policy has no say any more: it has blocked, or a policy's or a wrapper's own fault decided. */
export const isFinal = (outcome: Outcome): boolean =>
  outcome._tag === "Failure" &&
  (outcome.code === "POLICY_FAILURE" || outcome.code === "WRAPPER_FAILURE" || outcome.code === "BLOCKED")

/** Whether the body interrupted itself. */
const hasQuit = ({ body }: Call): boolean =>
  body?.exit?._tag === "Failure" && body.cancellation === undefined && Cause.hasInterruptsOnly(body.exit.cause)

const ofResult = ({ error }: ToolResult.Failure): Failed => ({ _tag: "Failure", ...error })

/** What a stage failed with, less the abort itself where it is one: a policy may fail with its signal's reason, too. */
const ownFailures = (call: Call, cause: Cause.Cause<unknown>): ReadonlyArray<unknown> => {
  const { cancellation } = call
  const found = failures(cause)
  return cancellation === undefined ? found : found.filter((thrown) => !isAbort(thrown, cancellation.abortReason))
}

const list = (issues: ReadonlyArray<Issue>): string =>
  issues.map(({ message, path }) => `${formatPath(path)}: ${message}`).join("; ")

const issueDetail = (issues: ReadonlyArray<Issue>): Json => ({
  issues: issues.map(({ message, path }) => ({ path, message }))
})

/** The result as it stands: frozen, with everything that was deferred so far. */
export const toResult = (call: Call, outcome: Outcome, contexts: ReadonlyArray<Json>): ToolResult.ToolResult => {
  const { callId, name } = call.pending
  const { dispatched } = call
  const residue = call.residue.length === 0 ? none : Object.freeze([...call.residue])
  if (outcome._tag === "Success") {
    return Object.freeze({
      _tag: "Success",
      callId,
      name,
      dispatched,
      value: outcome.value,
      content: outcome.content,
      contexts,
      residue,
      concludesTurn: call.concludesTurn
    })
  }
  return toFailure(call, outcome, contexts, residue)
}

export const toFailure = (
  call: Call,
  { code, content, detail, message, name }: Failed,
  contexts: ReadonlyArray<Json>,
  residue: ReadonlyArray<ToolResult.Residue> = none
): ToolResult.Failure =>
  Object.freeze({
    _tag: "Failure",
    callId: call.pending.callId,
    name: call.pending.name,
    dispatched: call.dispatched,
    error: Object.freeze(detail === undefined ? { code, name, message } : { code, name, message, detail }),
    content: content ?? text(`Error: ${message}`),
    contexts,
    residue
  })

/** A frozen copy of what a tool or a policy gives as content. Throws for anything else. */
export const checkContent = (content: unknown): ReadonlyArray<ToolResult.Content> => {
  if (!Array.isArray(content)) throw new TypeError("content must be an array")
  return Object.freeze(Array.from(content, (part: Partial<ToolResult.Content> | undefined) => {
    // Read once: a getter cannot show one text to the check and another to the copy.
    const { text, type } = part ?? {}
    if (type !== "text" || typeof text !== "string") throw new TypeError("content must be parts of text")
    return Object.freeze({ type, text })
  }))
}

export const none: ReadonlyArray<never> = Object.freeze([])

export const text = (text: string): ReadonlyArray<ToolResult.Content> =>
  Object.freeze([Object.freeze({ type: "text" as const, text })])
