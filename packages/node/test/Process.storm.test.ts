import { assert, describe, it } from "@effect/vitest"
import { Abortable } from "@quiesce/core"
import { Command, Process } from "@quiesce/node"
import { Effect } from "effect"
import { getEventListeners } from "node:events"
import { readdirSync } from "node:fs"
import { cites } from "../../../tests/conformance/cites.ts"

const reason = Effect.map(
  Process.run(Command.make("no-such-program")),
  (outcome) => outcome._tag === "SpawnFailed" ? outcome.error.reason : outcome._tag
)

const openFiles = () => readdirSync("/proc/self/fd").length

describe("a command that cannot be started", () => {
  it.live(cites("has closed the pipes that were made for it when it says so", "NODE-04"), () =>
    Effect.gen(function*() {
      const before = openFiles()
      yield* Effect.forEach(Array.from({ length: 10 }), () => reason, { concurrency: "unbounded" })
      assert.strictEqual(openFiles(), before)
    }))

  it.live(
    cites("three hundred times on one signal fails three hundred times, and leaves no listener", "NODE-04"),
    () =>
      Effect.gen(function*() {
        const { signal } = new AbortController()
        const reasons = yield* Abortable.promise(() =>
          Promise.all(Array.from({ length: 300 }, () => Abortable.runPromise(reason, { signal })))
        )
        assert.deepStrictEqual([...new Set(reasons)], ["NotFound"])
        assert.strictEqual(getEventListeners(signal, "abort").length, 0)
      }),
    // Node starts a process in the thread that asks for it, and 300 of them on a busy machine take their time.
    60_000
  )
})
