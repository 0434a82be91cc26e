import { assert, describe, it } from "@effect/vitest"
import { InMemoryTransport } from "@modelcontextprotocol/client"
import { McpServer as McpServer1 } from "@modelcontextprotocol/sdk/server/mcp.js"
import { McpServer, Server } from "@modelcontextprotocol/server"
import { serveStdio, StdioServerTransport } from "@modelcontextprotocol/server/stdio"
import { ToolRegistry } from "@quiesce/core"
import { Attach } from "@quiesce/mcp"
import * as Sdk1 from "@quiesce/mcp/Sdk1"
import { Effect, Exit, Fiber, Scope } from "effect"
import { TestClock } from "effect/testing"
import { z } from "zod"
import { cites } from "../../../tests/conformance/cites.ts"
import * as Bodies from "./support/bodies.ts"
import { call, cancel, initialize, Peer, request } from "./support/peer.ts"

const revision = "2025-11-25"
const info = { name: "official", version: "1" }

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
const settled = (peer: Peer) => Effect.promise(() => peer.settled(revision))

/** A server of the official SDK with a tool of its own. */
const official = () => {
  const server = new McpServer(info)
  server.registerTool("own", { description: "its own", inputSchema: z.object({}) }, () => ({
    content: [{ type: "text", text: "its own" }]
  }))
  return server
}

/** The ways to have the tools of a registry on a server that was built with an official SDK. */
const ways: ReadonlyArray<
  readonly [
    name: string,
    connect: (peer: Peer) => Effect.Effect<void, unknown, ToolRegistry.ToolRegistry | Scope.Scope>
  ]
> = [
  ["an McpServer of 2.x", (peer) => Attach.connect(official(), new StdioServerTransport(peer.input, peer.output))],
  ["a Server of 2.x", (peer) => Attach.connect(new Server(info), new StdioServerTransport(peer.input, peer.output))],
  ["an McpServer of 1.x", (peer) =>
    Effect.asVoid(
      Sdk1.connect(new McpServer1(info), new StdioServerTransport(peer.input, peer.output) as never)
    )]
]

