/** What becomes of a client that asks, and does not read. */
import { assert, describe, it } from "@effect/vitest"
import { Observer, Tool, ToolRegistry } from "@quiesce/core"
import { HttpServer } from "@quiesce/mcp"
import { Effect, Layer, Schema } from "effect"
import { TestClock } from "effect/testing"
import { cites } from "../../../tests/conformance/cites.ts"
import * as Bodies from "./support/bodies.ts"
import { call, cancel, open, type Peer, type Revision, revisions } from "./support/peer.ts"
import { headersOf, Reading, web } from "./support/web.ts"

const maxUnreadBytes = 100_000
const text = "x".repeat(10_000)

const chatty = Tool.make("chatty", {
  description: "Reports more than a client reads",
  parameters: Schema.Struct({}),
  success: Schema.String,
  render: (text) => [{ type: "text", text }],
  execute: (_, call) =>
    Effect.sync(() => {
      for (let progress = 1; progress <= 2_000; progress++) call.progress({ progress, message: text })
      return "said"
    })
})

const big = Tool.make("big", {
  description: "Says much where little was asked",
  parameters: Schema.Struct({}),
  success: Schema.String,
  execute: () => Effect.succeed(text)
})

/** A turn of the event loop. */
const turn = Effect.promise(() => new Promise<void>((resolve) => setImmediate(resolve)))

/** A server whose client reads nothing from now on, and what it has called so far. */
const unread = Effect.fnUntraced(function*(revision: Revision) {
  const bodies = Bodies.make()
  yield* Effect.addFinalizer(() => bodies.releaseAll)
  const called: Array<string> = []
  const registry = yield* Layer.build(
    ToolRegistry.layer([...bodies.tools, big, chatty]).pipe(
      Layer.provide(Observer.layer(({ name }) => Effect.sync(() => void called.push(name))))
    )
  )
  return yield* Effect.gen(function*() {
    const { whenIdle } = yield* ToolRegistry.ToolRegistry
    const { exit, peer, server } = yield* open(revision, { maxUnreadBytes })
    peer.output.pause()
    /** What can happen without its reading has happened. */
    const settled = Effect.gen(function*() {
      for (let n = 0; n < 100; n++) yield* turn
      yield* whenIdle
    })
    return { bodies, called, exit, peer, server, settled }
  }).pipe(Effect.provide(registry))
})

const echo = (revision: Revision, id: number) => call(revision, id, "echo", { text })
const answers = (peer: Peer) => peer.frames.filter(({ result }) => result !== undefined).map(({ id }) => id)

