/** Parts whose every stage writes down that it was begun, and then does what the test says. */
import { type Approval, type Json, Policy, Tool, type ToolCall, type ToolResult, type Wrapper } from "@quiesce/core"
import { Effect, Schema } from "effect"
import type { Parts } from "./faces.ts"
import { AnyJson } from "./registry.ts"
import { codeOf } from "./results.ts"

/** What the stages do. Default: ask, allow, delegate, answer "done", accept, keep the content. */
export interface Stages {
  readonly pre?: (call: ToolCall.Pending) => Effect.Effect<Policy.Decision, Policy.Denied>
  readonly ask?: Approval.Channel["ask"]
  readonly wrap?: Wrapper.Wrapper
  readonly body?: (json: Json, call: ToolCall.Running) => Effect.Effect<Json, unknown>
  readonly post?: (call: ToolCall.Pending, result: ToolResult.ToolResult) => Effect.Effect<Policy.Review>
  readonly finalizeContent?: Tool.FinalizeContent
  readonly render?: (value: unknown) => ReadonlyArray<ToolResult.Content>
  readonly timeout?: number
}

export interface Watched extends Parts {
  /** The stages that were begun: `pre`, `approval`, `wrapper`, `body`, `post`, `finalizeContent`, `publish`. */
  readonly ran: Array<string>
}

const Strict = Schema.Struct({ n: Schema.Number })

/** `tool` takes any JSON, `strict` takes `{ n: number }`; both answer with JSON. */
export const watched = (stages: Stages = {}): Watched => {
  const ran: Array<string> = []
  const begin = <A>(stage: string, then: () => A): A => {
    ran.push(stage)
    return then()
  }
  const options: Pick<Tool.Options<never, typeof AnyJson, never>, "finalizeContent" | "render" | "timeout"> = {
    timeout: stages.timeout,
    // As all stages: what `stages` says when it is asked.
    render: stages.render && ((value) => stages.render === undefined ? [] : stages.render(value)),
    finalizeContent: (call, result) => begin("finalizeContent", () => stages.finalizeContent?.(call, result))
  }
  const body = (json: Json, call: ToolCall.Running): Effect.Effect<Json, unknown> =>
    begin("body", () => stages.body?.(json, call) ?? Effect.succeed("done"))
  return {
    ran,
    tools: [
      Tool.make("tool", { description: "", parameters: AnyJson, success: AnyJson, ...options, execute: body }),
      Tool.make("strict", { description: "", parameters: Strict, success: AnyJson, ...options, execute: body })
    ],
    policy: {
      pre: (call) => begin("pre", () => stages.pre?.(call) ?? Effect.succeed(Policy.ask())),
      post: (call, result) => begin("post", () => stages.post?.(call, result) ?? Effect.succeed(Policy.accept()))
    },
    approval: {
      ask: (call, reason) =>
        begin("approval", () => stages.ask?.(call, reason) ?? Effect.succeed({ _tag: "AllowedOnce" }))
    },
    wrappers: [(next, call) => begin("wrapper", () => stages.wrap?.(next, call) ?? next)],
    observers: [(_, result) => begin(`publish ${codeOf(result)}`, () => Effect.void)]
  }
}
