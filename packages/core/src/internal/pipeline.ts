/**
 * A call from its input to its published result, in the order in which it happens.
 *
 * The fiber is uninterruptible, and each wait is a window in it. Interruption is sticky: one that arrives in the code
 * between two windows is met by the next, so no stage asks "cancelled meanwhile?". Every stage's exit is read right
 * here, outside its window, where a pending interrupt skips nothing.
 */
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import type { Json } from "../Json.ts"
import type * as Policy from "../Policy.ts"
import type * as ToolResult from "../ToolResult.ts"
import type { Call, Stage } from "./call.ts"
import { accept, dispatch } from "./dispatch.ts"
import { begin, effectOf, known } from "./foreign.ts"
import { snapshot } from "./json.ts"
import * as Outcome from "./outcome.ts"
import { describe } from "./thrown.ts"
import type { Owner } from "./ward.ts"

/** What a call is left to do once none of its fibers is alive. It is synchronous. */
export type Publish = () => ToolResult.ToolResult

export const pipeline = Effect.fnUntraced(function*(call: Call): Effect.fn.Return<Publish> {
  const { approval, policy } = call.registry.services

  // Materialize. A failure here wins over a cancellation that was there before (CALL-03).
  const finalizeContent = call.entry?.definition.finalizeContent
  const publish = (outcome: Outcome.Outcome, contexts?: ReadonlyArray<Json>): Publish => {
    call.seal()
    return () => call.registry.publish(call, finalize(call, finalizeContent, outcome, contexts))
  }
  const unusable = materialize(call)
  if (unusable !== undefined) return publish(unusable)
  call.listen()
  if (call.cancellation !== undefined) return publish(Outcome.aborted(call))

  // From here on the outcome, whatever it is, is reviewed before it is published.
  const settle = (outcome: Outcome.Outcome) => Effect.map(review(call, outcome), (reviewed) => publish(...reviewed))

  // Pre-policy. It sees unknown tools and unchecked arguments, and a throw of its own is not reviewed by it.
  let decision: Policy.Allow | Policy.Ask = { _tag: "Allow" }
  if (policy.pre !== undefined) {
    const decided = yield* window(call, "pre", () => policy.pre!(call.pending))
    const taken = decided._tag === "Success" ? Outcome.ofDecision(decided.value) : Outcome.ofPolicy(call, decided.cause)
    if (taken._tag === "Failure") return yield* settle(taken)
    decision = taken
  }

  // Decode parameters.
  const entry = call.entry = call.registry.lookup(call.pending.name)
  if (entry === undefined) return yield* settle(Outcome.unknownTool(call.pending.name))
  const parameters = yield* window(call, call.stage, () => entry.definition.parameters.decode(call.pending.arguments))
  if (parameters._tag === "Failure") return yield* settle(Outcome.ofDecoding(call, parameters.cause))

  // Approval.
  if (decision._tag === "Ask") {
    const { reason } = decision
    const answered = yield* window(call, "approval", () => approval.ask(call.pending, reason))
    if (answered._tag === "Failure") return yield* settle(Outcome.ofApproval(call, answered.cause))
    const refused = Outcome.ofAnswer(call, answered.value)
    if (refused !== undefined) return yield* settle(refused)
  }

  // Wrappers, journal, body: quiet when this returns.
  call.admit(call.cancellation === undefined)
  const dispatched = yield* window(call, "wrappers", () => dispatch(call, entry, parameters.value))
  return yield* settle(
    dispatched._tag === "Success" ? dispatched.value : Outcome.ofDispatch(call, dispatched.cause)
  )
})

/** Runs one stage where it can be interrupted, and tells how it exited. */
const window = <A>(
  call: Call,
  stage: Stage,
  effect: () => Effect.Effect<A, unknown>
): Effect.Effect<Exit.Exit<A, unknown>> => {
  const open = (stage: Effect.Effect<A, unknown>) => Effect.exit(Effect.interruptible(call.withServices(stage)))
  call.hear()
  if (call.stage !== stage) call.enter(stage)
  if (call.cancellation !== undefined) return open(effectOf(effect))
  const started = begin(effect)
  const exit = known(started)
  call.hear()
  // A stage that knows at once waits for nothing, and needs no window: unless it has cancelled the call meanwhile.
  return exit !== undefined && (exit._tag === "Failure" || call.cancellation === undefined)
    ? Effect.succeed(exit)
    : open(started)
}

/** Shows the call its frozen JSON, or says why there is none. */
const materialize = (call: Call): Outcome.Outcome | undefined => {
  const { arguments: args, metadata } = call.input
  try {
    call.show(snapshot(args), metadata === undefined ? undefined : snapshot(metadata) as typeof metadata)
    return undefined
  } catch (thrown) {
    return Outcome.notJson(thrown)
  }
}