for (const revision of revisions) {
  describe(`a client that does not read what it asked for, in ${revision}`, () => {
    it.effect(
      cites("is kept so much of and no more, can cancel, and is served when it reads", "MCP-11", "MCP-01", "MCP-08"),
      () =>
        Effect.scoped(Effect.gen(function*() {
          const { bodies, called, peer, settled } = yield* unread(revision)
          peer.send(call(revision, "w", "wait", { key: "w" }))
          yield* bodies.began("w")
          const ids = Array.from({ length: 60 }, (_, id) => id)
          for (const id of ids) {
            peer.send(call(revision, id, "big"))
            yield* turn
          }
          // What runs and what waits are cancelled alike.
          peer.send(cancel("w"), cancel(50))
          yield* settled
          assert.deepStrictEqual(bodies.quiet, ["w"])
          assert.isBelow(called.length, 20)
          assert.isBelow(peer.output.writableLength, maxUnreadBytes + 3 * text.length)
          // It reads some, and stops again: of what waits only so much goes on.
          for (let n = 0; n < 3; n++) {
            peer.output.once("data", () => peer.output.pause())
            peer.output.resume()
            yield* settled
          }
          assert.isBelow(peer.output.writableLength, maxUnreadBytes + 3 * text.length)
          peer.output.resume()
          yield* Effect.promise(() => peer.answer(59))
          assert.deepStrictEqual(answers(peer).filter((id) => id !== "init"), ids.filter((id) => id !== 50))
          assert.strictEqual(called.filter((name) => name === "big").length, 59)
          assert.deepStrictEqual(peer.about(50), [])
        }))
    )

    it.effect(
      cites("is read so much of and no more, calls or not, and all of it in the end", "MCP-11"),
      () =>
        Effect.scoped(Effect.gen(function*() {
          const { called, peer, settled } = yield* unread(revision)
          const ids = Array.from({ length: 60 }, (_, id) => id)
          for (const id of ids) {
            peer.send(echo(revision, id))
            yield* turn
          }
          yield* settled
          assert.isBelow(called.length, 20)
          // The rest of it has not been read: it waits on its own side.
          assert.isAbove(peer.input.readableLength + peer.input.writableLength, 15 * text.length)
          assert.isBelow(peer.output.writableLength, 2 * maxUnreadBytes + 3 * text.length)
          peer.output.resume()
          yield* Effect.promise(() => peer.answer(59))
          assert.deepStrictEqual(answers(peer).filter((id) => id !== "init"), ids)
        }))
    )

    it.effect(
      cites("is told that what it wrote is no message no more often than it may leave unread", "MCP-11"),
      () =>
        Effect.scoped(Effect.gen(function*() {
          const { peer } = yield* unread(revision)
          for (let n = 0; n < 80; n++) {
            peer.send(...Array.from({ length: 60 }, () => "{"))
            yield* turn
          }
          assert.isBelow(peer.output.writableLength, 2 * maxUnreadBytes + 3 * text.length)
          peer.output.resume()
          peer.send(echo(revision, 1))
          yield* Effect.promise(() => peer.answer(1))
          assert.strictEqual(peer.frames.filter(({ error }) => error?.code === -32700).length, 4_800)
        }))
    )

    it.effect(
      cites("is told of progress as far as it reads, and of the answer", "MCP-11"),
      () =>
        Effect.scoped(Effect.gen(function*() {
          const { peer, settled } = yield* unread(revision)
          peer.send(call(revision, 1, "chatty"))
          yield* settled
          assert.isBelow(peer.output.writableLength, maxUnreadBytes + 3 * text.length)
          peer.output.resume()
          assert.strictEqual((yield* Effect.promise(() => peer.answer(1))).result.content[0].text, "said")
        }))
    )

    it.effect(
      cites("counts as gone when it takes nothing for a minute, while nothing more is read of it", "MCP-03", "MCP-06"),
      () =>
        Effect.scoped(Effect.gen(function*() {
          const { bodies, exit, peer, server } = yield* unread(revision)
          peer.send(call(revision, "w", "wait", { key: "w" }))
          yield* bodies.began("w")
          for (let id = 0; id < 60; id++) {
            peer.send(echo(revision, id))
            yield* turn
          }
          // Its input has ended behind that, which nobody has read.
          peer.input.end()
          yield* TestClock.adjust("59 seconds")
          assert.isUndefined(server.pollUnsafe())
          assert.deepStrictEqual(bodies.quiet, [])
          yield* TestClock.adjust("1 second")
          yield* exit
          assert.deepStrictEqual(bodies.quiet, ["w"])
          assert.strictEqual((bodies.reasons.get("w") as Error).message, "the connection was closed")
        }))
    )
  })
}

for (const revision of revisions) {
  describe(`a client that does not read its response over HTTP, in ${revision}`, () => {
    it.effect(
      cites("is told of progress as far as it reads, and of the answer", "MCP-11"),
      () =>
        Effect.gen(function*() {
          const { handle } = yield* HttpServer.make({ name: "", version: "" })
          const client = web({ handle } as HttpServer.Shape)
          const session = yield* Effect.promise(() => client.open(revision))
          const frame = call(revision, 1, "chatty")
          const request = new Request("http://localhost/mcp", {
            method: "POST",
            headers: headersOf(frame, session),
            body: JSON.stringify(frame)
          })
          const response = yield* Effect.promise(() => handle(request))
          const { whenIdle } = yield* ToolRegistry.ToolRegistry
          for (let n = 0; n < 100; n++) yield* turn
          yield* whenIdle
          const reading = new Reading(response)
          yield* Effect.promise(() => reading.ended)
          const { length } = reading.frames
          assert.strictEqual(reading.frames[length - 1]!.result.content[0].text, "said")
          assert.isAbove(length, 100)
          assert.isBelow(length, 1_100)
        }).pipe(Effect.scoped, Effect.provide(ToolRegistry.layer([chatty])))
    )
  })
}
