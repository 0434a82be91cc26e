/**
 * One tool over HTTP, and a client that goes away in the middle of its call: in the revision of 2025-11-25 the call goes
 * on until it is cancelled, in that of 2026-07-28 it is cancelled with its connection.
 *
 * The server is called as the function that it is, from a request to a response: no port is needed for that. `server.ts`
 * beside this file is one with a port, for any MCP client.
 */
import { Abortable, Tool, ToolRegistry } from "@quiesce/core"
import { HttpServer } from "@quiesce/mcp"
import { Deferred, Effect, Schema } from "effect"
import assert from "node:assert/strict"

let began = Deferred.makeUnsafe<void>()

const wait = Tool.make("wait", {
  description: "Waits until it is cancelled",
  parameters: Schema.Struct({}),
  success: Schema.Null,
  execute: (_, call) =>
    Effect.suspend(() => {
      call.progress({ progress: 1 })
      Deferred.doneUnsafe(began, Effect.void)
      return Effect.never
    })
})

type Headers = { readonly [name: string]: string }

const post = (body: object, headers: Headers, signal?: AbortSignal): Request =>
  new Request("http://localhost/mcp", {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json, text/event-stream", ...headers },
    body: JSON.stringify({ jsonrpc: "2.0", ...body }),
    ...(signal === undefined ? {} : { signal })
  })

const client = { name: "example", version: "1.0.0" }

const program = Effect.gen(function*() {
  const { handle } = yield* HttpServer.make({ name: "example", version: "1.0.0" })
  const registry = yield* ToolRegistry.ToolRegistry
  const send = (request: Request) => Abortable.promise(() => handle(request))
  const running = Effect.map(
    registry.inFlight,
    (calls) => calls.filter(({ cancelling }) => cancelling === undefined).length
  )

  /** Calls the tool, and goes away once it has begun. */
  const callAndLeave = Effect.fnUntraced(function*(params: object, headers: Headers) {
    began = Deferred.makeUnsafe<void>()
    const connection = new AbortController()
    const asked = handle(post({ id: 1, method: "tools/call", params }, headers, connection.signal))
    yield* Deferred.await(began)
    connection.abort()
    yield* Abortable.promise(() => asked.then(({ body }) => body?.cancel()))
    return yield* running
  })

  const initialize = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: client }
  const opened = yield* send(post({ id: 0, method: "initialize", params: initialize }, {}))
  yield* Abortable.promise(() => opened.text())
  const session = { "mcp-session-id": opened.headers.get("mcp-session-id")! }

  const kept = yield* callAndLeave({ name: "wait", arguments: {} }, session)
  console.log("2025-11-25, the client is gone:", kept, "call runs")
  const { status } = yield* send(post({ method: "notifications/cancelled", params: { requestId: 1 } }, session))
  yield* registry.whenIdle
  console.log("2025-11-25, cancelled by another POST:", status)

  const stateless = {
    name: "wait",
    arguments: {},
    _meta: {
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientInfo": client,
      "io.modelcontextprotocol/clientCapabilities": {}
    }
  }
  const ended = yield* callAndLeave(stateless, {
    "mcp-protocol-version": "2026-07-28",
    "mcp-method": "tools/call",
    "mcp-name": "wait"
  })
  yield* registry.whenIdle
  console.log("2026-07-28, the client is gone:", ended, "calls run")
  assert.deepEqual([kept, status, ended], [1, 202, 0])
})

await Effect.runPromise(Effect.scoped(Effect.provide(program, ToolRegistry.layer([wait]))))
