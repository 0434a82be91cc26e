/** Frames, cut out of whatever pieces they come in. */
import { assert, describe, it } from "@effect/vitest"
import { Frames } from "@quiesce/wire"
import { cites } from "../../../tests/conformance/cites.ts"

/** What is in use of the memory that JavaScript has, in megabytes. */
const used = () => {
  const { arrayBuffers, heapUsed } = process.memoryUsage()
  return (arrayBuffers + heapUsed) / 1e6
}

const bytes = (text: string) => new TextEncoder().encode(text)

const json = (value: unknown): Frames.Frame => ({ _tag: "Json", value })

const nested = (depth: number) => "[".repeat(depth) + "]".repeat(depth)

describe("a frame", () => {
  it(cites("is a line of JSON, and what is none does not keep the next one", "ACP-08", "MCP-11"), () => {
    const frames = Frames.make({ maxBytes: 100, maxDepth: 9 })
    assert.deepStrictEqual(
      ["1", "2\n\"ä", "\"\n\r\n \n{\n", "[3]\r\n4"].flatMap((text) => frames.push(bytes(text))),
      [json(12), json("ä"), { _tag: "NotJson" }, json([3])]
    )
    assert.deepStrictEqual(frames.flush(), [json(4)])
    assert.deepStrictEqual(frames.flush(), [])
  })

  it(cites("is whole, wherever its characters are cut", "ACP-08", "MCP-11"), () => {
    const frames = Frames.make({ maxBytes: 100, maxDepth: 9 })
    const pieces = Array.from(bytes("\"ä€😀\"\n"), (byte) => Uint8Array.of(byte))
    assert.deepStrictEqual(pieces.flatMap((piece) => frames.push(piece)), [json("ä€😀")])
  })

  it(cites("that comes byte by byte costs what it is long", "ACP-08", "MCP-11"), () => {
    const frames = Frames.make({ maxBytes: 2_000_000, maxDepth: 9 })
    const before = used()
    // Kept in pieces they would be 130 megabytes.
    for (let n = 0; n < 1_000_000; n++) frames.push(Uint8Array.of(0x37))
    assert.isBelow(used() - before, 60)
    assert.deepStrictEqual(frames.push(bytes("\n")), [json(Infinity)])
  })

  it(cites("that is kept is nobody's to write into", "ACP-08", "MCP-11"), () => {
    const frames = Frames.make({ maxBytes: 100, maxDepth: 9 })
    const chunk = bytes("12")
    frames.push(chunk)
    chunk.fill(0x39)
    assert.deepStrictEqual(frames.push(bytes("3\n")), [json(123)])
  })

  it(cites("that is too long is told as that, and the next one is read", "ACP-08", "MCP-11"), () => {
    const frames = Frames.make({ maxBytes: 4, maxDepth: 9 })
    const long: Frames.Frame = { _tag: "TooLong", id: undefined, kind: "neither" }
    assert.deepStrictEqual(
      ["12", "345", "6\n12", "34\n", "\n 5 \n12345\n6"].flatMap((text) => frames.push(bytes(text))),
      [long, json(1234), json(5), long]
    )
    assert.deepStrictEqual(frames.flush(), [json(6)])
  })

  it(cites("that is too long is not kept, however long it is", "ACP-08", "MCP-11"), () => {
    const frames = Frames.make({ maxBytes: 1000, maxDepth: 9 })
    const before = used()
    const chunk = new Uint8Array(1_000_000).fill(0x78)
    for (let n = 0; n < 50; n++) frames.push(chunk)
    assert.isBelow(used() - before, 30)
    assert.strictEqual(frames.push(bytes("\n"))[0]?._tag, "TooLong")
  })

  it(cites("that is too long tells whose it is, wherever it is cut", "ACP-08", "MCP-11", "MCP-07"), () => {
    const params = String.raw`"params":{"id":1,"x":["\\\"]},",{"id":2}]}`
    const id = String.raw`"\u0069d":"a\u0062"`
    const frames: ReadonlyArray<readonly [text: string, kind: Frames.Refused["kind"]]> = [
      [`{"method":"_a",${params},${id},"z":"zzz"}`, "call"],
      [`{${id},${params},"method":"_a"}`, "call"],
      [`{"result":"_a",${params},${id},"z":"zzz"}`, "answer"],
      [`{${id},${params},"error":{"method":"_a"}}`, "answer"],
      [`{${id},${params}}`, "neither"]
    ]
    for (const [text, kind] of frames) {
      const line = bytes(`${text}\n`)
      for (let cut = 1; cut < line.length; cut++) {
        const frames = Frames.make({ maxBytes: 32, maxDepth: 9 })
        const read = [line.subarray(0, cut), line.subarray(cut)].flatMap((piece) => frames.push(piece))
        assert.deepStrictEqual(read, [{ _tag: "TooLong", id: "ab", kind }], `${text} cut at ${cut}`)
      }
    }
  })

  it(cites("that is too long has no id where that is long itself", "ACP-08", "MCP-11"), () => {
    const frames = Frames.make({ maxBytes: 32, maxDepth: 9 })
    for (const id of [`"${"x".repeat(300)}"`, "1".repeat(300)]) {
      assert.deepStrictEqual(frames.push(bytes(`{"method":"_a","id":${id}}\n`)), [
        { _tag: "TooLong", id: undefined, kind: "call" }
      ])
    }
  })

  it(cites("that is nested too deeply tells whose it is", "ACP-08", "MCP-11"), () => {
    const read = (text: string) => Frames.read(text, { maxDepth: 100 })
    assert.strictEqual(read(nested(100))._tag, "Json")
    assert.deepStrictEqual(read(nested(101)), { _tag: "TooDeep", id: undefined, kind: "neither" })
    const deep = nested(100_000)
    assert.deepStrictEqual(read(`{"id":7,"method":"_a","params":${deep}}`), { _tag: "TooDeep", id: 7, kind: "call" })
    assert.deepStrictEqual(read(`{"id":7,"result":${deep}}`), { _tag: "TooDeep", id: 7, kind: "answer" })
    assert.deepStrictEqual(read(`{"params":${deep}}`), { _tag: "TooDeep", id: undefined, kind: "neither" })
  })

  it(cites("is not nested by brackets in its strings", "ACP-08", "MCP-11"), () => {
    const text = JSON.stringify([`\\"${"[{".repeat(500)}`, "\"", `${"[".repeat(500)}\\`])
    assert.deepStrictEqual(Frames.read(text, { maxDepth: 1 }), json(JSON.parse(text)))
  })
})
