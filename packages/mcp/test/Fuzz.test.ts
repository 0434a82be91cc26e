/**
 * Frames of every kind of wrong, between calls that are right: each of these is served, and nothing is left in the end.
 *
 * `QUIESCE_FRAMES=100000 vitest run packages/mcp/test/Fuzz.test.ts` sends as many as are wanted; a few thousand are what a
 * run of the tests has time for. `QUIESCE_SEED` sends those of an earlier run again.
 */
import { assert, describe, it } from "@effect/vitest"
import { ToolRegistry } from "@quiesce/core"
import { Effect } from "effect"
import { cites } from "../../../tests/conformance/cites.ts"
import * as Bodies from "./support/bodies.ts"
import { call, cancel, open, request, type Revision, revisions } from "./support/peer.ts"

const frames = Number(process.env["QUIESCE_FRAMES"] ?? 3_000)
const seed = Number(process.env["QUIESCE_SEED"] ?? Date.now() % 2 ** 31)

/** Numbers from 0 to below 1, the same for a seed. */
const randomOf = (seed: number) => {
  let state = seed >>> 0
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 32
  }
}

const hostile = (revision: Revision, random: () => number): string => {
  const int = (below: number) => Math.floor(random() * below)
  const pick = <A>(...from: ReadonlyArray<A>): A => from[int(from.length)]!
  const value = (depth: number): unknown =>
    depth === 0 || random() < 0.4
      ? pick<unknown>(null, true, -1, 1e308, "", "\u2028", "__proto__", "\ud800", 0, [], {})
      : random() < 0.5
      ? Array.from({ length: int(4) }, () => value(depth - 1))
      : Object.fromEntries(
        Array.from({ length: int(4) }, () => [
          pick("id", "method", "params", "__proto__", "constructor", "_meta", "toJSON", "result", "requestId", "name"),
          value(depth - 1)
        ])
      )
  const id = () => pick<unknown>(0, 1, "", "x", "__proto__", "q1", "constructor", null, 1.5, -1, {}, [], true, 2 ** 60)
  const whole = () =>
    JSON.stringify(call(revision, id(), pick("echo", "steps", "nobody", "__proto__"), { text: value(3) }))
  switch (int(9)) {
    case 0:
      return JSON.stringify(value(4)) ?? ""
    case 1:
      return whole().slice(0, int(60))
    case 2:
      return JSON.stringify({ jsonrpc: pick<unknown>("2.0", "1.0", 2), id: id(), method: value(1), params: value(3) })
    case 3:
      return JSON.stringify(cancel(id(), pick("", "why", undefined)))
    case 4:
      return JSON.stringify({ jsonrpc: "2.0", method: "notifications/cancelled", params: value(3) })
    case 5:
      return "[".repeat(int(5_000)) + "]".repeat(int(5_000))
    case 6:
      return JSON.stringify(request(revision, id(), pick("tools/call", "tools/list", "nope", "initialize", "ping"), {
        [pick("name", "arguments", "_meta", "x")]: value(3)
      }))
    case 7:
      return JSON.stringify({ jsonrpc: "2.0", id: id(), [pick("result", "error")]: value(3) })
    default:
      return whole()
  }
}

describe("a stdio server", () => {
  for (const revision of revisions) {
    it.live(
      cites(`serves every legal call between ${frames} frames of every kind, in ${revision}`, "MCP-11"),
      () =>
        Effect.suspend(() => {
          const random = randomOf(seed)
          const bodies = Bodies.make()
          return Effect.scoped(Effect.gen(function*() {
            const registry = yield* ToolRegistry.ToolRegistry
            const { exit, peer } = yield* open(revision, { maxFrameBytes: 20_000 })
            for (let sent = 0; sent < frames;) {
              const legal = `legal-${sent}`
              const lines: Array<string> = []
              for (let n = 0; n < 20; n++, sent++) lines.push(hostile(revision, random))
              lines.splice(Math.floor(random() * 20), 0, JSON.stringify(call(revision, legal, "echo", { text: legal })))
              const bytes = Buffer.from(lines.join("\n") + "\n")
              // In pieces of any size.
              for (let from = 0; from < bytes.length;) {
                const to = from + 1 + Math.floor(random() * 4_000)
                peer.input.write(bytes.subarray(from, to))
                from = to
              }
              const { result } = yield* Effect.promise(() => peer.answer(legal))
              assert.strictEqual(result.content[0].text, legal, `seed ${seed}`)
              peer.frames.length = 0
            }
            yield* Effect.promise(() => peer.settled(revision))
            yield* registry.whenIdle
            peer.input.end()
            yield* exit
            assert.deepStrictEqual(yield* registry.inFlight, [])
          })).pipe(Effect.provide(ToolRegistry.layer(bodies.tools)))
        }),
      20_000 + frames * 10
    )
  }
})
