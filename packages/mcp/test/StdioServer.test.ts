import { assert, describe, it } from "@effect/vitest"
import { McpServer } from "@modelcontextprotocol/server"
import { Observer, ToolRegistry, type ToolResult } from "@quiesce/core"
import { type Cancelled, StdioServer } from "@quiesce/mcp"
import { Cause, Effect, Exit, Fiber, type Scope } from "effect"
import { TestClock } from "effect/testing"
import { z } from "zod"
import { cites } from "../../../tests/conformance/cites.ts"
import * as Bodies from "./support/bodies.ts"
import { call, cancel, initialize, open, Peer, request, type Revision, revisions } from "./support/peer.ts"

const served = <A, E>(
  f: (bodies: Bodies.Bodies) => Effect.Effect<A, E, ToolRegistry.ToolRegistry | Scope.Scope>
) =>
  Effect.suspend(() => {
    const bodies = Bodies.make()
    return Effect.scoped(Effect.ensuring(f(bodies), bodies.releaseAll)).pipe(
      Effect.provide(ToolRegistry.layer(bodies.tools))
    )
  })

const answerTo = (peer: Peer, id: string | number) => Effect.promise(() => peer.answer(id))
const settled = (peer: Peer, revision: Revision) => Effect.promise(() => peer.settled(revision))
const errorOf = (peer: Peer) =>
  Effect.map(Effect.promise(() => peer.frame(({ error }) => error !== undefined)), ({ error }) => error!)

