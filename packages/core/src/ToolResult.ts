/**
 * The one outcome of a call, as data that crosses a log or a wire and comes back.
 *
 * A result says two things that a message cannot: by its code what decided the call, and by `dispatched` whether the
 * body was invoked. What was not dispatched has not reached the tool; what a wrapper did in its place is the wrapper's.
 */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { Json } from "./Json.ts"

export const Code = Schema.Literals([
  "ABORTED",
  "ABORTED_BEFORE_DISPATCH",
  "TOOL_TIMEOUT",
  "TOOL_FAILURE",
  "DENIED",
  "BLOCKED",
  "UNKNOWN_TOOL",
  "INVALID_ARGUMENTS",
  "INVALID_OUTPUT",
  "POLICY_FAILURE",
  "WRAPPER_FAILURE"
])
/**
 * What decided a failed call.
 *
 * | code | means |
 * |---|---|
 * | ABORTED | cancelled after the body was invoked: it may have had effects |
 * | ABORTED_BEFORE_DISPATCH | cancelled, and the body was never invoked |
 * | TOOL_TIMEOUT | a deadline fired first |
 * | TOOL_FAILURE | the body failed; `error.name` and `error.detail` are its own |
 * | DENIED | a policy or an approval refused it |
 * | BLOCKED | a policy withheld what came of it |
 * | UNKNOWN_TOOL | no such tool |
 * | INVALID_ARGUMENTS | the arguments are not JSON, or not what the tool asks for |
 * | INVALID_OUTPUT | the body's value is not JSON, or not what the tool promised |
 * | POLICY_FAILURE | a policy threw |
 * | WRAPPER_FAILURE | a wrapper or the journal threw |
 */
export type Code = typeof Code.Type

export const Residue = Schema.Struct({
  kind: Schema.Literals(["process", "remote", "other"]),
  detail: Schema.String
})
/** What may still be alive, or was not proved to have ended, when the call settled. */
export interface Residue {
  readonly kind: "process" | "remote" | "other"
  readonly detail: string
}

export const Content = Schema.Struct({ type: Schema.Literal("text"), text: Schema.String })
/** What a model is shown. */
export interface Content {
  readonly type: "text"
  readonly text: string
}

const common = {
  callId: Schema.String,
  name: Schema.String,
  dispatched: Schema.Boolean,
  content: Schema.Array(Content),
  contexts: Schema.Array(Json),
  residue: Schema.Array(Residue)
}

export const Success = Schema.Struct({
  _tag: Schema.tag("Success"),
  ...common,
  value: Json,
  concludesTurn: Schema.Boolean
})
export interface Success<A = Json> {
  readonly _tag: "Success"
  readonly callId: string
  readonly name: string
  /** Whether the body was invoked; `false` where a wrapper answered in its place. */
  readonly dispatched: boolean
  readonly value: A
  readonly content: ReadonlyArray<Content>
  /** Deferred by body, wrappers and post-policy, in this order. */
  readonly contexts: ReadonlyArray<Json>
  readonly residue: ReadonlyArray<Residue>
  readonly concludesTurn: boolean
}

export const Failure = Schema.Struct({
  _tag: Schema.tag("Failure"),
  ...common,
  error: Schema.Struct({
    code: Code,
    name: Schema.String,
    message: Schema.String,
    detail: Schema.optional(Json)
  })
})
export interface Failure {
  readonly _tag: "Failure"
  readonly callId: string
  readonly name: string
  readonly dispatched: boolean
  readonly error: {
    readonly code: Code
    readonly name: string
    readonly message: string
    readonly detail?: Json | undefined
  }
  readonly content: ReadonlyArray<Content>
  readonly contexts: ReadonlyArray<Json>
  readonly residue: ReadonlyArray<Residue>
}

/** Encodes a result to JSON and decodes it again. */
export const ToolResult: Schema.Codec<ToolResult> = Schema.Union([Success, Failure])
export type ToolResult<A = Json> = Success<A> | Failure

/**
 * A call that did not succeed, as an error. `failure` is what the body failed with, typed, where the tool declared a
 * failure schema. `dispatched: false` says that a retry does not run the tool twice.
 */
export class ToolCallFailed<F = never> extends Data.TaggedError("ToolCallFailed")<{
  readonly code: Code
  readonly dispatched: boolean
  readonly result: Failure
  readonly failure: unknown
}> {
  declare readonly failure: F | undefined

  constructor({ failure, result }: { readonly result: Failure; readonly failure?: F | undefined }) {
    super({ code: result.error.code, dispatched: result.dispatched, result, failure })
  }

  override get message(): string {
    return `${this.result.name}: ${this.result.error.message} (${this.code})`
  }
}

/** The value of a success; a failed result as `ToolCallFailed`. */
export const toEffect = <A>(result: ToolResult<A>): Effect.Effect<A, ToolCallFailed> =>
  result._tag === "Success"
    ? Effect.succeed(result.value)
    : Effect.fail(new ToolCallFailed<never>({ result }))
