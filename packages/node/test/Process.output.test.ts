/**
 * What is kept of a command's output.
 */
import { assert, describe, it } from "@effect/vitest"
import { Command, Output, Process } from "@quiesce/node"
import { Effect, Schema } from "effect"
import { cites } from "../../../tests/conformance/cites.ts"
import * as Keep from "../src/internal/keep.ts"

const bytes = (...values: ReadonlyArray<number>) => Uint8Array.from(values)

describe("the kept output", () => {
  it.prop(
    "law: is the beginning and the end of what was given, however it was cut into pieces",
    {
      maxBytes: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 40 })),
      pieces: Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 30 })))
    },
    ({ maxBytes, pieces }) => {
      const keep = Keep.make(maxBytes)
      const all: Array<number> = []
      for (const length of pieces) {
        const piece = Uint8Array.from({ length }, (_, i) => all.length + i)
        all.push(...piece)
        keep.push(piece)
      }
      const output = keep.output(true)
      const head = Math.min(all.length, Math.ceil(maxBytes / 2))
      const tail = Math.min(all.length - head, Math.floor(maxBytes / 2))
      const expected = Uint8Array.from(all)
      assert.deepStrictEqual(output.head, expected.subarray(0, head))
      assert.deepStrictEqual(output.tail, expected.subarray(expected.length - tail))
      assert.strictEqual(output.bytes, all.length)
      assert.strictEqual(Output.cut(output), all.length - head - tail)
    },
    { arbitrary: { runs: 500 } }
  )

  it(cites("says in the text how much is missing, and drops a character the cut goes through", "NODE-03"), () => {
    const keep = Keep.make(8)
    keep.push(new TextEncoder().encode("abcä0123456789€"))
    // The cut falls behind the first byte of "ä" and behind the first of "€".
    assert.strictEqual(Output.toText(keep.output(true)), "abc\n[10 bytes cut]\n9€")
  })

  it("shows what is no UTF-8 as such, and whole characters as they are", () => {
    const text = (head: Uint8Array, tail: Uint8Array, missing: number) =>
      Output.toText({ head, tail, bytes: head.length + tail.length + missing, complete: true })
    assert.strictEqual(text(bytes(0x61, 0xff), bytes(), 0), "a\uFFFD")
    assert.strictEqual(text(bytes(0xe2, 0x82), bytes(0xac), 0), "€")
    assert.strictEqual(text(bytes(0xe2, 0x82, 0xac), bytes(0xf0, 0x9f, 0x98, 0x80), 1), "€\n[1 bytes cut]\n😀")
    assert.strictEqual(text(bytes(0xf0, 0x9f, 0x98), bytes(0x9f, 0x98, 0x80, 0x61), 1), "\n[1 bytes cut]\na")
    const stray = bytes(0x80, 0x80, 0x80, 0x80)
    assert.strictEqual(text(stray, stray, 1), "\uFFFD\uFFFD\uFFFD\uFFFD\n[1 bytes cut]\n\uFFFD")
  })
})

describe("the output of a command", () => {
  it.live(cites("is bounded in memory, counted and cut in its middle", "NODE-03"), () =>
    Effect.gen(function*() {
      const script = "printf start; head -c 50000000 /dev/zero; printf end"
      const { stdout } = yield* Process.run(Command.shell(script, { maxBytes: 1000 }))
      assert.strictEqual(stdout.bytes, 50_000_008)
      assert.strictEqual(Output.cut(stdout), 50_000_008 - 1000)
      assert.isTrue(stdout.complete)
      assert.strictEqual(Buffer.from(stdout.head.subarray(0, 5)).toString(), "start")
      assert.strictEqual(Buffer.from(stdout.tail.subarray(-3)).toString(), "end")
    }))

  it.live(cites("is kept byte for byte, also binary and without a newline", "NODE-03"), () =>
    Effect.gen(function*() {
      const all = Array.from({ length: 256 }, (_, i) => `\\${i.toString(8).padStart(3, "0")}`).join("")
      const { stdout } = yield* Process.run(Command.make("printf", [all]))
      assert.deepStrictEqual([...Output.toBytes(stdout)], Array.from({ length: 256 }, (_, i) => i))
    }))

  it.live(
    cites("ends where the program closes it, though the program lives on", "NODE-03"),
    () =>
      Effect.gen(function*() {
        const command = Command.shell("echo first; exec >&- 2>&-; sleep 0.2; exit 5")
        const outcome = yield* Process.run(command)
        assert.strictEqual(Output.toText(outcome.stdout), "first\n")
        assert.strictEqual(outcome._tag === "Exited" ? outcome.code : undefined, 5)
      })
  )

  it.live(cites("so far is part of the outcome of a timeout", "NODE-03", "NODE-05"), () =>
    Effect.gen(function*() {
      const outcome = yield* Process.run(Command.shell("echo far; sleep 1000", { timeout: "300 millis" }))
      assert.strictEqual(outcome._tag, "TimedOut")
      assert.strictEqual(Output.toText(outcome.stdout), "far\n")
    }))
})
