/**
 * Builds a registry with what a context holds for it, and catches programs that wired it beside that context.
 */
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Approval from "../Approval.ts"
import * as Observer from "../Observer.ts"
import * as Policy from "../Policy.ts"
import * as Wrapper from "../Wrapper.ts"
import { flatten, reviews } from "./composed.ts"
import { capture } from "./context.ts"
import { Registry } from "./registry.ts"
import { checkOf } from "./wiring.ts"

/**
 * How long a cancelled call may take to become quiet before it is reported: in the log, as a metric, and to
 * `Observer.notQuiescent`; then again with back-off. Default: 5 seconds, longer than orderly clean-up takes and shorter
 * than a user's patience. It bounds no call.
 */
export const Grace: Context.Reference<Duration.Input> = Context.Reference<Duration.Input>("@quiesce/core/Grace", {
  defaultValue: () => "5 seconds"
})

/**
 * How many wrappers a registry takes, composed ones counted by their parts. They run inside one another on one stack, which
 * has room for some 450 with nothing else on it.
 */
const maxWrappers = 128

/** Makes a registry without tools. Who makes it must shut it down. Throws for more wrappers than a stack has room for. */
export const build = (context: Context.Context<never>): Registry => {
  const wrappers = flatten(Context.get(context, Wrapper.Current))
  if (wrappers.length > maxWrappers) {
    throw new RangeError(`a registry takes ${maxWrappers} wrappers, and was given ${wrappers.length}`)
  }
  const policy = Context.get(context, Policy.Current)
  const services = {
    policy: { pre: preOf(policy) },
    reviews: reviewsOf(policy),
    approval: Context.get(context, Approval.Current),
    wrappers,
    listsTimeout: wrappers.includes(Wrapper.timeout),
    observers: Context.get(context, Observer.Current),
    grace: Duration.fromInputUnsafe(Context.get(context, Grace))
  }
  return new Registry(services, capture(context), checkOf(context, wired))
}

/** Read once, and it stays a method of its object. What cannot be read is at fault in each call. */
const preOf = (policy: Policy.Policy): Policy.Policy["pre"] => {
  try {
    const { pre } = policy
    return pre && ((call) => Reflect.apply(pre, policy, [call]))
  } catch (thrown) {
    return () => Effect.die(thrown)
  }
}

const reviewsOf = (policy: Policy.Policy): ReadonlyArray<Policy.Post> => {
  try {
    return reviews(policy)
  } catch (thrown) {
    return [() => Effect.die(thrown)]
  }
}

const wired: ReadonlyArray<readonly [what: string, key: Context.Reference<any>]> = [
  ["policy", Policy.Current],
  ["approval channel", Approval.Current],
  ["list of wrappers", Wrapper.Current]
]
