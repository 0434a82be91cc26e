/** Tools that the tests of every host use. */
import { Tool, type ToolCall } from "@quiesce/core"
import * as Schema from "effect/Schema"
import { z } from "zod"

/** Defined with zod. */
export const add = Tool.fromPromise("add", {
  description: "Adds two numbers",
  parameters: z.object({ a: z.number(), b: z.number() }),
  success: z.number(),
  execute: ({ a, b }) => a + b
})

/** Defined with Effect's Schema. */
export const join = Tool.fromPromise("join", {
  description: "Joins words",
  parameters: Schema.Struct({ words: Schema.Array(Schema.String) }),
  success: Schema.String,
  execute: ({ words }) => words.join(" ")
})

export interface Run {
  readonly call: ToolCall.Running
  readonly finish: (value: string) => void
  readonly fail: (error: unknown) => void
}

/** A tool whose bodies do not mind their signal: each runs until the test ends it. */
export const held = (name = "held", options: { readonly timeout?: number } = {}) => {
  const runs: Array<Run> = []
  const waiting: Array<(run: Run) => void> = []
  const tool = Tool.fromPromise(name, {
    description: "Runs until the test ends it",
    parameters: z.object({}),
    success: z.string(),
    ...options,
    execute: (_, call) => {
      // Read now: the signal exists from the start, and aborts as that of a body that listens.
      void call.signal
      const { promise, reject, resolve } = Promise.withResolvers<string>()
      const run: Run = { call, finish: resolve, fail: reject }
      runs.push(run)
      waiting.splice(0).forEach((tell) => tell(run))
      return promise
    }
  })
  /** The next body to begin. */
  const next = () => new Promise<Run>((resolve) => waiting.push(resolve))
  return { tool, runs, next }
}

/** A tool whose bodies end when they are aborted, by rejecting as fetch does. */
export const obedient = (name = "obedient", options: { readonly timeout?: number } = {}) => {
  const began: Array<() => void> = []
  const tool = Tool.fromPromise(name, {
    description: "Runs until it is aborted",
    parameters: z.object({}),
    success: z.string(),
    ...options,
    execute: (_, { signal }) =>
      new Promise<string>((_, reject) => {
        signal.addEventListener("abort", () => reject(signal.reason))
        began.splice(0).forEach((tell) => tell())
      })
  })
  const next = () => new Promise<void>((resolve) => began.push(resolve))
  return { tool, next }
}

/** Whether `promise` has settled by now: by the time that every reaction that is due has run. */
export const settled = (promise: Promise<unknown>): Promise<boolean> =>
  Promise.race([
    promise.then(() => true, () => true),
    new Promise<boolean>((resolve) => setImmediate(() => resolve(false)))
  ])

export const rejection = async (promise: PromiseLike<unknown>): Promise<unknown> => {
  try {
    await promise
  } catch (error) {
    return error
  }
  throw new Error("it did not reject")
}
