/**
 * The fiber of a call: what it takes that it always settles.
 *
 * A call is launched, and settles, in an operation of whoever waits for it. So calls inside calls are frames on frames of
 * one stack, until a hop to the scheduler begins a new one. And a stage can end the fiber: effect ends one that goes on with
 * something that is no effect right there, past every handler. Then another fiber does the rest.
 */
import * as Effect from "effect/Effect"
import type { Call } from "./call.ts"
import type { Failed } from "./outcome.ts"
import type { Publish } from "./pipeline.ts"
import * as Ward from "./ward.ts"

/** With a `fault`: what is left of the pipeline after the stage that ended its fiber. */
export type Pipeline = (call: Call, fault?: Failed) => Effect.Effect<Publish>

/** A stack of Node holds some 450 levels, a call and each of its wrappers being one; most of it is left to the bodies. */
const levelsPerStack = 64

/** Whether the stack on which the call is launched, or will settle, has held its share of levels. */
export const needsStack = ({ depth, registry }: Call): boolean =>
  Math.floor(depth / levelsPerStack) > Math.floor((depth - registry.levels) / levelsPerStack)

/** A stage can end the fiber, and then a post-policy can. What ends it after that is a fault of ours. */
const maxFaults = 2

export const run = (call: Call, pipeline: Pipeline, fault?: Failed, faults = 0): void => {
  const fiber = Effect.runForkWith(Ward.enter(call.registry.fiberContext(call.context), call))(
    Effect.withFiber((fiber) => {
      call.fiber = fiber
      return pipeline(call, fault)
    }),
    { uninterruptible: true }
  )
  // A fiber is over after the child fibers that a stage left in it: only then is there nothing of the call alive.
  fiber.addObserver((exit) => {
    if (exit._tag === "Failure" && call.reading !== undefined && faults < maxFaults) {
      run(call, pipeline, call.reading(call, exit.cause), faults + 1)
    } else if (needsStack(call)) fiber.currentDispatcher.scheduleTask(() => call.settle(exit), 0)
    else call.settle(exit)
  })
}