for (const [name, connect] of ways) {
  describe(`tools attached to ${name}`, () => {
    const open = Effect.fnUntraced(function*() {
      const peer = new Peer()
      const scope = yield* Scope.fork(yield* Effect.scope)
      yield* Effect.provideService(connect(peer), Scope.Scope, scope)
      peer.send(initialize(), { jsonrpc: "2.0", method: "notifications/initialized" })
      yield* answerTo(peer, "init")
      return { peer, scope }
    })

    it.effect(
      cites("are cancelled under every id, and silent from then on", "MCP-01", "MCP-02"),
      () =>
        served((bodies) =>
          Effect.gen(function*() {
            const { peer } = yield* open()
            for (const id of [0, "", "0", 1, "1"]) {
              const key = JSON.stringify(id)
              peer.send(call(revision, id, "failing", { key }))
              yield* bodies.began(key)
              peer.send(cancel(id), call(revision, id, "echo", { text: "twice" }))
              const refused = yield* Effect.promise(() =>
                peer.frame((frame) => frame.id === id && frame.error !== undefined)
              )
              assert.strictEqual(refused.error?.code, -32600)
              yield* bodies.release(key)
              const registry = yield* ToolRegistry.ToolRegistry
              yield* registry.whenIdle
              yield* settled(peer)
              assert.deepStrictEqual(
                peer.about(id).filter((frame) => frame !== refused).map(({ params }) => params?.progress),
                [1]
              )
            }
          })
        )
    )

    it.effect(
      cites("do not start when they are cancelled in the same chunk", "MCP-08"),
      () =>
        served((bodies) =>
          Effect.gen(function*() {
            const { peer } = yield* open()
            peer.send(call(revision, 7, "wait", { key: "a" }), cancel(7))
            yield* settled(peer)
            assert.deepStrictEqual(bodies.starts, [])
          })
        )
    )

    it.effect(
      cites("are cancelled with the connection, and quiet when the scope is closed", "MCP-03", "MCP-06"),
      () =>
        served((bodies) =>
          Effect.gen(function*() {
            const { peer, scope } = yield* open()
            peer.send(call(revision, 1, "stubborn", { key: "a" }))
            yield* bodies.began("a")
            const before = peer.frames.length
            const closing = yield* Effect.forkChild(Scope.close(scope, Exit.void), { startImmediately: true })
            yield* bodies.asked("a")
            // Whatever does not wait for a body has happened by now.
            yield* TestClock.adjust("1 second")
            assert.isUndefined(closing.pollUnsafe())
            yield* bodies.release("a")
            yield* Fiber.join(closing)
            assert.strictEqual((bodies.reasons.get("a") as Error).message, "the server is closing")
            assert.deepStrictEqual(bodies.quiet, ["a"])
            assert.deepStrictEqual(peer.frames.slice(before), [])
          })
        )
    )

    it.effect("follow the registry", () =>
      served(() =>
        Effect.gen(function*() {
          const { peer } = yield* open()
          const registry = yield* ToolRegistry.ToolRegistry
          const names = Effect.fnUntraced(function*(id: string) {
            peer.send(request(revision, id, "tools/list"))
            const { result } = yield* answerTo(peer, id)
            return result.tools.map(({ name }: { readonly name: string }) => name) as ReadonlyArray<string>
          })
          const own = name === "an McpServer of 2.x" ? ["own"] : []
          assert.sameMembers([...yield* names("1")], [...own, "wait", "stubborn", "failing", "steps", "echo"])
          yield* Effect.scoped(Effect.gen(function*() {
            yield* registry.register(Bodies.tool("another"))
            yield* Effect.promise(() => peer.frame(({ method }) => method === "notifications/tools/list_changed"))
            assert.include(yield* names("2"), "another")
          }))
          yield* Effect.promise(() =>
            peer.frame(() =>
              peer.frames.filter(({ method }) => method === "notifications/tools/list_changed").length > 1
            )
          )
          assert.notInclude(yield* names("3"), "another")
        })
      ))
  })
}

