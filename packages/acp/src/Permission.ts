/**
 * Permission by the user of the client: the approval channel of a session, over `session/request_permission`.
 *
 * Whoever cannot be asked has not allowed it. A question whose call is cancelled is closed here at once, and the client is
 * told; what it answers then is dropped.
 */
import type * as Sdk from "@agentclientprotocol/sdk"
import * as SessionLog from "@quiesce/agent/SessionLog"
import * as Approval from "@quiesce/core/Approval"
import * as Policy from "@quiesce/core/Policy"
import type * as ToolCall from "@quiesce/core/ToolCall"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as AcpError from "./AcpError.ts"
import * as AcpSession from "./AcpSession.ts"
import { isRecord } from "./internal/message.ts"
import * as Updates from "./Updates.ts"

const options: ReadonlyArray<Sdk.PermissionOption> = [
  { optionId: "allow_once", kind: "allow_once", name: "Allow" },
  { optionId: "allow_always", kind: "allow_always", name: "Always allow" },
  { optionId: "reject_once", kind: "reject_once", name: "Reject" },
  { optionId: "reject_always", kind: "reject_always", name: "Always reject" }
]

/** Asks the user of the session's client. */
export const make = (session: AcpSession.Shape, describe?: Updates.Describe): Approval.Channel => ({
  ask: (call, reason) =>
    Effect.gen(function*() {
      // A call that a body makes is in no log, and its client is told of it by the question alone.
      const seq = SessionLog.callOf(call)
      if (seq !== undefined) yield* session.announced(seq)
      const shown = Updates.described(call.name, call.arguments, describe)
      const answer = yield* session.client.request(
        "session/request_permission",
        {
          sessionId: session.sessionId,
          toolCall: {
            toolCallId: seq === undefined ? call.callId : Updates.toolCallId(seq),
            status: "pending",
            ...shown,
            ...(reason === undefined ? {} : { title: `${shown.title}: ${reason}` })
          },
          options: Array.from(options)
        },
        // The question is closed when its call is cancelled, whatever the client makes of it.
        { whenCancelled: "leave" }
      )
      return outcomeOf(session, call, answer)
    }).pipe(
      Effect.catchTags({
        RequestFailed: (error) =>
          Effect.succeed(AcpError.isCancelled(error) ? Approval.cancelled : Approval.unavailable),
        PeerGone: () => Effect.succeed(Approval.unavailable)
      })
    )
})

/** What the client's answer means. What is none of the options it was given allows nothing. */
const outcomeOf = (session: AcpSession.Shape, { name }: ToolCall.Pending, answer: unknown): Approval.Outcome => {
  const outcome = isRecord(answer) ? answer["outcome"] : undefined
  if (!isRecord(outcome)) return Approval.unavailable
  if (outcome["outcome"] === "cancelled") return Approval.cancelled
  switch (outcome["outcome"] === "selected" ? outcome["optionId"] : undefined) {
    case "allow_once":
      return Approval.allowedOnce
    case "allow_always":
      session.decisions.set(name, "allow")
      return Approval.allowedOnce
    case "reject_once":
      return Approval.rejected("the user rejected it")
    case "reject_always":
      session.decisions.set(name, "reject")
      return Approval.rejected("the user rejected it")
    default:
      return Approval.unavailable
  }
}

/** `policy`, with what the user of the session decided for always: where it asks, a decision that is there is the answer. */
export const remembering = (session: AcpSession.Shape, policy: Policy.Policy): Policy.Policy => ({
  ...policy,
  pre: (call) =>
    Effect.map(policy.pre?.(call) ?? Effect.succeed(Policy.allow), (decision) => {
      if (decision._tag !== "Ask") return decision
      switch (session.decisions.get(call.name)) {
        case "allow":
          return Policy.allow
        case "reject":
          return Policy.deny("the user rejects it always")
        case undefined:
          return decision
      }
    })
})

/** The approval channel of a session's registry. */
export const layer = (describe?: Updates.Describe): Layer.Layer<never, never, AcpSession.AcpSession> =>
  Layer.unwrap(Effect.map(AcpSession.AcpSession, (session) => Approval.layer(make(session, describe))))

/** The policy of a session's registry, which remembers. */
export const layerPolicy = (policy: Policy.Policy): Layer.Layer<never, never, AcpSession.AcpSession> =>
  Policy.layerEffect(Effect.map(AcpSession.AcpSession, (session) => remembering(session, policy)))
