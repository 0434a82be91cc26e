import { assert, describe, it } from "@effect/vitest"
import { Abortable, Approval, Policy, Tool, ToolRegistry, type ToolResult, Wrapper } from "@quiesce/core"
import { Clock, Effect, Fiber, Layer, Schema } from "effect"
import { TestClock } from "effect/testing"
import { cites } from "../../../tests/conformance/cites.ts"
import { type Pipeline, Pipeline as Pipelines, predict, type Prediction, straighten } from "./support/model.ts"

class Broken extends Error {
  override readonly name = "Broken"
}

/** Takes its time as its manner is, and then does `then`. */
const takes = <A, E>(
  { manner, takes }: { readonly manner: "yields" | "insists"; readonly takes: number },
  then: Effect.Effect<A, E>
): Effect.Effect<A, E> => {
  const timed = Effect.andThen(Effect.sleep(takes), then)
  return manner === "yields" ? timed : Effect.uninterruptible(timed)
}

const policyOf = ({ post, pre }: Pipeline, reviewed: () => void): Policy.Policy => ({
  pre: () =>
    takes(
      pre,
      Effect.suspend((): Effect.Effect<Policy.Decision, Policy.Denied> => {
        switch (pre.ends) {
          case "allow":
            return Effect.succeed(Policy.allow)
          case "ask":
            return Effect.succeed(Policy.ask())
          case "deny as a value":
            return Effect.succeed(Policy.deny("no"))
          case "deny as a failure":
            return Policy.deny("no")
          case "throw":
            throw new Broken()
        }
      })
    ),
  post: () => {
    reviewed()
    return Effect.andThen(
      Effect.sleep(post.takes),
      Effect.sync(() => {
        if (post.ends === "throw") throw new Broken()
        return post.ends === "block" ? Policy.block("blocked") : Policy.accept()
      })
    )
  }
})

const channelOf = ({ approval }: Pipeline): Approval.Channel => ({
  ask: () =>
    takes(
      approval,
      Effect.sync(() => {
        switch (approval.ends) {
          case "allowed":
            return Approval.allowedOnce
          case "rejected":
            return Approval.rejected()
          case "cancelled":
            return Approval.cancelled
          case "unavailable":
            return Approval.unavailable
          case "throw":
            throw new Broken()
        }
      })
    )
})

const wrapperOf = ({ wrapper }: Pipeline): Wrapper.Wrapper => (next) => {
  const waited = takes(wrapper, wrapper.then === "fail" ? Effect.fail(new Broken()) : Effect.void)
  if (wrapper.then === "answer") return Effect.as(waited, "answer")
  const delegated = Effect.andThen(waited, next)
  return wrapper.then === "fall back"
    ? Effect.andThen(waited, Effect.catch(next, () => Effect.succeed("fallback")))
    : delegated
}

const options = ({ body }: Pipeline) => ({
  description: "",
  parameters: Schema.Struct({}),
  success: Schema.String,
  timeout: body.budget ?? undefined
})

const effectTool = (pipeline: Pipeline) =>
  Tool.make("tool", {
    ...options(pipeline),
    execute: () =>
      takes(
        pipeline.body,
        Effect.suspend(() => {
          switch (pipeline.body.ends) {
            case "succeed":
              return Effect.succeed("value")
            case "fail":
              return Effect.fail(new Broken())
            case "die":
              return Effect.die(new Broken())
          }
        })
      )
  })

/** The same as a promise function: it hears its signal, or does not care. */
const promiseTool = (pipeline: Pipeline, sleep: (millis: number, signal?: AbortSignal) => Promise<void>) =>
  Tool.fromPromise("tool", {
    ...options(pipeline),
    execute: async (_, { signal }) => {
      await sleep(pipeline.body.takes, pipeline.body.manner === "yields" ? signal : undefined)
      if (pipeline.body.ends !== "succeed") throw new Broken()
      return "value"
    }
  })

const run = Effect.fnUntraced(function*(pipeline: Pipeline, body: "Effect" | "Promise", face: "fiber" | "signal") {
  const start = yield* Clock.currentTimeMillis
  const context = yield* Effect.context()
  const sleep = (millis: number, signal: AbortSignal = new AbortController().signal) =>
    Abortable.runPromiseWith(context)(Effect.sleep(millis), { signal })
  let reviewed = false
  const layer = ToolRegistry.layer([body === "Effect" ? effectTool(pipeline) : promiseTool(pipeline, sleep)]).pipe(
    Layer.provide(Policy.layer(policyOf(pipeline, () => reviewed = true))),
    Layer.provide(Approval.layer(channelOf(pipeline))),
    Layer.provide(Wrapper.layer([wrapperOf(pipeline)]))
  )
  return yield* Effect.gen(function*() {
    const registry = yield* ToolRegistry.ToolRegistry
    const results: Array<{ readonly result: ToolResult.ToolResult; readonly atMillis: number }> = []
    const clock = yield* Clock.Clock
    yield* registry.observe((_, result) =>
      Effect.sync(() => void results.push({ result, atMillis: clock.currentTimeMillisUnsafe() - start }))
    )
    const input = { callId: "a", name: "tool", arguments: {} }
    const controller = new AbortController()
    const preAborted = (pipeline.cancelledAt ?? 0) < 0
    if (preAborted) controller.abort("why")
    const make = face === "signal" || preAborted
      ? Abortable.promise(() => registry.executePromise({ ...input, signal: controller.signal }))
      : registry.execute(input)
    const fiber = yield* Effect.forkChild(make, { startImmediately: true })
    for (let now = 0; fiber.pollUnsafe() === undefined; now++) {
      // Promise bodies move between two ticks of the clock.
      yield* Effect.yieldNow
      if (now === pipeline.cancelledAt) {
        if (face === "signal") controller.abort("why")
        else fiber.interruptUnsafe()
      }
      yield* TestClock.adjust(1)
    }
    yield* Fiber.await(fiber)
    assert.strictEqual(results.length, 1, "one result")
    const [{ atMillis, result }] = results as [typeof results[0] & {}]
    const seen: Prediction = {
      code: result._tag === "Success" ? "Success" : result.error.code,
      dispatched: result.dispatched,
      atMillis,
      reviewed
    }
    return seen
  }).pipe(Effect.provide(layer))
})

describe("law: any pipeline, cancelled at any moment, ends as the contract says", () => {
  for (const body of ["Effect", "Promise"] as const) {
    for (const face of ["fiber", "signal"] as const) {
      it.effect.prop(
        cites(
          `law: ${body === "Effect" ? "an effect" : "a promise"} body, cancelled through its caller's ${face}`,
          "CALL-01",
          "CALL-05",
          "CALL-09",
          "CALL-22",
          "TIME-02"
        ),
        [Pipelines],
        ([generated]) =>
          Effect.gen(function*() {
            const pipeline = straighten(generated)
            assert.deepStrictEqual(yield* run(pipeline, body, face), predict(pipeline), JSON.stringify(pipeline))
          }),
        // A pipeline takes some milliseconds of real time; a wrong rule is met within a few dozen.
        { arbitrary: { runs: 300 } }
      )
    }
  }
})
