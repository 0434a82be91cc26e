/** Lines, cut out of whatever pieces they come in. */
import { assert, describe, it } from "@effect/vitest"
import { cites } from "../../../../tests/conformance/cites.ts"
import { Lines } from "../../src/internal/lines.ts"

/** What is in use of the memory that JavaScript has, in megabytes. */
const used = () => {
  const { arrayBuffers, heapUsed } = process.memoryUsage()
  return (arrayBuffers + heapUsed) / 1e6
}

describe("a line", () => {
  it(cites("that comes byte by byte costs what it is long, and is whole", "MCP-11"), () => {
    const heard: Array<string | undefined> = []
    const lines = new Lines(1_000_000, (line) => heard.push(line))
    const before = used()
    // Kept in pieces they would be 130 megabytes.
    for (let n = 0; n < 1_000_000; n++) lines.read(Uint8Array.of(0x78))
    assert.isBelow(used() - before, 60)
    lines.read(Uint8Array.of(0x0a))
    lines.read(Buffer.from("ä\n"))
    assert.deepStrictEqual(heard, ["x".repeat(1_000_000), "ä"])
  })

  it(cites("that is too long is told as that, and the next one is read", "MCP-11"), () => {
    const heard: Array<string | undefined> = []
    const lines = new Lines(4, (line) => heard.push(line))
    for (const text of ["12", "345", "6\n12", "34\n", "\n 5 \n12345\n6"]) lines.read(Buffer.from(text))
    assert.deepStrictEqual(heard, [undefined, "1234", "5", undefined])
  })

  it(cites("that is too long tells whose it is, wherever it is cut", "MCP-11", "MCP-07"), () => {
    const bytes = Buffer.from(
      String.raw`{"result":{"id":1,"x":["\\\"]},",{"id":2}]},"jsonrpc":"2.0","\u0069d":"a\u0062","z":"zzz"}` + "\n"
    )
    for (let cut = 1; cut < bytes.length; cut++) {
      const heard: Array<unknown> = []
      const lines = new Lines(32, (line, skimmed) => heard.push(line, skimmed))
      lines.read(bytes.subarray(0, cut))
      lines.read(bytes.subarray(cut))
      assert.deepStrictEqual(heard, [undefined, { id: "ab", what: "answer" }], `cut at ${cut}`)
    }
  })
})
