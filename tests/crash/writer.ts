/**
 * A process that writes a log, to be killed: `node writer.ts FILE SEED [BOUNDARY]`.
 *
 * It runs turns without end, and prints each event that was acknowledged, at once and unbuffered. Given a boundary it kills
 * itself at that one: they are the statements that reach the database, before and after each.
 */
// Modules, not barrels: of the time a kill takes, most is the start of its process.
import * as SessionLog from "@quiesce/agent/SessionLog"
import * as Turn from "@quiesce/agent/Turn"
import type { Json } from "@quiesce/core/Json"
import * as Tool from "@quiesce/core/Tool"
import * as ToolRegistry from "@quiesce/core/ToolRegistry"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { writeSync } from "node:fs"
import { DatabaseSync, StatementSync } from "node:sqlite"

const [, , file = "", seed = "0", boundary] = process.argv

if (boundary !== undefined) {
  let left = Number(boundary)
  const reach = (): void => {
    if (left-- === 0) process.kill(process.pid, "SIGKILL")
  }
  for (const [prototype, method] of [[DatabaseSync.prototype, "exec"], [StatementSync.prototype, "run"]] as const) {
    const original = (prototype as unknown as Record<string, (...args: Array<unknown>) => unknown>)[method]!
    Object.defineProperty(prototype, method, {
      value: function(this: unknown, ...args: Array<unknown>) {
        reach()
        const result = original.apply(this, args)
        reach()
        return result
      }
    })
  }
}

const AnyJson = Schema.Json as Schema.Codec<Json>

const work = Tool.make("work", {
  description: "Takes some turns of the event loop",
  parameters: AnyJson,
  success: AnyJson,
  execute: (json) => Effect.as(Effect.repeat(Effect.yieldNow, { times: Number(seed) % 7 }), json)
})

const program = Effect.gen(function*() {
  const log = yield* SessionLog.SessionLog
  const heard: SessionLog.Shape = {
    ...log,
    append: (...events) =>
      Effect.tap(log.append(...events), (entries) =>
        Effect.sync(() => {
          for (const { event, seq } of entries) {
            writeSync(1, `${JSON.stringify([seq, event._tag, "call" in event ? event.call : 0])}\n`)
          }
        }))
  }
  for (let turn = 0; boundary === undefined || turn < 3; turn++) {
    const calls = Array.from({ length: 1 + (turn + Number(seed)) % 5 }, (_, index): Turn.Request => ({
      callId: `call_${index}`,
      name: index === 3 ? "none" : "work",
      arguments: index === 4 ? Turn.incomplete(`{"cut`) : Turn.complete({ turn, index })
    }))
    yield* Effect.provideService(Turn.run({ text: "working", calls }), SessionLog.SessionLog, heard)
  }
})

await Effect.runPromise(
  Effect.provide(program, Layer.merge(ToolRegistry.layer([work]), SessionLog.layerSqlite(file)))
)
