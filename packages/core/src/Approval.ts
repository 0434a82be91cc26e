/**
 * The question that a policy's `ask` puts, and its outcomes.
 *
 * Where nobody can be asked the answer is no. An answer that comes when the question is closed (it was answered, or the
 * call was cancelled) is refused as stale: it cannot start a body that was given up, nor answer another question.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import * as Abortable from "./Abortable.ts"
import * as Wiring from "./internal/wiring.ts"
import type * as ToolCall from "./ToolCall.ts"

export type Outcome =
  | { readonly _tag: "AllowedOnce" }
  | { readonly _tag: "Rejected"; readonly reason?: string }
  /** Whoever was asked wants the call gone: it settles as cancelled, not as denied. */
  | { readonly _tag: "Cancelled" }
  | { readonly _tag: "Unavailable" }

export interface Channel {
  /** Asks once. **Interruption**: closes the question; the call has been cancelled. */
  readonly ask: (call: ToolCall.Pending, reason?: string) => Effect.Effect<Outcome>
}

export const allowedOnce: Outcome = { _tag: "AllowedOnce" }
export const cancelled: Outcome = { _tag: "Cancelled" }
export const unavailable: Outcome = { _tag: "Unavailable" }
export const rejected = (reason?: string): Outcome =>
  reason === undefined ? { _tag: "Rejected" } : { _tag: "Rejected", reason }

const constant = (outcome: Outcome): Channel => ({ ask: () => Effect.succeed(outcome) })

/** The channel that a registry captures when it is built. Default: unavailable, which denies. */
export const Current: Context.Reference<Channel> = Context.Reference<Channel>("@quiesce/core/Approval", {
  defaultValue: () => constant(unavailable)
})

/** The open questions, and their answers: for a user interface, or a test. */
export class Queue extends Context.Service<Queue, {
  /**
   * The questions that are open now, the oldest first, then each new one. None is held for a consumer that lags: what it
   * has not taken when it is closed, it never sees.
   */
  readonly pending: Stream.Stream<ToolCall.Pending>
  /**
   * Answers the question of a call, by its token, or the oldest open one of its `callId`, which other calls may bear, too.
   * `false` when there is none, and the answer changed nothing.
   */
  readonly answer: (call: ToolCall.Token | string, outcome: "allow" | "deny") => Effect.Effect<boolean>
}>()("@quiesce/core/Approval/Queue") {}

interface Question {
  /** Questions are counted, so that a consumer knows where it is. */
  readonly number: number
  readonly call: ToolCall.Pending
  readonly answer: (outcome: Outcome) => void
}

const makeQueue = (): { readonly queue: Queue["Service"]; readonly channel: Channel } => {
  let asked = 0
  // In the order in which they were asked.
  const open = new Set<Question>()
  const waiting = new Set<() => void>()
  const close = (question: Question, outcome: Outcome): boolean => {
    if (!open.delete(question)) return false
    question.answer(outcome)
    return true
  }
  const newOne = Effect.callback<void>((resume) => {
    const wake = () => resume(Effect.void)
    waiting.add(wake)
    return Effect.sync(() => waiting.delete(wake))
  })
  const after = (last: number): Effect.Effect<Question> =>
    Effect.suspend(() => {
      for (const question of open) if (question.number > last) return Effect.succeed(question)
      return Effect.andThen(newOne, after(last))
    })
  return {
    channel: {
      // The question is put, and can be taken back, in one operation: whoever is shown it may cancel the call at once.
      ask: (call) =>
        Effect.callback((resume) => {
          const answer = (outcome: Outcome) => resume(Effect.succeed(outcome))
          const question: Question = { number: ++asked, call, answer }
          open.add(question)
          const woken = Array.from(waiting)
          waiting.clear()
          for (const wake of woken) wake()
          return Effect.sync(() => open.delete(question))
        })
    },
    queue: {
      pending: Stream.unwrap(Effect.sync(() => {
        let last = 0
        return Stream.fromEffectRepeat(Effect.map(Effect.suspend(() => after(last)), ({ call, number }) => {
          last = number
          return call
        }))
      })),
      answer: (which, answer) =>
        Effect.sync(() => {
          for (const question of open) {
            const { callId, token } = question.call
            if (which === token || which === callId) {
              return close(question, answer === "allow" ? allowedOnce : rejected())
            }
          }
          return false
        })
    }
  }
}

/** A channel that is a promise function. Its signal aborts when the call is cancelled. */
export const fromPromise = (
  ask: (call: ToolCall.Pending, signal: AbortSignal, reason: string | undefined) => PromiseLike<Outcome> | Outcome
): Channel => ({
  ask: (call, reason) => Effect.orDie(Abortable.promise((signal) => ask(call, signal, reason)))
})

/** Sets the channel. */
export const layer = (channel: Channel): Layer.Layer<never> => Wiring.layer(Current, channel)

/** Nobody can be asked, which denies: the default, said aloud. */
export const layerUnavailable: Layer.Layer<never> = layer(constant(unavailable))

export const layerAllow: Layer.Layer<never> = layer(constant(allowedOnce))

export const layerDeny: Layer.Layer<never> = layer(constant(rejected()))

/** Questions wait in a `Queue` until somebody answers. */
export const layerQueue: Layer.Layer<Queue> = Layer.effectContext(
  Effect.sync(() => {
    const { channel, queue } = makeQueue()
    return Context.make(Queue, queue).pipe(Context.add(Current, channel)) as Context.Context<Queue>
  })
)
