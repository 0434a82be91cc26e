/**
 * A call from its input to its published result, in the order in which it happens.
 *
 * The fiber is uninterruptible, and each wait is a window in it. Interruption is sticky: one that arrives in the code
 * between two windows is met by the next. Every stage's exit is read right here, outside its window, where a pending
 * interrupt skips nothing.
 */
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import type { Json } from "../Json.ts"
import type * as Policy from "../Policy.ts"
import type { Stage } from "../ToolRegistry.ts"
import type * as ToolResult from "../ToolResult.ts"
import type { Call } from "./call.ts"
import * as Cancellation from "./cancellation.ts"
import { delegate } from "./dispatch.ts"
import { needsStack } from "./fiber.ts"
import { begin, effectOf, known } from "./foreign.ts"
import { snapshot } from "./json.ts"
import * as Outcome from "./outcome.ts"
import { stop } from "./stopping.ts"
import { describe } from "./thrown.ts"
import { quiescence } from "./tie.ts"
import { accept } from "./value.ts"
import type { Owner } from "./ward.ts"

/** What a call is left to do once none of its fibers is alive. It is synchronous. */
export type Publish = () => ToolResult.ToolResult

/** Runs all of it. With a `fault`, which is that of the stage that has ended the call's fiber: what is left of it. */
export const pipeline = Effect.fnUntraced(function*(
  call: Call,
  fault?: Outcome.Failed
): Effect.fn.Return<Publish> {
  if (fault === undefined) {
    const refused = materialize(call)
    if (refused !== undefined) return publish(call, refused)
    if (needsStack(call)) yield* Effect.yieldNow
  }

  // From here on the outcome, whatever it is, is reviewed before it is published.
  const attempted = fault ?? (yield* attempt(call))
  call.attempted = true
  if (call.works.length > 0) yield* endWorks(call)

  // Post-policy: uninterruptible, and with the body quiet. Each review sees what the ones before made of the outcome.
  call.hear()
  let outcome = attempted
  for (const post of call.registry.services.reviews) {
    if (Outcome.isFinal(outcome)) break
    outcome = yield* review(call, post, outcome)
  }

  // Policies, wrappers and approval channels may have left calls of their own running: they end first.
  call.hear()
  const nested = call.close()
  if (nested !== undefined) yield* endNested(nested)

  return publish(call, Outcome.unlessCancelled(call, outcome))
})

/** Shows the call its frozen JSON and begins to listen to its caller, or says why the call will not begin. */
const materialize = (call: Call): Outcome.Failed | undefined => {
  const { arguments: args, metadata } = call.input
  try {
    call.show(snapshot(args), metadata === undefined ? undefined : snapshot(metadata) as typeof metadata)
  } catch (thrown) {
    // It wins over a cancellation that was there before (CALL-03).
    return Outcome.notJson(thrown)
  }
  call.listen()
  return call.cancellation === undefined ? undefined : Outcome.aborted(call)
}

/** What comes of the call before anybody reviews it. */
function* attempt(call: Call): Effect.fn.Return<Outcome.Outcome> {
  const { approval, policy } = call.registry.services

  // Pre-policy. It sees unknown tools and unchecked arguments.
  let decision: Policy.Allow | Policy.Ask = { _tag: "Allow" }
  if (policy.pre !== undefined) {
    const exit = yield* window(call, "pre", Outcome.ofPolicy, () => policy.pre!(call.pending))
    const decided = exit._tag === "Success" ? Outcome.ofDecision(exit.value) : Outcome.ofPolicy(call, exit.cause)
    if (decided._tag === "Failure") return decided
    decision = decided
  }

  // Decode parameters.
  const entry = call.entry = call.registry.lookup(call.pending.name)
  if (entry === undefined) return Outcome.unknownTool(call.pending.name)
  const decode = () => entry.definition.parameters.decode(call.pending.arguments)
  const parameters = yield* window(call, call.stage, Outcome.ofDecoding, decode)
  if (parameters._tag === "Failure") return Outcome.ofDecoding(call, parameters.cause)

  // Approval.
  if (decision._tag === "Ask") {
    const { reason } = decision
    const answered = yield* window(call, "approval", Outcome.ofApproval, () => approval.ask(call.pending, reason))
    if (answered._tag === "Failure") return Outcome.ofApproval(call, answered.cause)
    const refused = Outcome.ofAnswer(call, answered.value)
    if (refused !== undefined) return refused
  }

  // Wrappers, journal, body: quiet when this returns.
  call.admission.tell(call.cancellation === undefined)
  const ended = yield* window(call, "wrappers", Outcome.ofDispatch, () => delegate(call, entry, parameters.value))
  return ended._tag === "Success" ? ended.value : Outcome.ofDispatch(call, ended.cause)
}

