import { assert, describe, it } from "@effect/vitest"
import { InMemoryTransport } from "@modelcontextprotocol/client"
import { McpServer } from "@modelcontextprotocol/server"
import { Observer, ToolRegistry, type ToolResult } from "@quiesce/core"
import { Client } from "@quiesce/mcp"
import { Effect, Fiber, Layer, type Scope, Stream } from "effect"
import { TestClock } from "effect/testing"
import { z } from "zod"
import { cites } from "../../../tests/conformance/cites.ts"
import { tool } from "./support/bodies.ts"
import { Remote } from "./support/remote.ts"

const using = <A, E>(
  f: (remote: Remote, registry: ToolRegistry.Shape) => Effect.Effect<A, E, Scope.Scope>,
  options: Partial<Client.Options> = {}
) =>
  Effect.suspend(() => {
    const remote = new Remote()
    return Effect.scoped(Effect.flatMap(ToolRegistry.ToolRegistry, (registry) => f(remote, registry))).pipe(
      Effect.provide(Layer.provideMerge(Client.layer(remote.options(options)), ToolRegistry.layer([])))
    )
  })

const work = { callId: "1", name: "work", arguments: { n: 1 } }
const called = (remote: Remote, nth = 0) => Effect.promise(() => remote.frame("tools/call", nth))

/** A call that is answered: the connection lives. */
const isServed = Effect.fnUntraced(function*(remote: Remote, registry: ToolRegistry.Shape) {
  const nth = remote.sent("tools/call").length
  const fiber = yield* Effect.forkChild(registry.execute(work), { startImmediately: true })
  const { id } = yield* called(remote, nth)
  remote.answer(id, "served")
  const result = yield* Fiber.join(fiber)
  assert.deepStrictEqual(result.content, [{ type: "text", text: "served" }])
})

const unproven = (result: ToolResult.ToolResult) => {
  assert.deepStrictEqual(result.residue.map(({ kind }) => kind), ["remote"])
  assert.include(result.residue[0]?.detail, "not known")
}

