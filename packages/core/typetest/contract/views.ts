import {
  Approval,
  type Journal,
  type Json,
  Observer,
  Policy,
  type ToolCall,
  type ToolResult,
  Wrapper
} from "@quiesce/core"
import { Effect } from "effect"
import { type Equal, is } from "./equal.ts"

declare const pending: ToolCall.Pending
declare const running: ToolCall.Running
declare const result: ToolResult.ToolResult

is<Equal<ToolCall.Pending, Readonly<ToolCall.Pending>>>()
is<Equal<ToolCall.Running, Readonly<ToolCall.Running>>>()
is<Equal<ToolResult.Success, Readonly<ToolResult.Success>>>()
is<Equal<ToolResult.Failure, Readonly<ToolResult.Failure>>>()
is<Equal<ToolResult.Failure["error"], Readonly<ToolResult.Failure["error"]>>>()

// @ts-expect-error the name is what was called
pending.name = "another"
// @ts-expect-error metadata is as it was given
pending.metadata["session"] = "another"
// @ts-expect-error the signal is the one that aborts
running.signal = new AbortController().signal
// @ts-expect-error a result is over
result.contexts.push("another")
// @ts-expect-error arguments are read
if (Array.isArray(pending.arguments)) (pending.arguments as ReadonlyArray<Json>).push(1)

/** What only a body may do: everybody else gets the call without it. */
type BodyOnly = Exclude<keyof ToolCall.Running, keyof ToolCall.Pending>
is<Equal<BodyOnly, "signal" | "deferContext" | "concludeTurn" | "declareResidue" | "progress">>()

Policy.layer({
  pre: (call) => {
    is<Equal<typeof call, ToolCall.Pending>>()
    return Effect.succeed(Policy.allow)
  },
  post: (call, result) => {
    is<Equal<typeof call, ToolCall.Pending>>()
    is<Equal<typeof result, ToolResult.ToolResult>>()
    return Effect.succeed(Policy.accept())
  }
})
Observer.layer((call, result) => {
  is<Equal<typeof call, ToolCall.Pending>>()
  is<Equal<typeof result, ToolResult.ToolResult>>()
  return Effect.void
})
Approval.layer({
  ask: (call) => {
    is<Equal<typeof call, ToolCall.Pending>>()
    return Effect.succeed(Approval.allowedOnce)
  }
})
Wrapper.layer([(next, call) => {
  is<Equal<typeof call, ToolCall.Pending>>()
  return next
}])
const journal: Journal.Journal = {
  dispatching: (call) => {
    is<Equal<typeof call, ToolCall.Pending>>()
    return Effect.void
  }
}

// @ts-expect-error never both
Policy.accept({ content: [], value: 1 })
// @ts-expect-error a token is made by the core alone
const forged: ToolCall.Token = {}

export { forged, journal }