/** Runs one stage where it can be interrupted, and tells how it exited. `reading` is how a failure of it is read. */
const window = <A>(
  call: Call,
  stage: Stage,
  reading: Call["reading"],
  effect: () => Effect.Effect<A, unknown>
): Effect.Effect<Exit.Exit<A, unknown>> => {
  call.hear()
  call.reading = reading
  if (call.stage !== stage) call.enter(stage)
  if (call.cancellation !== undefined) return open(call, effectOf(effect))
  const started = begin(effect)
  const exit = known(started)
  call.hear()
  // A stage that knows at once waits for nothing, and needs no window: unless it has cancelled the call meanwhile.
  return exit !== undefined && (exit._tag === "Failure" || call.cancellation === undefined)
    ? Effect.succeed(exit)
    : open(call, started)
}

const open = <A>(call: Call, stage: Effect.Effect<A, unknown>): Effect.Effect<Exit.Exit<A, unknown>> =>
  Effect.exit(Effect.interruptible(call.withServices(stage)))

/** A stage that ended past its own handlers, by going on with what is no effect, may have left work running. */
const endWorks = (call: Call): Effect.Effect<void> =>
  Effect.forEach(call.works, (work) => {
    stop(work, Cancellation.make({ _tag: "Wrapper", cause: Cancellation.abortError("what awaited this is over") }))
    return quiescence(work)
  }, { discard: true })

const endNested = (owner: Owner): Effect.Effect<void> =>
  Effect.callback((resume) => owner.end(() => resume(Effect.void)))

/** One post-policy. A cancellation that comes while it runs replaces a success; a block or a fault is the last word. */
function* review(call: Call, post: Policy.Post, outcome: Outcome.Outcome): Effect.fn.Return<Outcome.Outcome> {
  call.reading = Outcome.ofPolicy
  if (call.stage !== "post") call.enter("post")
  const reviewing = begin(() => post(call.pending, Outcome.toResult(call, outcome, call.contexts)))
  const exit = known(reviewing) ?? (yield* Effect.exit(reviewing))
  return exit._tag === "Success"
    ? yield* apply(call, outcome, exit.value)
    : Outcome.ofReview(call, outcome, exit.cause)
}

/** What a review makes of an outcome and its contexts. Whatever is wrong with the review is the policy's failure. */
function* apply(call: Call, outcome: Outcome.Outcome, review: Policy.Review): Effect.fn.Return<Outcome.Outcome> {
  const { contexts: deferred } = call
  try {
    const contexts = contextsOf(review)
    if (review._tag === "Block") {
      const blocked = Outcome.blocked(String(review.feedback))
      call.reviewedContexts = Object.freeze(contexts)
      return blocked
    }
    if (review._tag !== "Accept") throw new TypeError("post-policy returned something that is no review")
    if (review.content !== undefined && review.value !== undefined) {
      throw new TypeError("post-policy replaced content and value at once")
    }
    let accepted = outcome
    if (review.content !== undefined) accepted = { ...outcome, content: Outcome.checkContent(review.content) }
    else if (review.value !== undefined) {
      if (outcome._tag === "Failure") throw new TypeError("post-policy gave a failed call a value")
      const replaced = yield* Effect.exit(call.withServices(accept(call, review.value)))
      accepted = replaced._tag === "Success" ? replaced.value : Outcome.ofDispatch(call, replaced.cause)
    }
    call.reviewedContexts = contexts.length === 0 ? deferred : Object.freeze([...deferred, ...contexts])
    return accepted
  } catch (thrown) {
    return Outcome.policyFailed(thrown)
  }
}

const contextsOf = (review: Policy.Review): ReadonlyArray<Json> => {
  const { contexts } = review
  if (contexts === undefined || contexts === null) return Outcome.none
  if (!Array.isArray(contexts)) throw new TypeError("post-policy gave contexts that are no array")
  return Array.from(contexts as ReadonlyArray<Json>, (context) => snapshot(context))
}

/** The outcome stands, and is published once nothing of the call is alive. */
const publish = (call: Call, outcome: Outcome.Outcome): Publish => {
  call.seal()
  return () => call.registry.publish(call, finalize(call, outcome))
}

/** The result, with the last say in its content for the tool that was visible at the launch. */
const finalize = (call: Call, outcome: Outcome.Outcome): ToolResult.ToolResult => {
  const finalizeContent = call.launched?.definition.finalizeContent
  const { contexts } = call
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