describe("the tools of an MCP server", () => {
  it.effect("are tools of the registry, under their own schema", () =>
    using((remote, registry) =>
      Effect.gen(function*() {
        assert.deepStrictEqual(yield* registry.schemas, [
          { name: "work", description: "works", inputSchema: { type: "object" } }
        ])
        const fiber = yield* Effect.forkChild(registry.execute(work), { startImmediately: true })
        const { id, params } = yield* called(remote)
        assert.deepInclude(params, { name: "work", arguments: { n: 1 } })
        remote.send({ id, result: { content: [{ type: "text", text: "a" }], structuredContent: { a: 1 } } })
        const result = yield* Fiber.join(fiber)
        assert.deepStrictEqual(result._tag === "Success" && result.value, {
          content: [{ type: "text", text: "a" }],
          structuredContent: { a: 1 }
        })
        assert.deepStrictEqual(result.content, [{ type: "text", text: "a" }])
        assert.deepStrictEqual(result.residue, [])
      })
    ))

  it.effect("fail with what the server says", () =>
    using((remote, registry) =>
      Effect.gen(function*() {
        const answers = [
          { result: { content: [{ type: "text", text: "no" }], isError: true } },
          { error: { code: -32602, message: "Unknown tool" } }
        ]
        for (const [nth, answer] of answers.entries()) {
          const fiber = yield* Effect.forkChild(registry.execute(work), { startImmediately: true })
          const { id } = yield* called(remote, nth)
          remote.send({ id, ...answer })
          const result = yield* Fiber.join(fiber)
          assert.deepInclude(result._tag === "Failure" && result.error, { code: "TOOL_FAILURE", name: "RemoteFailed" })
          assert.strictEqual(
            ((result as ToolResult.Failure).error.detail as { readonly reason: string }).reason,
            ["Tool", "Protocol"][nth]
          )
        }
      })
    ))

  it.effect(
    cites("are cancelled by exactly one notification, and nobody waits for the server", "MCP-07"),
    () =>
      using((remote, registry) =>
        Effect.gen(function*() {
          const call = yield* registry.start(work)
          const { id } = yield* called(remote)
          yield* call.cancel()
          yield* call.cancel()
          const result = yield* call.result
          assert.strictEqual(result._tag === "Failure" && result.error.code, "ABORTED")
          unproven(result)
          const cancelled = remote.sent("notifications/cancelled")
          assert.deepStrictEqual(cancelled.map(({ params }) => params.requestId), [id])
        })
      )
  )

  it.effect(
    cites("drop an answer that is late, comes twice or is for nobody", "MCP-07"),
    () =>
      using((remote, registry) =>
        Effect.gen(function*() {
          const call = yield* registry.start(work)
          const { id } = yield* called(remote)
          yield* call.cancel()
          const result = yield* call.result
          remote.answer(id, "late")
          remote.answer(id, "twice")
          remote.answer(999, "nobody's")
          remote.answer("text", "nobody's")
          remote.send({ method: "notifications/progress", params: { progressToken: id, progress: 1 } })
          assert.strictEqual(result._tag === "Failure" && result.error.code, "ABORTED")
          yield* isServed(remote, registry)
          assert.lengthOf(remote.sent("notifications/cancelled"), 1)
        })
      )
  )

  it.effect(
    cites("tell the server of a timeout as of a cancel", "MCP-07"),
    () =>
      using((remote, registry) =>
        Effect.gen(function*() {
          const call = yield* registry.start(work)
          const { id } = yield* called(remote)
          yield* TestClock.adjust("10 seconds")
          const result = yield* call.result
          assert.strictEqual(result._tag === "Failure" && result.error.code, "TOOL_TIMEOUT")
          unproven(result)
          remote.answer(id, "late")
          assert.deepStrictEqual(remote.sent("notifications/cancelled").map(({ params }) => params.requestId), [id])
          yield* isServed(remote, registry)
        }), { timeout: "10 seconds" })
  )

  const progress = (remote: Remote, token: unknown, progress: number) =>
    remote.send({ method: "notifications/progress", params: { progressToken: token, progress } })

  it.effect(
    cites("have a deadline for silence that counts anew with each progress, and one for all", "MCP-07"),
    () =>
      Effect.suspend(() => {
        const reports: Array<number> = []
        const observed = Observer.layer({
          progress: (_, { progress }) => Effect.sync(() => void reports.push(progress))
        })
        const remote = new Remote()
        const options = remote.options({ idleTimeout: "2 seconds", timeout: "5 seconds" })
        return Effect.gen(function*() {
          const registry = yield* ToolRegistry.ToolRegistry
          // Silent: the deadline for silence.
          const silent = yield* registry.start(work)
          yield* called(remote, 0)
          yield* TestClock.adjust("2 seconds")
          const quiet = yield* silent.result
          assert.deepInclude(quiet._tag === "Failure" && quiet.error, {
            code: "TOOL_FAILURE",
            message: "no progress was reported for 2s"
          })
          unproven(quiet)
          // Talkative: the deadline for all.
          const talkative = yield* registry.start(work)
          const token = (yield* called(remote, 1)).params._meta.progressToken as number
          for (const n of [1, 2, 3]) {
            yield* TestClock.adjust("1500 millis")
            progress(remote, token, n)
          }
          assert.isDefined(yield* talkative.status)
          yield* TestClock.adjust("500 millis")
          const capped = yield* talkative.result
          assert.strictEqual(capped._tag === "Failure" && capped.error.code, "TOOL_TIMEOUT")
          // After the end it neither counts nor throws.
          progress(remote, token, 4)
          yield* TestClock.adjust("1 minute")
          assert.deepStrictEqual(reports, [1, 2, 3])
          assert.lengthOf(remote.sent("notifications/cancelled"), 2)
          yield* isServed(remote, registry)
        }).pipe(
          Effect.provide(Layer.provideMerge(Client.layer(options), Layer.provide(ToolRegistry.layer([]), observed)))
        )
      })
  )

  it.effect("fail when the connection is lost, and find the server again when nothing of the old is left", () =>
    using((remote, registry) =>
      Effect.gen(function*() {
        const call = yield* registry.start(work)
        yield* called(remote)
        yield* Effect.promise(() => remote.die())
        const result = yield* call.result
        assert.deepInclude((result as ToolResult.Failure).error.detail as object, { reason: "Connection" })
        assert.deepStrictEqual([remote.opened, remote.closed], [1, 0])
        yield* isServed(remote, registry)
        assert.deepStrictEqual([remote.opened, remote.closed], [2, 1])
      })
    ))

  it.effect("are those that the server has now", () =>
    using((remote, registry) =>
      Effect.gen(function*() {
        remote.tools = [{ name: "other", inputSchema: { type: "object" } }]
        const changes = yield* Effect.forkChild(
          Effect.callback<void>((resume) => {
            void remote.frame("tools/list", 1).then(() => resume(Effect.void))
          })
        )
        remote.send({ method: "notifications/tools/list_changed" })
        yield* Fiber.join(changes)
        yield* Effect.yieldNow
        yield* Effect.promise(() => new Promise<void>((resolve) => setImmediate(resolve)))
        assert.deepStrictEqual((yield* registry.schemas).map(({ name }) => name), ["other"])
      })
    ))

  const schemasWhere = (
    registry: ToolRegistry.Shape,
    holds: (schemas: ReadonlyArray<ToolRegistry.ToolSchema>) => boolean
  ) => Effect.forkChild(Stream.runHead(Stream.filter(registry.schemaChanges, holds)), { startImmediately: true })

  it.effect("are described as the server describes them now, once nobody calls them", () =>
    using((remote, registry) =>
      Effect.gen(function*() {
        const call = yield* registry.start(work)
        const { id } = yield* called(remote)
        remote.tools = [
          { name: "work", description: "works better", inputSchema: { type: "object" } },
          { name: "other", inputSchema: { type: "object" } }
        ]
        const other = yield* schemasWhere(registry, (schemas) => schemas.some(({ name }) => name === "other"))
        remote.send({ method: "notifications/tools/list_changed" })
        yield* Fiber.join(other)
        const described = (schemas: ReadonlyArray<ToolRegistry.ToolSchema>) =>
          schemas.find(({ name }) => name === "work")?.description
        assert.strictEqual(described(yield* registry.schemas), "works")
        const better = yield* schemasWhere(registry, (schemas) => described(schemas) === "works better")
        // The call goes on, and then the tool is exchanged.
        remote.answer(id, "done")
        assert.deepStrictEqual((yield* call.result).content, [{ type: "text", text: "done" }])
        yield* Fiber.join(better)
        assert.deepStrictEqual((yield* registry.schemas).map(({ name }) => name).sort(), ["other", "work"])
      })
    ))

  it.effect("are those of the server that was found again, which is asked for them once", () =>
    using((remote, registry) =>
      Effect.gen(function*() {
        const joined = Effect.fnUntraced(function*(name: string) {
          remote.tools = [...remote.tools, { name, inputSchema: { type: "object" } }]
          return yield* schemasWhere(registry, (schemas) => schemas.some((schema) => schema.name === name))
        })
        // Found by a call.
        const second = yield* joined("second")
        yield* Effect.promise(() => remote.die())
        yield* isServed(remote, registry)
        yield* Fiber.join(second)
        // Found by the question for its tools.
        const third = yield* joined("third")
        remote.send({ method: "notifications/tools/list_changed" })
        yield* Effect.promise(() => remote.die())
        yield* Fiber.join(third)
        yield* isServed(remote, registry)
        yield* Effect.promise(() => new Promise<void>((resolve) => setImmediate(resolve)))
        assert.deepStrictEqual([remote.opened, remote.closed, remote.sent("tools/list").length], [3, 2, 3])
      })
    ))

  it.effect("are had where others of that server cannot be, which have no name or one that is taken", () =>
    using((remote, registry) =>
      Effect.gen(function*() {
        yield* registry.register(tool("taken"))
        remote.tools = ["", "taken", "other"].map((name) => ({ name, inputSchema: { type: "object" } }))
        const other = yield* schemasWhere(registry, (schemas) => schemas.some(({ name }) => name === "other"))
        remote.send({ method: "notifications/tools/list_changed" })
        yield* Fiber.join(other)
        assert.deepStrictEqual((yield* registry.schemas).map(({ name }) => name), ["taken", "other"])
      })
    ))

  it.effect("can be those of the official SDK", () =>
    Effect.gen(function*() {
      const [near, far] = InMemoryTransport.createLinkedPair()
      const server = new McpServer({ name: "official", version: "1" })
      let aborted: AbortSignal | undefined
      server.registerTool(
        "wait",
        { description: "", inputSchema: z.object({}) },
        (_, { mcpReq: { signal } }) =>
          new Promise((resolve) => {
            aborted = signal
            signal.addEventListener("abort", () => resolve({ content: [] }))
          })
      )
      yield* Effect.promise(() => server.connect(far))
      const registry = yield* ToolRegistry.ToolRegistry
      const remote = yield* Client.connect({
        name: "client",
        version: "1",
        revision: "legacy",
        prefix: "official_",
        transport: Effect.succeed(near)
      })
      yield* registry.register(...yield* remote.tools)
      const call = yield* registry.start({ callId: "1", name: "official_wait", arguments: {} })
      yield* Effect.promise(() => new Promise<void>((resolve) => setImmediate(resolve)))
      yield* call.cancel()
      unproven(yield* call.result)
      yield* Effect.promise(() => new Promise<void>((resolve) => setImmediate(resolve)))
      assert.isTrue(aborted?.aborted)
    }).pipe(Effect.scoped, Effect.provide(ToolRegistry.layer([]))))
})