for (const revision of revisions) {
  describe(`a stdio server, in ${revision}`, () => {
    it.effect("lists tools, calls them and reports their progress, which grows", () =>
      served(() =>
        Effect.gen(function*() {
          const { peer } = yield* open(revision)
          peer.send(call(revision, "p", "steps"))
          const answer = yield* answerTo(peer, "p")
          assert.deepStrictEqual(answer.result.structuredContent, { steps: 3 })
          assert.deepStrictEqual(
            peer.frames.filter(({ method }) => method === "notifications/progress").map(({ params }) => params),
            [1, 2, 3].map((progress) => ({ progressToken: "p", progress, total: 3 }))
          )
        })
      ))

    it.effect("tells a failure as a result, and a tool that is not there as an error", () =>
      served((bodies) =>
        Effect.gen(function*() {
          const { peer } = yield* open(revision)
          yield* bodies.release("f")
          peer.send(call(revision, 1, "failing", { key: "f" }), call(revision, 2, "nobody"))
          const { result } = yield* answerTo(peer, 1)
          assert.isTrue(result.isError)
          assert.deepInclude(result._meta["quiesce/error"], { code: "TOOL_FAILURE", message: "late", dispatched: true })
          assert.deepInclude((yield* answerTo(peer, 2)).error!, { code: -32602, message: "Unknown tool: nobody" })
        })
      ))

    it.effect("tells its client that the list of tools has changed", () =>
      served(() =>
        Effect.gen(function*() {
          const { peer } = yield* open(revision)
          if (revision === "2026-07-28") {
            peer.send(request(revision, "sub", "subscriptions/listen", { notifications: { toolsListChanged: true } }))
            yield* Effect.promise(() =>
              peer.frame(({ method }) => method === "notifications/subscriptions/acknowledged")
            )
          }
          const registry = yield* ToolRegistry.ToolRegistry
          yield* registry.register(Bodies.tool("another"))
          const told = yield* Effect.promise(() =>
            peer.frame(({ method }) => method === "notifications/tools/list_changed")
          )
          // A subscriber knows its subscription by the id that it gave it.
          const id = revision === "2026-07-28" ? "sub" : undefined
          assert.strictEqual(told.params?._meta?.["io.modelcontextprotocol/subscriptionId"], id)
          peer.send(request(revision, "list", "tools/list"))
          const { result } = yield* answerTo(peer, "list")
          assert.include(result.tools.map(({ name }: { name: string }) => name), "another")
        })
      ))

    it.effect(
      cites("sends nothing more for a cancelled request, whose body is interrupted", "MCP-01"),
      () =>
        served((bodies) =>
          Effect.gen(function*() {
            const { peer } = yield* open(revision)
            peer.send(call(revision, 1, "wait", { key: "a" }))
            yield* bodies.began("a")
            peer.send(cancel(1, "enough"))
            yield* settled(peer, revision)
            assert.deepStrictEqual(bodies.quiet, ["a"])
            assert.deepStrictEqual(peer.about(1), [])
          })
        )
    )

    it.effect(
      cites("sends nothing for one whose body goes on, reports and succeeds or fails", "MCP-01", "MCP-05"),
      () =>
        served((bodies) =>
          Effect.gen(function*() {
            const { peer } = yield* open(revision)
            peer.send(call(revision, 1, "stubborn", { key: "a" }), call(revision, 2, "failing", { key: "b" }))
            yield* bodies.began("a")
            yield* bodies.began("b")
            peer.send(cancel(1), cancel(2))
            yield* settled(peer, revision)
            assert.deepStrictEqual(bodies.quiet, [])
            yield* bodies.release("a")
            yield* bodies.release("b")
            const registry = yield* ToolRegistry.ToolRegistry
            yield* registry.whenIdle
            yield* settled(peer, revision)
            assert.deepStrictEqual(bodies.quiet, ["a", "b"])
            assert.deepStrictEqual(peer.about(1), [])
            // The one report was made before the cancel.
            assert.deepStrictEqual(peer.about(2).map(({ params }) => params?.progress), [1])
          })
        )
    )

    it.effect(
      cites("tells 0, '', '0', 1 and '1' apart", "MCP-01", "MCP-02"),
      () =>
        served((bodies) =>
          Effect.gen(function*() {
            const ids = [0, "", "0", 1, "1"]
            const key = (id: string | number) => JSON.stringify(id)
            const { peer } = yield* open(revision)
            for (const cancelled of ids) {
              peer.send(...ids.map((id) => call(revision, id, "wait", { key: key(id) + key(cancelled) })))
              for (const id of ids) yield* bodies.began(key(id) + key(cancelled))
              const before = peer.frames.length
              peer.send(cancel(cancelled))
              yield* settled(peer, revision)
              assert.strictEqual(bodies.quiet.at(-1), key(cancelled) + key(cancelled))
              const others = ids.filter((id) => id !== cancelled)
              for (const id of others) yield* bodies.release(key(id) + key(cancelled))
              const registry = yield* ToolRegistry.ToolRegistry
              yield* registry.whenIdle
              yield* settled(peer, revision)
              const answered = peer.frames.slice(before).map(({ id }) => id).filter((id) => ids.includes(id!))
              assert.deepStrictEqual(new Set(answered), new Set(others))
              assert.strictEqual(answered.length, others.length)
            }
          })
        )
    )

    it.effect(
      cites("ignores a cancel of what is unknown or over, and one that makes no sense", "MCP-01"),
      () =>
        served((bodies) =>
          Effect.gen(function*() {
            const { peer } = yield* open(revision)
            peer.send(call(revision, 1, "echo", { text: "over" }))
            yield* answerTo(peer, 1)
            peer.send(call(revision, 2, "wait", { key: "a" }))
            yield* bodies.began("a")
            const senseless = [{}, null, [], { requestId: null }, { requestId: {} }, { requestId: "2" }, {
              requestId: 1
            }]
            peer.send(
              { jsonrpc: "2.0", method: "notifications/cancelled" },
              ...senseless.map((params) => ({ jsonrpc: "2.0", method: "notifications/cancelled", params }))
            )
            yield* settled(peer, revision)
            assert.deepStrictEqual(bodies.quiet, [])
            yield* bodies.release("a")
            assert.strictEqual((yield* answerTo(peer, 2)).result.content[0].text, "\"released a\"")
          })
        )
    )

    it.effect(
      cites("refuses an id that is in flight, and the first is unharmed", "MCP-02"),
      () =>
        served((bodies) =>
          Effect.gen(function*() {
            const { peer } = yield* open(revision)
            peer.send(call(revision, 1, "wait", { key: "a" }), call(revision, 1, "wait", { key: "b" }))
            yield* bodies.began("a")
            assert.strictEqual((yield* errorOf(peer)).code, -32600)
            yield* bodies.release("a")
            yield* Effect.promise(() => peer.frame(({ id, result }) => id === 1 && result !== undefined))
            assert.deepStrictEqual(bodies.starts, ["a"])
          })
        )
    )

    it.effect(
      cites("knows whether the id of a cancelled request that is not quiet can be had", "MCP-02"),
      () =>
        served((bodies) =>
          Effect.gen(function*() {
            const { peer } = yield* open(revision)
            peer.send(call(revision, 1, "stubborn", { key: "old" }))
            yield* bodies.began("old")
            peer.send(cancel(1), call(revision, 1, "wait", { key: "new" }))
            if (revision === "2025-11-25") {
              assert.strictEqual((yield* errorOf(peer)).code, -32600)
              yield* bodies.release("old")
              const registry = yield* ToolRegistry.ToolRegistry
              yield* registry.whenIdle
              yield* settled(peer, revision)
              peer.send(call(revision, 1, "wait", { key: "new" }))
            }
            yield* bodies.began("new")
            yield* bodies.release("old")
            yield* settled(peer, revision)
            // The end of the old one has not freed the id of the new one.
            const refusals = peer.frames.filter(({ error }) => error !== undefined).length
            peer.send(call(revision, 1, "echo", { text: "third" }))
            yield* settled(peer, revision)
            assert.strictEqual(peer.frames.filter(({ error }) => error !== undefined).length, refusals + 1)
            yield* bodies.release("new")
            const { result } = yield* Effect.promise(() =>
              peer.frame(({ id, result }) => id === 1 && result !== undefined)
            )
            assert.strictEqual(result.content[0].text, "\"released new\"")
            assert.deepStrictEqual(peer.about(1).filter(({ result }) => result !== undefined).length, 1)
          })
        )
    )

    it.effect(
      cites("keeps the ids of two connections apart", "MCP-02", "MCP-03"),
      () =>
        served((bodies) =>
          Effect.gen(function*() {
            const one = yield* open(revision)
            const two = yield* open(revision)
            one.peer.send(call(revision, 1, "wait", { key: "one" }))
            two.peer.send(call(revision, 1, "wait", { key: "two" }))
            yield* bodies.began("one")
            yield* bodies.began("two")
            one.peer.send(cancel(1))
            yield* settled(one.peer, revision)
            assert.deepStrictEqual(bodies.quiet, ["one"])
            yield* bodies.release("two")
            yield* answerTo(two.peer, 1)
            assert.deepStrictEqual(one.peer.about(1), [])
          })
        )
    )

    it.effect(
      cites("cancels everything at the end of its input, answers nothing, and ends when it is quiet", "MCP-03"),
      () =>
        served((bodies) =>
          Effect.gen(function*() {
            const { exit, peer, server } = yield* open(revision)
            peer.send(call(revision, 1, "wait", { key: "a" }), call(revision, 2, "stubborn", { key: "b" }))
            yield* bodies.began("a")
            yield* bodies.began("b")
            const before = peer.frames.length
            peer.input.end()
            yield* bodies.asked("b")
            // Whatever does not wait for a body has happened by now.
            yield* TestClock.adjust("1 second")
            const registry = yield* ToolRegistry.ToolRegistry
            assert.isUndefined(server.pollUnsafe())
            assert.deepStrictEqual((yield* registry.inFlight).map(({ name }) => name), ["stubborn"])
            yield* bodies.release("b")
            assert.deepStrictEqual(yield* exit, Exit.void)
            assert.deepStrictEqual(bodies.quiet, ["a", "b"])
            assert.deepStrictEqual(peer.frames.slice(before), [])
          })
        )
    )

    it.effect(
      cites("names what is not quiet after the exit grace", "MCP-03"),
      () =>
        served((bodies) =>
          Effect.gen(function*() {
            const { exit, peer, server } = yield* open(revision, { exitGrace: "2 seconds" })
            peer.send(call(revision, 1, "stubborn", { key: "a" }))
            yield* bodies.began("a")
            peer.input.end()
            yield* Effect.promise(() => new Promise<void>((resolve) => peer.input.once("close", resolve)))
            yield* TestClock.adjust("1999 millis")
            assert.isUndefined(server.pollUnsafe())
            yield* TestClock.adjust("1 millis")
            const ended = yield* exit
            assert.isTrue(Exit.isFailure(ended))
            const error = Exit.isFailure(ended) ? Cause.squash(ended.cause) : undefined
            assert.instanceOf(error, StdioServer.NotQuiet)
            assert.include((error as Error).message, "stubborn")
            yield* bodies.release("a")
          })
        )
    )

    it.effect(
      cites("tells a body who wanted it to stop", "MCP-06", "MCP-03"),
      () =>
        served((bodies) =>
          Effect.gen(function*() {
            const client = yield* open(revision)
            client.peer.send(call(revision, 1, "wait", { key: "client" }))
            const gone = yield* open(revision)
            gone.peer.send(call(revision, 1, "wait", { key: "connection" }))
            const closing = yield* open(revision)
            closing.peer.send(call(revision, 1, "wait", { key: "server" }))
            for (const key of ["client", "connection", "server"]) yield* bodies.began(key)
            // The first reason counts.
            client.peer.send(cancel(1, "enough"), cancel(1, "more than enough"))
            yield* settled(client.peer, revision)
            gone.peer.input.end()
            yield* gone.exit
            yield* Fiber.interrupt(closing.server)
            const told = ["client", "connection", "server"].map((key) => bodies.reasons.get(key) as Cancelled.Cancelled)
            assert.deepStrictEqual(told.map(({ by }) => by), ["client", "connection", "server"])
            assert.deepStrictEqual(told.map(({ message }) => message), [
              "the client cancelled the request: enough",
              "the connection was closed",
              "the server is closing"
            ])
            assert.deepStrictEqual(told.map(({ name }) => name), ["AbortError", "AbortError", "AbortError"])
            assert.strictEqual(told[0]?.reason, "enough")
          })
        )
    )

    it.effect(
      cites("does not start the body of a call that is cancelled in the same chunk", "MCP-08"),
      () =>
        served((bodies) =>
          Effect.gen(function*() {
            const { peer } = yield* open(revision)
            peer.send(call(revision, 1, "wait", { key: "a" }), cancel(1), call(revision, 2, "echo", { text: "b" }))
            yield* answerTo(peer, 2)
            yield* settled(peer, revision)
            assert.deepStrictEqual(bodies.starts, [])
            assert.deepStrictEqual(peer.about(1), [])
          })
        )
    )

    it.effect(cites("refuses what is no message, and lives", "MCP-11"), () =>
      served(() =>
        Effect.gen(function*() {
          const { peer } = yield* open(revision, { maxFrameBytes: 100_000 })
          const deep = (depth: number, id: unknown) =>
            `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"method":"tools/call","params":{"name":"echo","arguments":${
              "[".repeat(depth)
            }${"]".repeat(depth)}}}`
          const huge = JSON.stringify(call(revision, "huge", "echo", { text: "x".repeat(100_000) }))
          const wrong: ReadonlyArray<readonly [frame: object | string, code: number, id: unknown]> = [
            ["{\"jsonrpc\":", -32700, null],
            ["\u0000\u0001", -32700, null],
            [[], -32600, null],
            ["null", -32600, null],
            ["7", -32600, null],
            [{ jsonrpc: "1.0", id: 1, method: "tools/list" }, -32600, 1],
            [{ jsonrpc: "2.0", id: null, method: "tools/list" }, -32600, null],
            [{ jsonrpc: "2.0", id: {}, method: "tools/list" }, -32600, null],
            [{ jsonrpc: "2.0", id: 2, method: 3 }, -32600, 2],
            [{ jsonrpc: "2.0", id: 3, method: "tools/list", params: [1] }, -32600, 3],
            [deep(20_000, 4), -32600, 4],
            [huge, -32600, "huge"]
          ]
          for (const [frame, code, id] of wrong) {
            const before = peer.frames.length
            peer.send(frame)
            yield* settled(peer, revision)
            const [refusal] = peer.frames.slice(before)
            assert.deepStrictEqual([refusal?.error?.code, refusal?.id], [code, id], JSON.stringify(frame).slice(0, 80))
            peer.send(call(revision, "legal", "echo", { text: "served" }))
            const { result } = yield* answerTo(peer, "legal")
            assert.strictEqual(result.content[0].text, "served")
            peer.frames.length = 0
          }
        })
      ))

    it.effect(
      cites("reads a message split at every byte, and many in one chunk", "MCP-11"),
      () =>
        served(() =>
          Effect.gen(function*() {
            const { peer } = yield* open(revision)
            for (const byte of Buffer.from(JSON.stringify(call(revision, 1, "echo", { text: "ü€😀" })) + "\r\n\n")) {
              peer.input.write(Uint8Array.of(byte))
            }
            assert.strictEqual((yield* answerTo(peer, 1)).result.content[0].text, "ü€😀")
            peer.send(...Array.from({ length: 50 }, (_, id) => call(revision, id + 10, "echo", { text: `${id}` })))
            for (let id = 0; id < 50; id++) {
              assert.strictEqual((yield* answerTo(peer, id + 10)).result.content[0].text, `${id}`)
            }
          })
        )
    )

    it.effect(
      cites("runs more than a hundred calls at once, and cancels each alone", "MCP-11"),
      () =>
        served((bodies) =>
          Effect.gen(function*() {
            const { peer } = yield* open(revision)
            const ids = Array.from({ length: 120 }, (_, id) => id)
            peer.send(...ids.map((id) => call(revision, id, "wait", { key: `${id}` })))
            for (const id of ids) yield* bodies.began(`${id}`)
            peer.send(...ids.filter((id) => id % 2 === 0).map((id) => cancel(id)))
            yield* settled(peer, revision)
            assert.strictEqual(bodies.quiet.length, 60)
            for (const id of ids) yield* bodies.release(`${id}`)
            for (const id of ids.filter((id) => id % 2 === 1)) yield* answerTo(peer, id)
            assert.isTrue(ids.filter((id) => id % 2 === 0).every((id) => peer.about(id).length === 0))
          })
        )
    )

    it.effect(
      cites("queues what is beyond its bound, and a call that waits can be cancelled", "MCP-11"),
      () =>
        served((bodies) =>
          Effect.gen(function*() {
            const { peer } = yield* open(revision, { concurrency: { max: 1, excess: "queue" } })
            peer.send(...["a", "b", "c"].map((key) => call(revision, key, "wait", { key })))
            yield* bodies.began("a")
            peer.send(cancel("b"))
            yield* settled(peer, revision)
            assert.deepStrictEqual(bodies.starts, ["a"])
            yield* bodies.release("a")
            yield* bodies.began("c")
            yield* bodies.release("c")
            yield* answerTo(peer, "c")
            assert.deepStrictEqual(bodies.starts, ["a", "c"])
            assert.deepStrictEqual(peer.about("b"), [])
          })
        )
    )

    it.effect(
      cites("refuses what is beyond its bound, where it is told to", "MCP-11"),
      () =>
        served((bodies) =>
          Effect.gen(function*() {
            const { peer } = yield* open(revision, { concurrency: { max: 1, excess: "refuse" } })
            peer.send(call(revision, "a", "wait", { key: "a" }), call(revision, "b", "wait", { key: "b" }))
            assert.deepStrictEqual((yield* answerTo(peer, "b")).error, {
              code: -32000,
              message: "The server is busy: it runs 1 calls at once, and no more"
            })
            yield* bodies.release("a")
            yield* answerTo(peer, "a")
            assert.deepStrictEqual(bodies.starts, ["a"])
          })
        )
    )

    it.effect("is cancelled by a client that does not read", () =>
      served((bodies) =>
        Effect.gen(function*() {
          const { peer } = yield* open(revision)
          peer.output.pause()
          const text = "x".repeat(100_000)
          peer.send(...Array.from({ length: 20 }, (_, id) => call(revision, id, "echo", { text })))
          peer.send(call(revision, "w", "wait", { key: "a" }))
          yield* bodies.began("a")
          peer.send(cancel("w"))
          const registry = yield* ToolRegistry.ToolRegistry
          yield* registry.whenIdle
          assert.deepStrictEqual(bodies.quiet, ["a"])
          peer.output.resume()
          yield* settled(peer, revision)
          assert.deepStrictEqual(peer.about("w"), [])
        })
      ))
  })
}

