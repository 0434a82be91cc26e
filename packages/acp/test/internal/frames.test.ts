/** Frames, cut out of whatever pieces they come in. */
import { assert, describe, it } from "@effect/vitest"
import { cites } from "../../../../tests/conformance/cites.ts"
import { Decoder } from "../../src/internal/frames.ts"
import { request } from "../support/driver.ts"

/** What is in use of the memory that JavaScript has, in megabytes. */
const used = () => {
  const { arrayBuffers, heapUsed } = process.memoryUsage()
  return (arrayBuffers + heapUsed) / 1e6
}

describe("a frame", () => {
  it(cites("that comes byte by byte costs what it is long, and is whole", "ACP-08"), () => {
    const decoder = new Decoder({ maxFrameBytes: 2_000_000 })
    const message = request(1, "_note", { text: "x".repeat(1_000_000) })
    const before = used()
    // Kept in pieces they would be 130 megabytes.
    for (const byte of Buffer.from(JSON.stringify(message))) decoder.push(Uint8Array.of(byte))
    assert.isBelow(used() - before, 60)
    assert.deepStrictEqual(decoder.push(Uint8Array.of(0x0a)), [{ _tag: "Request", message }] as never)
  })

  it(cites("that is too long tells whose it is, wherever it is cut", "ACP-08"), () => {
    const bytes = Buffer.from(
      String
        .raw`{"method":"_a","params":{"id":1,"x":["\\\"]},",{"id":2}]},"jsonrpc":"2.0","\u0069d":"a\u0062","z":"zzz"}` +
        "\n"
    )
    for (let cut = 1; cut < bytes.length; cut++) {
      const decoder = new Decoder({ maxFrameBytes: 32 })
      const frames = [...decoder.push(bytes.subarray(0, cut)), ...decoder.push(bytes.subarray(cut))]
      assert.deepStrictEqual(frames, [{ _tag: "Invalid", id: "ab", problem: "longer than 32 bytes" }], `cut at ${cut}`)
    }
  })
})