describe("tools attached to a server that somebody else connects", () => {
  it.effect(
    cites("do not start when they are cancelled, and end when the connection does", "MCP-08", "MCP-03"),
    () =>
      served((bodies) =>
        Effect.gen(function*() {
          const peer = new Peer()
          const server = official()
          yield* Attach.attach(server)
          serveStdio(() => server, { transport: new StdioServerTransport(peer.input, peer.output) })
          peer.send(initialize(), { jsonrpc: "2.0", method: "notifications/initialized" })
          yield* answerTo(peer, "init")
          peer.send(call(revision, 1, "wait", { key: "a" }), cancel(1), call(revision, 2, "wait", { key: "b" }))
          yield* bodies.began("b")
          yield* settled(peer)
          assert.deepStrictEqual(bodies.starts, ["b"])
          peer.input.end()
          const registry = yield* ToolRegistry.ToolRegistry
          yield* registry.whenIdle
          assert.deepStrictEqual(bodies.quiet, ["b"])
          assert.strictEqual((bodies.reasons.get("b") as Error).message, "the connection was closed")
        })
      )
  )

  it.effect(
    cites("have an id again once it is answered, for those who share a connection without knowing", "MCP-02"),
    () =>
      served((bodies) =>
        Effect.gen(function*() {
          const peer = new Peer()
          const server = new Server(info)
          yield* Attach.attach(server)
          serveStdio(() => server, { transport: new StdioServerTransport(peer.input, peer.output) })
          peer.send(initialize(), { jsonrpc: "2.0", method: "notifications/initialized" })
          yield* answerTo(peer, "init")
          peer.send(call(revision, 1, "wait", { key: "a" }))
          yield* bodies.began("a")
          peer.send(call(revision, 1, "echo", { text: "too early" }))
          yield* settled(peer)
          yield* bodies.release("a")
          yield* Effect.promise(() => peer.frame(({ id, result }) => id === 1 && result !== undefined))
          peer.send(call(revision, 1, "echo", { text: "again" }))
          yield* Effect.promise(() => peer.frame(() => peer.frames.filter(({ id }) => id === 1).length === 3))
          assert.deepStrictEqual(
            peer.frames.filter(({ id }) => id === 1).map(({ error, result }) => error?.code ?? result.content[0].text),
            [-32600, "\"released a\"", "again"]
          )
        })
      )
  )

  it.effect("are described as the tool that has their name now", () =>
    served(() =>
      Effect.gen(function*() {
        const peer = new Peer()
        yield* Attach.connect(official(), new StdioServerTransport(peer.input, peer.output))
        peer.send(initialize(), { jsonrpc: "2.0", method: "notifications/initialized" })
        yield* answerTo(peer, "init")
        const registry = yield* ToolRegistry.ToolRegistry
        const changes = (count: number) =>
          Effect.promise(() =>
            peer.frame(() =>
              peer.frames.filter(({ method }) => method === "notifications/tools/list_changed").length >= count
            )
          )
        const old = yield* Scope.fork(yield* Effect.scope)
        yield* Effect.provideService(registry.register(Bodies.tool("another")), Scope.Scope, old)
        yield* changes(1)
        yield* Scope.close(old, Exit.void)
        yield* registry.register({ ...Bodies.tool("another"), description: "a newer one" })
        yield* changes(2)
        peer.send(request(revision, 1, "tools/list"))
        const { result } = yield* answerTo(peer, 1)
        assert.deepInclude(
          result.tools.find(({ name }: { readonly name: string }) => name === "another"),
          { description: "a newer one" }
        )
      })
    ))

  it.effect("follow the registry also where one of them has a name that the server has", () =>
    served(() =>
      Effect.gen(function*() {
        const server = official()
        const errors: Array<string> = []
        server.server.onerror = ({ message }) => void errors.push(message)
        const peer = new Peer()
        yield* Attach.connect(server, new StdioServerTransport(peer.input, peer.output))
        peer.send(initialize(), { jsonrpc: "2.0", method: "notifications/initialized" })
        yield* answerTo(peer, "init")
        const registry = yield* ToolRegistry.ToolRegistry
        const changed = Effect.promise(() => peer.frame(({ method }) => method === "notifications/tools/list_changed"))
        yield* Effect.forEach(["own", "another"], (name) => registry.register(Bodies.tool(name)))
        yield* changed
        peer.send(call(revision, 1, "own"), call(revision, 2, "another"))
        assert.strictEqual((yield* answerTo(peer, 1)).result.content[0].text, "its own")
        assert.strictEqual((yield* answerTo(peer, 2)).result.content[0].text, "null")
        assert.match(errors[0]!, /own is already registered/)
      })
    ))

  it.effect("leave it when the scope closes", () =>
    served(() =>
      Effect.gen(function*() {
        const server = official()
        yield* Effect.scoped(Attach.attach(server))
        const [near, far] = InMemoryTransport.createLinkedPair()
        yield* Effect.promise(() => server.connect(far))
        const listed = new Promise<unknown>((resolve) => {
          near.onmessage = (message) => {
            if ((message as { readonly id?: unknown }).id === "list") resolve(message)
          }
        })
        yield* Effect.promise(() => near.send(initialize() as never))
        yield* Effect.promise(() => near.send(request(revision, "list", "tools/list") as never))
        const { result } = (yield* Effect.promise(() => listed)) as {
          readonly result: { readonly tools: ReadonlyArray<{ name: string }> }
        }
        assert.deepStrictEqual(result.tools.map(({ name }) => name), ["own"])
      })
    ))
})