describe("a stdio server", () => {
  it.effect(
    cites("lets no handler speak of a cancelled request, also none of somebody else", "MCP-01"),
    () =>
      served(() =>
        Effect.gen(function*() {
          const began = Promise.withResolvers<void>()
          const cancelled = Promise.withResolvers<void>()
          const asked = Promise.withResolvers<unknown>()
          const askedByTheWay = Promise.withResolvers<unknown>()
          const server = () => {
            const server = new McpServer({ name: "somebody else's", version: "1" })
            server.registerTool("talkative", { description: "", inputSchema: z.object({}) }, async (_, { mcpReq }) => {
              const report = (progress: number) =>
                ({ method: "notifications/progress", params: { progressToken: 7, progress } }) as const
              await mcpReq.notify(report(1))
              began.resolve()
              await cancelled.promise
              assert.isTrue(mcpReq.signal.aborted)
              await mcpReq.notify(report(2))
              await server.server.notification(report(3))
              const params = {
                mode: "form",
                message: "?",
                requestedSchema: { type: "object", properties: {} }
              } as const
              const became = (answer: Promise<unknown>) => answer.then(() => "answered", () => "refused")
              asked.resolve(await became(mcpReq.send({ method: "elicitation/create", params })))
              askedByTheWay.resolve(await became(server.server.elicitInput(params)))
              throw new Error("late")
            })
            return server
          }
          const peer = new Peer()
          yield* Effect.forkScoped(
            StdioServer.serve({ name: "", version: "", server, streams: { input: peer.input, output: peer.output } })
          )
          peer.send({ ...initialize(), params: { ...initialize().params, capabilities: { elicitation: {} } } })
          yield* answerTo(peer, "init")
          peer.send(call("2025-11-25", 7, "talkative"))
          yield* Effect.promise(() => began.promise)
          peer.send(cancel(7))
          yield* settled(peer, "2025-11-25")
          cancelled.resolve()
          assert.strictEqual(yield* Effect.promise(() => asked.promise), "refused")
          assert.strictEqual(yield* Effect.promise(() => askedByTheWay.promise), "refused")
          yield* settled(peer, "2025-11-25")
          assert.deepStrictEqual(peer.about(7).map(({ params }) => params?.progress), [1])
          assert.deepStrictEqual(peer.frames.filter(({ method }) => method === "elicitation/create"), [])
        })
      )
  )

  it.effect(cites("does not let `initialize` be cancelled", "MCP-01"), () =>
    served(() =>
      Effect.gen(function*() {
        const { peer } = yield* open("2026-07-28")
        peer.send(initialize(), cancel("init"))
        assert.strictEqual((yield* answerTo(peer, "init")).result.protocolVersion, "2025-11-25")
      })
    ))

  it.effect(cites("shows late failures to whoever runs it", "MCP-05"), () =>
    Effect.suspend(() => {
      const bodies = Bodies.make()
      const results: Array<ToolResult.ToolResult> = []
      return Effect.scoped(Effect.gen(function*() {
        const { peer } = yield* open("2025-11-25")
        peer.send(call("2025-11-25", 1, "failing", { key: "a" }))
        yield* bodies.began("a")
        peer.send(cancel(1))
        yield* settled(peer, "2025-11-25")
        yield* bodies.release("a")
        const registry = yield* ToolRegistry.ToolRegistry
        yield* registry.whenIdle
        yield* settled(peer, "2025-11-25")
        assert.deepStrictEqual(
          results.map((result) => result._tag === "Failure" && [result.error.code, result.error.message]),
          [["TOOL_FAILURE", "late"]]
        )
        assert.deepStrictEqual(peer.frames.filter(({ error, id }) => error !== undefined || id === 1), [])
      })).pipe(
        Effect.provide(ToolRegistry.layer(bodies.tools)),
        Effect.provide(Observer.layer((_, result) => Effect.sync(() => void results.push(result))))
      )
    }))
})
