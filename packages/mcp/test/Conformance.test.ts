import { assert, describe, it } from "@effect/vitest"
import { cites } from "../../../tests/conformance/cites.ts"
import { revisions } from "./support/peer.ts"
import { commandOf, fixture, start } from "./support/program.ts"

const suite = commandOf("@modelcontextprotocol/conformance", "dist/index.js")

/** The suite takes some 15 seconds for each revision, most of which it waits, and more on a machine that is busy. */
const patience = 180_000

describe("the official conformance suite", () => {
  for (const revision of revisions) {
    it(cites(`passes in ${revision}: all that it scores`, "MCP-09"), async () => {
      const server = start(fixture("everything-http.ts"))
      try {
        const [url] = (await server.wrote("/mcp")).split("\n")
        const { code, stdout } = await start(suite, "server", "--url", url!, "--requirements", revision).ended
        const summary = stdout.slice(stdout.indexOf("=== SUMMARY ==="))
        const failing = summary.split("\n").filter((line) => line.startsWith("✗")).map((line) => line.split(":")[0])
        // The extension for tasks is not scored, and the SDK does not serve it.
        assert.deepStrictEqual(failing.filter((line) => !line!.startsWith("✗ tasks-")), [])
        assert.isAtLeast(Number(/Total: (\d+) passed/.exec(summary)?.[1]), revision === "2025-11-25" ? 81 : 150)
        assert.strictEqual(code, 0, summary)
      } finally {
        server.child.stdin!.end()
        await server.ended
      }
    }, patience)
  }
})
