/**
 * The contract of a call as a pure function: what a pipeline does, and when it is cancelled, decides the outcome.
 *
 * Written from the contract and not from the code: it knows nothing of fibers. Time is in milliseconds from the start of
 * the call. Stages take multiples of four, a budget is two more than one, and a cancellation comes at one more, so that no
 * two things happen at once; what happens when they do is explored in `tests/races`.
 */
import type { ToolResult } from "@quiesce/core"
import { Schema } from "effect"

/** Whether a stage ends when it is interrupted, or goes on to its end. */
const yields = Schema.Literals(["yields", "insists"])
const millis = Schema.Literals([0, 4, 8, 12])

export const Pipeline = Schema.Struct({
  /** Half of the pipelines get as far as the body: its races are what the contract is about. */
  straight: Schema.Boolean,
  pre: Schema.Struct({
    takes: millis,
    manner: yields,
    ends: Schema.Literals(["allow", "ask", "deny as a value", "deny as a failure", "throw"])
  }),
  approval: Schema.Struct({
    takes: millis,
    manner: yields,
    ends: Schema.Literals(["allowed", "rejected", "cancelled", "unavailable", "throw"])
  }),
  wrapper: Schema.Struct({
    takes: millis,
    manner: yields,
    then: Schema.Literals(["delegate", "answer", "fail", "fall back"])
  }),
  body: Schema.Struct({
    takes: millis,
    manner: yields,
    ends: Schema.Literals(["succeed", "fail", "die"]),
    budget: Schema.NullOr(Schema.Literals([2, 6]))
  }),
  post: Schema.Struct({ takes: millis, ends: Schema.Literals(["accept", "block", "throw"]) }),
  /** When the caller cancels; `-1` is before the call is made. */
  cancelledAt: Schema.NullOr(Schema.Literals([-1, 1, 5, 9, 13, 17, 21, 25, 29, 33]))
})
export type Pipeline = typeof Pipeline.Type

export interface Prediction {
  readonly code: ToolResult.Code | "Success"
  readonly dispatched: boolean
  /** When the result is there: not before everything is quiet. */
  readonly atMillis: number
  readonly reviewed: boolean
}

interface Decided {
  readonly code: Prediction["code"]
  readonly dispatched: boolean
  readonly atMillis: number
}

const stage = (
  { manner, takes }: { readonly manner: "yields" | "insists"; readonly takes: number },
  from: number,
  cancelledAt: number
) => {
  const until = from + takes
  const cancelled = cancelledAt < until
  return cancelled && manner === "yields"
    ? { endsAt: Math.max(from, cancelledAt), outcome: "interrupted" as const }
    : { endsAt: until, outcome: cancelled ? "late" as const : "in time" as const }
}

/** The pipeline that a generated one stands for. */
export const straighten = (pipeline: Pipeline): Pipeline =>
  pipeline.straight
    ? {
      ...pipeline,
      pre: { ...pipeline.pre, ends: "allow" },
      wrapper: { ...pipeline.wrapper, then: pipeline.wrapper.then === "fall back" ? "fall back" : "delegate" },
      post: { ...pipeline.post, ends: "accept" }
    }
    : pipeline

export const predict = (pipeline: Pipeline): Prediction => {
  const cancelledAt = pipeline.cancelledAt ?? Number.POSITIVE_INFINITY
  // CALL-04: skips every stage, post-policy too.
  if (cancelledAt < 0) return { code: "ABORTED_BEFORE_DISPATCH", dispatched: false, atMillis: 0, reviewed: false }
  const decided = decide(pipeline, cancelledAt)
  // CALL-22: whose fault it was is not asked to review it.
  if (decided.code === "POLICY_FAILURE" || decided.code === "WRAPPER_FAILURE") return { ...decided, reviewed: false }
  // CALL-10: never cut short, and a cancellation meanwhile replaces a success.
  const atMillis = decided.atMillis + pipeline.post.takes
  return {
    dispatched: decided.dispatched,
    atMillis,
    reviewed: true,
    code: review(pipeline, decided, cancelledAt, atMillis)
  }
}

