import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { cites } from "../../../../tests/conformance/cites.ts"
import { InFlight } from "../../src/internal/inFlight.ts"

/** Counts how often it goes through all of its calls. */
class Counting extends InFlight {
  listed = 0
  override get working() {
    this.listed++
    return super.working
  }
}

/** A table with so many calls, all of which are to end. */
const closing = (calls: number) => {
  const inFlight = new Counting()
  const entries = Array.from({ length: calls }, (_, id) => {
    const { key } = inFlight.accept({ id, method: "tools/call" })!
    return inFlight.begin(key, { callId: `${id}`, name: "tool" })!
  })
  inFlight.close(new Error("the end"))
  return { inFlight, entries }
}

describe("the requests in flight", () => {
  it.live(cites("are quiet as soon as the last of thousands is", "MCP-03", "MCP-11"), () =>
    Effect.gen(function*() {
      const { entries, inFlight } = closing(10_000)
      let quiet = false
      const waiting = yield* Effect.forkChild(
        Effect.tap(inFlight.whenQuiet, () => Effect.sync(() => quiet = true)),
        { startImmediately: true }
      )
      for (const entry of entries.slice(1)) inFlight.end(entry)
      yield* Effect.yieldNow
      assert.isFalse(quiet)
      inFlight.end(entries[0]!)
      yield* Fiber.join(waiting)
      // Each end that asked all the others would make thousands wait for millions.
      assert.strictEqual(inFlight.listed, 0)
      assert.deepStrictEqual([inFlight.size, inFlight.working], [0, []])
    }))
})
