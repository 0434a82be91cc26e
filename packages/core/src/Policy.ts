/**
 * Who may call what, and what may come of it.
 *
 * A policy decides before the approval (`pre`), and reviews once the body is quiet (`post`). A refusal can be a value or
 * a failure; only the failure survives a cancellation that comes while the policy is still at work, so a policy that
 * must be heard ends with `return yield* Policy.deny(…)`.
 */
import type * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as Abortable from "./Abortable.ts"
import { compose, reviews } from "./internal/composed.ts"
import * as Wiring from "./internal/wiring.ts"
import type { Json } from "./Json.ts"
import type * as ToolCall from "./ToolCall.ts"
import type * as ToolResult from "./ToolResult.ts"

export interface Allow {
  readonly _tag: "Allow"
}
export interface Ask {
  readonly _tag: "Ask"
  readonly reason?: string | undefined
}
/** A refusal: a decision, and an effect that fails with itself. */
export class Denied extends Data.TaggedError("Denied")<{ readonly reason: string }> {
  override get message(): string {
    return this.reason
  }
}
export type Decision = Allow | Ask | Denied

export interface Accept {
  readonly _tag: "Accept"
  readonly content?: ReadonlyArray<ToolResult.Content> | undefined
  readonly value?: Json | undefined
  readonly contexts?: ReadonlyArray<Json> | undefined
}
export interface Block {
  readonly _tag: "Block"
  readonly feedback: string
  readonly contexts?: ReadonlyArray<Json> | undefined
}
export type Review = Accept | Block

export interface Policy {
  /** Runs for every call, unknown tools included. **Interruption**: cancelling the call interrupts it. */
  readonly pre?: ((call: ToolCall.Pending) => Effect.Effect<Decision, Denied>) | undefined
  /**
   * Runs when the outcome is known and the body is quiet; not for what a policy or a wrapper threw, nor for a call that
   * was cancelled on entry or whose arguments are not JSON. **Interruption**: none, since it may be redacting; it reads
   * `ToolCall.cancelReason(call)`, and makes a wait of its own interruptible with `Effect.interruptible`.
   */
  readonly post?: Post | undefined
}

export type Post = (call: ToolCall.Pending, result: ToolResult.ToolResult) => Effect.Effect<Review>

/** The policy that a registry captures when it is built. Default: allow everything. */
export const Current: Context.Reference<Policy> = Context.Reference<Policy>("@quiesce/core/Policy", {
  defaultValue: () => ({})
})

export const allow: Allow = { _tag: "Allow" }

/** Lets the approval channel decide. */
export const ask = (reason?: string): Ask => reason === undefined ? { _tag: "Ask" } : { _tag: "Ask", reason }

export const deny = (reason: string): Denied => new Denied({ reason })

/** Accepts the outcome, with other content, with another value (never on a failure, never both), with contexts. */
export const accept = (
  options?:
    | {
      readonly content: ReadonlyArray<ToolResult.Content>
      readonly value?: never
      readonly contexts?: ReadonlyArray<Json>
    }
    | { readonly content?: never; readonly value: Json; readonly contexts?: ReadonlyArray<Json> }
    | { readonly content?: never; readonly value?: never; readonly contexts?: ReadonlyArray<Json> }
): Review => ({ _tag: "Accept", ...options })

/** Withholds the outcome: the call fails with `feedback`, and what was deferred before is dropped. */
export const block = (feedback: string, options?: { readonly contexts?: ReadonlyArray<Json> }): Review => ({
  _tag: "Block",
  feedback,
  ...options
})

/**
 * All of `policies`, in order. The first denial ends it; otherwise one that asks outweighs those that allow. Reviews
 * run in order too, each seeing what the ones before made of the outcome; the first block ends it.
 */
export const sequence = (...policies: ReadonlyArray<Policy>): Policy => {
  const pres = policies.filter(({ pre }) => pre !== undefined)
  const posts = policies.flatMap(reviews)
  return {
    pre: pres.length === 0 ? undefined : Effect.fnUntraced(function*(call: ToolCall.Pending) {
      let decision: Decision = allow
      for (const policy of pres) {
        const next = yield* policy.pre!(call)
        if (next._tag === "Denied") return next
        if (next._tag === "Ask" && decision._tag === "Allow") decision = next
      }
      return decision
    }),
    post: posts.length === 0 ? undefined : inTurn(posts)
  }
}

/**
 * One review made of several, for whoever calls it directly or wraps it. It can only foresee what a registry would make
 * of each: a content for a value that another review gave is refused there as both at once.
 */
const inTurn = (posts: ReadonlyArray<Post>): Post => {
  const whole: Post = Effect.fnUntraced(function*(call, result) {
    let sum: Accept = { _tag: "Accept" }
    for (const post of posts) {
      const next = yield* post(call, revised(result, sum))
      if (next._tag === "Block") return next
      sum = {
        ...sum,
        // A content was written for the value of its moment.
        ...(next.value === undefined ? {} : { value: next.value, content: undefined }),
        ...(next.content === undefined ? {} : { content: next.content }),
        contexts: [...(sum.contexts ?? []), ...(next.contexts ?? [])]
      }
    }
    return sum
  })
  return compose(whole, posts)
}

const revised = (result: ToolResult.ToolResult, review: Accept): ToolResult.ToolResult => {
  const content = review.content ?? result.content
  return review.value !== undefined && result._tag === "Success"
    ? { ...result, content, value: review.value }
    : { ...result, content }
}

/** A policy of promise functions. A refusal that comes after a cancellation is heard all the same. */
export const fromPromise = (policy: {
  readonly pre?: (call: ToolCall.Pending, signal: AbortSignal) => PromiseLike<Decision> | Decision
  readonly post?: (
    call: ToolCall.Pending,
    result: ToolResult.ToolResult,
    signal: AbortSignal
  ) => PromiseLike<Review> | Review
}): Policy => {
  const { post, pre } = policy
  return {
    pre: pre && ((call) =>
      Abortable.handling(
        Abortable.promise(async (signal) => {
          const decision = await pre(call, signal)
          if (decision._tag === "Denied") throw decision
          return decision
        }),
        refusals
      )),
    post: post && ((call, result) => Effect.orDie(Abortable.promise((signal) => post(call, result, signal))))
  }
}

const refusals = (
  self: Effect.Effect<Decision, Cause.UnknownError>
): Effect.Effect<Decision, Denied> =>
  Effect.catch(self, (error) => error.cause instanceof Denied ? Effect.fail(error.cause) : Effect.die(error.cause))

/** Sets the policy. An application writes one list, in the order the reader sees: `Policy.layer(sequence(a, b))`. */
export const layer = (policy: Policy): Layer.Layer<never> => Wiring.layer(Current, policy)

/** The same for a policy whose making needs services: they are captured when the layer is built. */
export const layerEffect = <E, R>(
  policy: Effect.Effect<Policy, E, R>
): Layer.Layer<never, E, Exclude<R, Scope.Scope>> => Wiring.layerEffect(Current, policy)
