import { assert, describe, it } from "@effect/vitest"
import { Suite } from "@quiesce/acp"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { join } from "node:path"
import { childEnvironment } from "../../../tests/child-environment.ts"
import { cites } from "../../../tests/conformance/cites.ts"
import { faultsOf, programs } from "./suite/programs.ts"

/** Each of its cases starts a process, which takes seconds on a machine that is busy. */
const patience = 300_000

// All of them, with a process for each, are what `npm run acp-suite` is for: here is what only a process shows.
const only = ["same-chunk", "end-of-input", "asked-to-end", "hung-up", "slow-reader", "prompt-again", "cascade"]

describe("the suite for cancellation", () => {
  it(cites("finds nothing in an agent of ours", "ACP-01", "ACP-02", "ACP-04", "ACP-06", "ACP-10"), async () => {
    const outcomes = await Suite.run(programs.ours, { only })
    assert.deepStrictEqual(faultsOf(outcomes), [])
    assert.deepStrictEqual(outcomes.map(({ name }) => name), only)
  }, patience)

  it("finds what an SDK by itself does", async () => {
    const outcomes = await Suite.run(programs.sdk, { only: ["same-chunk", "duplicate", "deadline"] })
    assert.deepStrictEqual(faultsOf(outcomes), [
      "same-chunk: its body began",
      "duplicate: the second is not refused",
      "deadline: it is answered with -32603"
    ])
  }, patience)

  it("has its cases numbered", () => {
    assert.deepStrictEqual(Suite.cases.map(({ number }) => number), Suite.cases.map((_, index) => index + 1))
  })

  it("is a command that ends with 2 where it has put no case", async () => {
    const main = join(import.meta.dirname, "../src/internal/suite/main.ts")
    const child = spawn(process.execPath, [main, "--case", "misspelt", "--", "agent"], {
      env: childEnvironment(),
      stdio: "ignore"
    })
    assert.deepStrictEqual(await once(child, "exit"), [2, null])
  }, patience)
})
