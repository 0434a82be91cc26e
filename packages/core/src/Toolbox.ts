/**
 * The registry for code without Effect: promise functions in, promises out, with the same guarantees.
 *
 * No Effect type appears here, nor is one needed to define the tools: `Tool.fromPromise` takes any Standard Schema that
 * knows its JSON Schema.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Approval from "./Approval.ts"
import { build } from "./internal/build.ts"
import type { Call } from "./internal/call.ts"
import * as Cancellation from "./internal/cancellation.ts"
import * as Faces from "./internal/faces.ts"
import { Token } from "./internal/token.ts"
import * as Observer from "./Observer.ts"
import * as Policy from "./Policy.ts"
import type * as Tool from "./Tool.ts"
import type * as ToolCall from "./ToolCall.ts"
import * as ToolRegistry from "./ToolRegistry.ts"
import type * as ToolResult from "./ToolResult.ts"
import * as Wrapper from "./Wrapper.ts"

export interface Toolbox extends AsyncDisposable {
  /** Makes a call. It does not reject: outcomes are data. Aborting `signal` cancels it; the result comes at quiescence. */
  readonly execute: (input: ToolCall.Input & { readonly signal: AbortSignal }) => Promise<ToolResult.ToolResult>
  readonly schemas: () => ReadonlyArray<ToolRegistry.ToolSchema>
  readonly inFlight: () => ReadonlyArray<ToolRegistry.InFlight>
  /** Asks the calls with this token or label to stop, and returns how many it reached. */
  readonly cancel: (call: ToolCall.Token | string, reason?: unknown) => number
  /** Resolves when nothing is in flight. A body gives its own token, since it must not wait for itself. */
  readonly whenIdle: (inside?: ToolCall.Token) => Promise<void>
  /** Refuses new calls, cancels all there are, and resolves when they are quiet. `inside` as for `whenIdle`. */
  readonly close: (inside?: ToolCall.Token) => Promise<void>
}

/** What a pre-policy answers. */
export type Decision = "allow" | { readonly ask: string } | { readonly deny: string }
/** What an approval channel answers. */
export type Answer = "allow" | "deny" | "cancel" | { readonly deny: string }
export type Review = Policy.Review

export interface Options {
  /** Tools that need no services: here nobody can supply any. */
  readonly tools: ReadonlyArray<Tool.AnyNoServices>
  readonly policy?: {
    readonly pre?: (call: ToolCall.Pending, signal: AbortSignal) => PromiseLike<Decision> | Decision
    readonly post?: (
      call: ToolCall.Pending,
      result: ToolResult.ToolResult,
      signal: AbortSignal
    ) => PromiseLike<Review> | Review
  }
  /** Default: nobody can be asked, which denies. */
  readonly approval?: (
    call: ToolCall.Pending,
    signal: AbortSignal,
    reason: string | undefined
  ) => PromiseLike<Answer> | Answer
  /** The first is outermost. */
  readonly wrappers?: ReadonlyArray<Parameters<typeof Wrapper.fromPromise>[0]>
  readonly observers?: ReadonlyArray<
    (call: ToolCall.Pending, result: ToolResult.ToolResult) => PromiseLike<void> | void
  >
}

/** Throws `DuplicateTool` when two tools have one name. */
export const make = (options: Options): Toolbox => {
  const { approval, observers = [], policy, tools, wrappers = [] } = options
  const context = Context.empty().pipe(
    Context.add(Policy.Current, policy === undefined ? {} : policyOf(policy)),
    Context.add(Approval.Current, Approval.fromPromise(approval === undefined ? unavailable : answered(approval))),
    Context.add(Wrapper.Current, wrappers.map(Wrapper.fromPromise)),
    Context.add(Observer.Current, observers.map(Observer.fromPromise))
  )
  const registry = build(context)
  const added = registry.add(tools, Context.empty())
  if (added instanceof ToolRegistry.DuplicateTool) throw added
  const close: Toolbox["close"] = (inside) => Effect.runPromise(registry.shutdown(around(inside)))
  return {
    execute: (input) => Faces.executePromise(registry, input),
    schemas: () => Faces.schemas(registry),
    inFlight: () => Array.from(registry.inFlight, Faces.status),
    cancel: (which, cause) =>
      Faces.cancel(registry, which, cause === undefined ? Faces.byHand() : Cancellation.byCaller(cause)),
    whenIdle: (inside) => Effect.runPromise(registry.waits.idle(around(inside))),
    close,
    [Symbol.asyncDispose]: () => close()
  }
}

const policyOf = ({ post, pre }: NonNullable<Options["policy"]>): Policy.Policy =>
  Policy.fromPromise({
    ...(post && { post }),
    ...(pre && { pre: async (call, signal) => decide(await pre(call, signal)) })
  })

const decide = (decision: Decision): Policy.Decision => {
  if (decision === "allow") return Policy.allow
  if ("deny" in decision) return Policy.deny(decision.deny)
  if ("ask" in decision) return Policy.ask(decision.ask)
  throw new TypeError("pre-policy returned something that is no decision")
}

const unavailable = () => Approval.unavailable

const answered =
  (approval: NonNullable<Options["approval"]>): Parameters<typeof Approval.fromPromise>[0] =>
  async (call, signal, reason) => {
    const answer = await approval(call, signal, reason)
    switch (answer) {
      case "allow":
        return Approval.allowedOnce
      case "deny":
        return Approval.rejected()
      case "cancel":
        return Approval.cancelled
      default:
        return Approval.rejected(answer.deny)
    }
  }

/** The call of `inside` and those around it. */
const around = (inside: ToolCall.Token | undefined): ReadonlySet<Call> =>
  inside === undefined ? new Set() : Token.call(inside).lineage
