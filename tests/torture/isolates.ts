/**
 * Cancels bodies that cannot be stopped from within, and measures how long they take to be quiet.
 */
import { ToolRegistry } from "@quiesce/core"
import { Isolated } from "@quiesce/node"
import { Deferred, Duration, Effect, Schema } from "effect"

export interface Report {
  readonly name: string
  readonly cancels: number
  readonly boundMillis: number
  /** How many were quiet within the bound. */
  readonly within: number
  readonly medianMillis: number
  readonly longestMillis: number
}

const grace = Duration.millis(50)

const tool = (name: "loop" | "block", place: Isolated.Place) =>
  Isolated.make(name, {
    description: name,
    parameters: Schema.Json,
    success: Schema.Json,
    module: new URL("./bodies.ts", import.meta.url),
    name,
    grace,
    ...place
  })

/** An endless loop in a thread, an endless loop in a process, and a blocking native call in a process. */
export const subjects = [
  { name: "an endless loop in a worker", body: "loop", place: { isolate: "worker" } },
  { name: "an endless loop in a process", body: "loop", place: { isolate: "process" } },
  { name: "a native call that blocks, in a process", body: "block", place: { isolate: "process" } }
] as const

/** Cancels a body as often as told, one time after the other, each time once it runs. */
export const run = Effect.fnUntraced(function*(
  { body, name, place }: typeof subjects[number],
  cancels: number
): Effect.fn.Return<Report, ToolRegistry.DuplicateTool> {
  const used = tool(body, place)
  const boundMillis = Duration.toMillis(Isolated.bound({ ...place, grace }))
  const times: Array<number> = []
  yield* Effect.gen(function*() {
    const registry = yield* ToolRegistry.ToolRegistry
    for (let count = 0; count < cancels; count++) {
      const running = yield* Deferred.make<void>()
      const millis = yield* Effect.scoped(Effect.gen(function*() {
        yield* registry.observe({ progress: () => Deferred.succeed(running, undefined) })
        const { cancel, result } = yield* registry.start({ callId: name, name: body, arguments: "1000" })
        yield* Deferred.await(running)
        const [elapsed] = yield* Effect.timed(Effect.andThen(cancel(), result))
        return Duration.toMillis(elapsed)
      }))
      times.push(millis)
    }
  }).pipe(Effect.provide(ToolRegistry.layer([used])))
  times.sort((a, b) => a - b)
  return {
    name,
    cancels,
    boundMillis,
    within: times.filter((millis) => millis <= boundMillis).length,
    medianMillis: Math.round(times[times.length >> 1] ?? 0),
    longestMillis: Math.round(times.at(-1) ?? 0)
  }
})
