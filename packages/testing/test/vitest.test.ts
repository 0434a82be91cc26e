import { assert, describe } from "@effect/vitest"
import { Edge } from "@quiesce/testing"
import { it } from "@quiesce/testing/vitest"
import { Effect } from "effect"
import { spawnSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { cites } from "../../../tests/conformance/cites.ts"

interface JsonReport {
  readonly testResults: ReadonlyArray<{
    readonly assertionResults: ReadonlyArray<{
      readonly title: string
      readonly status: string
      readonly failureMessages: ReadonlyArray<string>
    }>
  }>
}

/** Runs the suite whose tests are meant to fail, in a vitest of its own. */
const runSuite = () => {
  const root = fileURLToPath(new URL("fixtures/vitest", import.meta.url))
  const outputFile = join(mkdtempSync(join(tmpdir(), "interleavings-")), "report.json")
  const vitest = join(dirname(fileURLToPath(import.meta.resolve("vitest/package.json"))), "vitest.mjs")
  const child = spawnSync(process.execPath, [vitest, "run", "--root", root, "--outputFile", outputFile], {
    encoding: "utf8"
  })
  assert.strictEqual(child.status, 1, child.stderr)
  const report = JSON.parse(readFileSync(outputFile, "utf8")) as JsonReport
  rmSync(dirname(outputFile), { recursive: true })
  return new Map(report.testResults[0]!.assertionResults.map((it) => [it.title, it]))
}

describe("it.interleavings", () => {
  it.interleavings(
    cites("explores in a test of its own, beside the rest of @effect/vitest", "KIT-07"),
    Effect.map(Edge.choose("answer", [1, 2, 3]), (answer) => assert.isAbove(answer, 0))
  )

  it.live(
    cites("a failing exploration fails the test with the report, and its replay string runs alone", "KIT-07", "KIT-02"),
    () =>
      Effect.sync(() => {
        const results = runSuite()
        const status = (title: string) => results.get(title)?.status
        const message = (title: string) => results.get(title)!.failureMessages.join("\n")

        assert.strictEqual(status("passes"), "passed")
        assert.strictEqual(status("skips"), "skipped")

        assert.strictEqual(status("explores"), "failed")
        assert.include(message("explores"), "explores: ")
        assert.include(message("explores"), "Error: lost update: x = 1")
        assert.include(message("explores"), "at least: f0 (f0.0 preempted) > f0.0")
        assert.match(message("explores"), /it\.interleavings\("explores", program, \{ replay: "p1t3:\S+" \}\)/)

        assert.strictEqual(status("replays a failure"), "failed")
        assert.include(message("replays a failure"), "lost update: x = 1\n  in: f0 (f0.0 preempted) > f0.0")

        assert.strictEqual(status("refuses a stale replay"), "failed")
        assert.include(message("refuses a stale replay"), "no longer offers the decisions")
      }),
    60_000
  )
})