type Reviewed = readonly [outcome: Outcome.Outcome, contexts: ReadonlyArray<Json>]

/**
 * Post-policy: uninterruptible, and with the body quiet. A cancellation that comes while it runs replaces a success.
 * Each review sees what the ones before made of the outcome, checked and rendered; a block or a fault is the last word.
 * A policy that threw is not asked again, nor one whose call a wrapper's fault ended.
 */
const review = (call: Call, outcome: Outcome.Outcome): Effect.Effect<Reviewed> => {
  call.hear()
  const { reviews } = call.registry.services
  const decided: Reviewed = [outcome, call.deferred]
  return reviews.length === 0 ? close(call, decided) : Effect.flatMap(reviewAll(call, decided), (it) => close(call, it))
}

const reviewAll = Effect.fnUntraced(function*(call: Call, decided: Reviewed): Effect.fn.Return<Reviewed> {
  let reviewed = decided
  for (const post of call.registry.services.reviews) {
    const [outcome, contexts] = reviewed
    if (isFinal(outcome)) break
    if (call.stage !== "post") call.enter("post")
    const exit = yield* Effect.exit(
      effectOf(() => post(call.pending, Outcome.toResult(call, outcome, Object.freeze([...contexts]))))
    )
    reviewed = exit._tag === "Success"
      ? yield* apply(call, outcome, contexts, exit.value)
      : [Outcome.ofReview(call, outcome, exit.cause), contexts]
  }
  return reviewed
})

/** Policies, wrappers and approval channels may have left calls of their own running: they end first. */
const close = (call: Call, reviewed: Reviewed): Effect.Effect<Reviewed> => {
  const last = (): Reviewed =>
    reviewed[0]._tag === "Success" && call.cancellation !== undefined
      ? [Outcome.aborted(call), reviewed[1]]
      : reviewed
  call.hear()
  const owner = call.close()
  return owner === undefined ? Effect.succeed(last()) : Effect.map(endOwned(owner), last)
}

const endOwned = (owner: Owner): Effect.Effect<void> =>
  Effect.callback((resume) => owner.end(() => resume(Effect.void)))

const isFinal = (outcome: Outcome.Outcome): boolean =>
  outcome._tag === "Failure" &&
  (outcome.code === "POLICY_FAILURE" || outcome.code === "WRAPPER_FAILURE" || outcome.code === "BLOCKED")

/** What a review makes of an outcome. Whatever is wrong with the review is the policy's failure. */
const apply = Effect.fnUntraced(function*(
  call: Call,
  outcome: Outcome.Outcome,
  deferred: ReadonlyArray<Json>,
  review: Policy.Review
): Effect.fn.Return<Reviewed> {
  try {
    const given = review.contexts ?? []
    if (!Array.isArray(given)) throw new TypeError("post-policy gave contexts that are no array")
    const contexts = Array.from(given as ReadonlyArray<Json>, (context) => snapshot(context))
    if (review._tag === "Block") return [Outcome.blocked(String(review.feedback)), contexts]
    if (review._tag !== "Accept") throw new TypeError("post-policy returned something that is no review")
    const all = [...deferred, ...contexts]
    if (review.content !== undefined && review.value !== undefined) {
      throw new TypeError("post-policy replaced content and value at once")
    }
    if (review.content !== undefined) return [{ ...outcome, content: Outcome.checkContent(review.content) }, all]
    if (review.value === undefined) return [outcome, all]
    if (outcome._tag === "Failure") throw new TypeError("post-policy gave a failed call a value")
    const replaced = yield* Effect.exit(call.withServices(accept(call, review.value)))
    return [replaced._tag === "Success" ? replaced.value : Outcome.ofDispatch(call, replaced.cause), all]
  } catch (thrown) {
    return [Outcome.policyFailed(thrown), deferred]
  }
})

/** The result, with the tool's last say in its content. */
const finalize = (
  call: Call,
  finalizeContent: ((call: Call["pending"], result: ToolResult.ToolResult) => unknown) | undefined,
  outcome: Outcome.Outcome,
  deferred: ReadonlyArray<Json> = Outcome.none
): ToolResult.ToolResult => {
  const contexts = deferred.length === 0 ? Outcome.none : Object.freeze(deferred)
  const result = Outcome.toResult(call, outcome, contexts)
  if (finalizeContent === undefined) return result
  try {
    const content = finalizeContent(call.pending, result)
    return content === undefined ? result : Object.freeze({ ...result, content: Outcome.checkContent(content) })
  } catch (thrown) {
    return outcome._tag === "Failure"
      ? Outcome.toResult(call, { ...outcome, content: undefined }, contexts)
      : Outcome.toResult(call, Outcome.invalidOutput([{ path: [], message: describe(thrown).message }]), contexts)
  }
}
