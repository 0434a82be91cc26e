import { assert, describe, it } from "@effect/vitest"
import * as Suite from "@quiesce/mcp/Suite"
import { cites } from "../../../tests/conformance/cites.ts"
import { revisions } from "./support/peer.ts"
import { fixture, start } from "./support/program.ts"

/** Some of its cases start a process, which takes seconds, and more on a machine that is busy. */
const patience = 300_000

const command = (...args: ReadonlyArray<string>): Suite.Target => ({
  _tag: "Command",
  command: process.execPath,
  args: ["--conditions=@quiesce/source", ...args]
})

const faults = (outcomes: ReadonlyArray<Suite.Outcome>) =>
  outcomes.flatMap(({ fault, name }) => fault === undefined ? [] : [`${name}: ${fault}`])

describe("the suite for cancellation", () => {
  for (const revision of revisions) {
    it(cites(`finds nothing over HTTP, in ${revision}`, "MCP-01", "MCP-02", "MCP-03", "MCP-04"), async () => {
      const server = start(fixture("suite.ts"), "0")
      try {
        const [url] = (await server.wrote("/mcp")).split("\n")
        const outcomes = await Suite.run({ _tag: "Url", url: url! }, revision)
        assert.deepStrictEqual(faults(outcomes), [])
        assert.isAbove(outcomes.length, 6)
      } finally {
        server.child.stdin!.end()
        await server.ended
      }
    }, patience)
  }

  // All of them over stdio, with a process for each, are what the command is for.
  const only = ["same-chunk", "duplicate", "garbage", "end-of-input"]

  it(cites("finds nothing over stdio", "MCP-02", "MCP-03", "MCP-08", "MCP-11"), async () => {
    const outcomes = await Suite.run(command(fixture("suite.ts")), "2025-11-25", { only })
    assert.deepStrictEqual(faults(outcomes), [])
    assert.deepStrictEqual(outcomes.map(({ name }) => name), only)
  }, patience)

  it("finds what an SDK by itself does with a call that is cancelled in its chunk", async () => {
    const outcomes = await Suite.run(command(fixture("suite-sdk.ts"), "2"), "2025-11-25", { only: ["same-chunk"] })
    assert.deepStrictEqual(faults(outcomes), ["same-chunk: its body began"])
  }, patience)

  it("finds at once that there is no server", async () => {
    const outcomes = await Suite.run({ _tag: "Command", command: "/nowhere/to/be/found", args: [] }, "2025-11-25", {
      only: ["zero"]
    })
    assert.match(faults(outcomes).join(), /^zero: the answer to "suite-initialize" did not come: .*ENOENT/)
  })

  it("is a command that ends with 2 where it has put no case", async () => {
    const { code, stdout } = await start(
      fixture("../../src/internal/suite/main.ts"),
      "--url",
      "http://localhost/mcp",
      "--case",
      "misspelt"
    ).ended
    assert.deepStrictEqual({ code, stdout }, { code: 2, stdout: "0 cases hold, 0 fail\n" })
  }, patience)
})
