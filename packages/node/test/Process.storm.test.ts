import { assert, describe, it } from "@effect/vitest"
import { Command, Process } from "@quiesce/node"
import { Effect } from "effect"
import { readdirSync } from "node:fs"
import { cites } from "../../../tests/conformance/cites.ts"

describe("a command that cannot be started", () => {
  const reasonOf = (command: Command.Command) =>
    Effect.map(
      Process.run(command),
      (outcome) => outcome._tag === "SpawnFailed" ? outcome.error.reason : outcome._tag
    )

  it.live(
    cites("three hundred times at once fails three hundred times, and leaves no open file", "NODE-04"),
    () =>
      Effect.gen(function*() {
        const count = () => readdirSync("/proc/self/fd").length
        const before = count()
        const reasons = yield* Effect.forEach(
          Array.from({ length: 300 }),
          () => reasonOf(Command.make("no-such-program")),
          {
            concurrency: "unbounded"
          }
        )
        assert.deepStrictEqual([...new Set(reasons)], ["NotFound"])
        assert.strictEqual(count(), before)
      })
  )
})