const review = (
  { post }: Pipeline,
  { code, dispatched }: Decided,
  cancelledAt: number,
  atMillis: number
): Prediction["code"] => {
  if (post.ends === "block") return "BLOCKED"
  if (post.ends === "throw") return "POLICY_FAILURE"
  return code === "Success" && cancelledAt < atMillis ? aborted(dispatched) : code
}

const aborted = (dispatched: boolean) => dispatched ? "ABORTED" as const : "ABORTED_BEFORE_DISPATCH" as const

const decide = (pipeline: Pipeline, cancelledAt: number): Decided => {
  const { approval, pre } = pipeline
  const before = (code: Prediction["code"], atMillis: number): Decided => ({ code, dispatched: false, atMillis })

  const asked = stage(pre, 0, cancelledAt)
  if (asked.outcome !== "interrupted") {
    if (pre.ends === "deny as a failure") return before("DENIED", asked.endsAt)
    if (pre.ends === "throw") return before("POLICY_FAILURE", asked.endsAt)
  }
  // CALL-05, CALL-09: a decision that is only a value does not survive.
  if (asked.outcome !== "in time") return before("ABORTED_BEFORE_DISPATCH", asked.endsAt)
  if (pre.ends === "deny as a value") return before("DENIED", asked.endsAt)
  if (pre.ends === "allow") return around(pipeline, asked.endsAt, cancelledAt)

  const answered = stage(approval, asked.endsAt, cancelledAt)
  if (answered.outcome !== "interrupted" && approval.ends === "throw") return before("DENIED", answered.endsAt)
  if (answered.outcome !== "in time") return before("ABORTED_BEFORE_DISPATCH", answered.endsAt)
  switch (approval.ends) {
    case "rejected":
    case "unavailable":
      return before("DENIED", answered.endsAt)
    case "cancelled":
      return before("ABORTED_BEFORE_DISPATCH", answered.endsAt)
    default:
      return around(pipeline, answered.endsAt, cancelledAt)
  }
}

/** A wrapper that waits, and then delegates, or answers, or fails; one that falls back recovers from a failed body. */
const around = (pipeline: Pipeline, from: number, cancelledAt: number): Decided => {
  const { wrapper } = pipeline
  const waited = stage(wrapper, from, cancelledAt)
  if (waited.outcome !== "interrupted" && wrapper.then === "fail") {
    return { code: "WRAPPER_FAILURE", dispatched: false, atMillis: waited.endsAt }
  }
  if (waited.outcome !== "in time") {
    return { code: "ABORTED_BEFORE_DISPATCH", dispatched: false, atMillis: waited.endsAt }
  }
  if (wrapper.then === "answer") return { code: "Success", dispatched: false, atMillis: waited.endsAt }
  const ended = run(pipeline, waited.endsAt, cancelledAt)
  // Its handler runs unless the cancellation has come: then the failure it would have seen stays.
  return wrapper.then === "fall back" && ended.code !== "Success" && cancelledAt > ended.atMillis
    ? { ...ended, code: "Success" }
    : ended
}

const run = ({ body }: Pipeline, from: number, cancelledAt: number): Decided => {
  const endsAt = from + body.takes
  const deadline = body.budget === null ? Number.POSITIVE_INFINITY : from + body.budget
  const firstAt = Math.min(deadline, cancelledAt)
  const failed = body.ends !== "succeed"
  if (firstAt > endsAt) return { code: failed ? "TOOL_FAILURE" : "Success", dispatched: true, atMillis: endsAt }
  const atMillis = body.manner === "yields" ? firstAt : endsAt
  // TIME-02, TIME-03: the deadline decides when it came first, however the body then ends.
  if (deadline < cancelledAt) return { code: "TOOL_TIMEOUT", dispatched: true, atMillis }
  return { code: failed && body.manner === "insists" ? "TOOL_FAILURE" : "ABORTED", dispatched: true, atMillis }
}
