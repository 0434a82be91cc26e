/** Bodies that are watched: which began, why they were asked to stop, and which are quiet. */
import { Tool } from "@quiesce/core"
import { Deferred, Effect, Schema } from "effect"

const parameters = Schema.Struct({ key: Schema.optionalKey(Schema.String) })

export const make = () => {
  const began = new Map<string, Deferred.Deferred<void>>()
  const asked = new Map<string, Deferred.Deferred<void>>()
  const released = new Map<string, Deferred.Deferred<void>>()
  const of = (map: Map<string, Deferred.Deferred<void>>, key: string) => {
    let deferred = map.get(key)
    if (deferred === undefined) map.set(key, deferred = Deferred.makeUnsafe<void>())
    return deferred
  }
  const starts: Array<string> = []
  const reasons = new Map<string, unknown>()
  const quiet: Array<string> = []

  /** Ends at once when it is interrupted. */
  const wait = Tool.make("wait", {
    description: "Waits until it is cancelled or released",
    parameters,
    success: Schema.String,
    execute: ({ key = "" }, call) =>
      Effect.suspend(() => {
        starts.push(key)
        const { signal } = call
        signal.addEventListener("abort", () => {
          reasons.set(key, signal.reason)
          Deferred.doneUnsafe(of(asked, key), Effect.void)
        })
        Deferred.doneUnsafe(of(began, key), Effect.void)
        return Effect.as(Deferred.await(of(released, key)), `released ${key}`)
      }).pipe(Effect.ensuring(Effect.sync(() => quiet.push(key))))
  })

  /** Ends only when it is released, whoever asks. */
  const stubborn = Tool.make("stubborn", {
    description: "Waits until it is released",
    parameters,
    success: Schema.String,
    execute: ({ key = "" }, call) =>
      Effect.suspend(() => {
        starts.push(key)
        const { signal } = call
        signal.addEventListener("abort", () => {
          reasons.set(key, signal.reason)
          Deferred.doneUnsafe(of(asked, key), Effect.void)
        })
        Deferred.doneUnsafe(of(began, key), Effect.void)
        return Effect.as(Deferred.await(of(released, key)), `released ${key}`)
      }).pipe(Effect.ensuring(Effect.sync(() => quiet.push(key))), Effect.uninterruptible)
  })

  /** Fails once it is released, after whatever interruption. */
  const failing = Tool.make("failing", {
    description: "Fails when it is released",
    parameters,
    success: Schema.String,
    execute: ({ key = "" }, call) =>
      Effect.suspend(() => {
        starts.push(key)
        call.progress({ progress: 1 })
        Deferred.doneUnsafe(of(began, key), Effect.void)
        return Effect.andThen(Deferred.await(of(released, key)), Effect.fail(new Error("late")))
      }).pipe(
        Effect.ensuring(Effect.sync(() => {
          call.progress({ progress: 2 })
          quiet.push(key)
        })),
        Effect.uninterruptible
      )
  })

  const steps = Tool.make("steps", {
    description: "Reports progress, and then its end",
    parameters,
    success: Schema.Struct({ steps: Schema.Number }),
    execute: (_, call) =>
      Effect.sync(() => {
        for (const progress of [1, 2, 2, 3]) call.progress({ progress, total: 3 })
        return { steps: 3 }
      })
  })

  const echo = Tool.make("echo", {
    description: "Says what it is told",
    parameters: Schema.Struct({ text: Schema.String }),
    success: Schema.String,
    render: (text) => [{ type: "text", text }],
    execute: ({ text }) => Effect.succeed(text)
  })

  return {
    tools: [wait, stubborn, failing, steps, echo] as const,
    /** The keys of the bodies that were invoked, in order. */
    starts,
    reasons,
    /** The keys of the bodies that are quiet, in order. */
    quiet,
    /** Waits until the body was asked to stop. */
    asked: (key: string) => Deferred.await(of(asked, key)),
    began: (key: string) => Deferred.await(of(began, key)),
    release: (key: string) => Deferred.succeed(of(released, key), undefined),
    /** For the end of a test, however it ended: a registry waits for what it has begun. */
    releaseAll: Effect.suspend(() =>
      Effect.forEach(released.values(), (deferred) => Deferred.succeed(deferred, undefined))
    )
  }
}

export type Bodies = ReturnType<typeof make>

/** A tool that does nothing. */
export const tool = (name: string) =>
  Tool.make(name, {
    description: "",
    parameters: Schema.Struct({}),
    success: Schema.Null,
    execute: () => Effect.succeed(null)
  })
