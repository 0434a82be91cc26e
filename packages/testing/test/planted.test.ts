import { assert, describe, it } from "@effect/vitest"
import { Explore, Report } from "@quiesce/testing"
import { Effect } from "effect"
import { spawnSync } from "node:child_process"
import { fileURLToPath } from "node:url"
import { cites } from "../../../tests/conformance/cites.ts"
import { planted } from "./fixtures/planted/index.ts"

/** What each bug is called, and the smallest interleaving that shows it. */
const expected: Record<string, readonly [message: string, words: string]> = {
  "a bridge that abandons": [
    "Error: the call has ended, and its body is running",
    "f0 > ABORT > settle"
  ],
  "a lost wake-up": [
    "hung: nothing can move any more, and the program has not ended",
    "f0 > ABORT (f0.0 preempted) > settle > f0.0"
  ],
  "a start flag set too early": [
    "Error: the call says dispatched, and its body never ran",
    "f0 > f0.0 (preempted) > ABORT"
  ],
  "a leaked listener": [
    "Error: the call has ended, and its listener is there",
    "f0 > f0.0 > ABORT > STOP"
  ],
  "a race against abort": [
    "Error: the caller was answered, and the body is running",
    "f0 > ABORT > settle"
  ]
}

/** Replays in a new process: what was found must survive a restart. */
const replayElsewhere = (replays: Record<string, string>) => {
  const script = fileURLToPath(new URL("fixtures/replayPlanted.ts", import.meta.url))
  const child = spawnSync(process.execPath, ["--conditions=@quiesce/source", script, JSON.stringify(replays)], {
    encoding: "utf8"
  })
  assert.strictEqual(child.status, 0, child.stderr)
  return JSON.parse(child.stdout) as ReadonlyArray<Explore.Replayed>
}

describe("planted bugs", () => {
  for (const { buggy, mended, name, preemptions } of planted) {
    it.live(
      cites(`${name} is found within ${preemptions} preemptions, minimal, and replays`, "KIT-06", "KIT-02"),
      () =>
        Effect.gen(function*() {
          const report = yield* Explore.run(buggy, { preemptions })
          assert.strictEqual(report.verdict, "failed", Report.format(report))
          const failure = report.failures[0]!
          assert.deepStrictEqual([failure.message, failure.minimal.words.join(" > ")], expected[name])

          const here = yield* Explore.replay(buggy, failure.minimal.replay)
          assert.deepStrictEqual(here.result, { _tag: "Failed", message: failure.message })
        })
    )

    it.effect(
      cites(`without ${name} the same exploration is clean and exhaustive`, "KIT-06"),
      () =>
        Effect.gen(function*() {
          const report = yield* Explore.check(mended, { preemptions: Math.max(1, preemptions) })
          assert.strictEqual(report.coverage._tag, "Exhaustive")
          assert.isAbove(report.explored, 2)
        })
    )
  }

  it.live(cites("each of them replays after a restart", "KIT-06", "KIT-02"), () =>
    Effect.gen(function*() {
      const found = yield* Effect.forEach(planted, ({ buggy, preemptions }) =>
        Effect.map(Explore.run(buggy, { preemptions }), ({ failures }) => failures[0]!))
      const replays = Object.fromEntries(planted.map(({ name }, i) => [name, found[i]!.minimal.replay]))
      const expected = found.map(({ message, minimal }): Explore.Replayed => ({
        result: { _tag: "Failed", message },
        interleaving: minimal,
        escapes: []
      }))
      assert.deepStrictEqual(replayElsewhere(replays), expected)
    }))

  it.effect(cites("a bug that needs one preemption is not met without", "KIT-06"), () =>
    Effect.gen(function*() {
      for (const { buggy, preemptions } of planted) {
        if (preemptions > 0) yield* Explore.check(buggy, { preemptions: preemptions - 1 })
      }
    }))
})
