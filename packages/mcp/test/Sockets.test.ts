import { assert, describe, it } from "@effect/vitest"
import { Client as Client2, StreamableHTTPClientTransport as Transport2 } from "@modelcontextprotocol/client"
import { Client as Client1 } from "@modelcontextprotocol/sdk/client/index.js"
import { StreamableHTTPClientTransport as Transport1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js"
import { ToolRegistry, type ToolResult } from "@quiesce/core"
import { Client, HttpServer, NodeHttp } from "@quiesce/mcp"
import { Effect, Layer, type Scope } from "effect"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { createServer, type IncomingMessage, request as httpRequest } from "node:http"
import type { AddressInfo, Socket } from "node:net"
import { cites } from "../../../tests/conformance/cites.ts"
import * as Bodies from "./support/bodies.ts"
import { call, request, type Revision, revisions } from "./support/peer.ts"
import { headersOf, web } from "./support/web.ts"

interface Host {
  readonly bodies: Bodies.Bodies
  readonly registry: ToolRegistry.Shape
  readonly server: HttpServer.Shape
  readonly url: URL
  /** The connections that are open. */
  readonly sockets: ReadonlySet<Socket>
}

/** A server behind `node:http`, on a port of its own. */
const hosted = <A, E>(f: (host: Host) => Effect.Effect<A, E, Scope.Scope>) =>
  Effect.suspend(() => {
    const bodies = Bodies.make()
    return Effect.scoped(
      Effect.gen(function*() {
        const registry = yield* ToolRegistry.ToolRegistry
        const server = yield* HttpServer.make({ name: "fixture", version: "1" })
        const listener = createServer(NodeHttp.listener(server))
        const sockets = new Set<Socket>()
        listener.on("connection", (socket) => {
          sockets.add(socket)
          socket.once("close", () => sockets.delete(socket))
        })
        yield* Effect.acquireRelease(
          Effect.callback<void>((resume) => void listener.listen(0, "127.0.0.1", () => resume(Effect.void))),
          () =>
            Effect.callback<void>((resume) => {
              listener.close(() => resume(Effect.void))
              listener.closeAllConnections()
            })
        )
        const url = new URL(`http://localhost:${(listener.address() as AddressInfo).port}/mcp`)
        return yield* f({ bodies, registry, server, url, sockets })
      }).pipe(Effect.ensuring(bodies.releaseAll))
    ).pipe(Effect.provide(ToolRegistry.layer(bodies.tools)))
  })

/** Waits until no connection is left. */
const gone = (sockets: ReadonlySet<Socket>) =>
  Effect.promise(async () => {
    for (const socket of sockets) await new Promise<void>((resolve) => socket.once("close", () => resolve()))
  })

/** A call whose connection the test can tear. */
const ask = (url: URL, frame: ReturnType<typeof call>) => {
  const request = httpRequest(url, { method: "POST", headers: headersOf(frame, {}) })
  request.on("error", () => undefined)
  request.end(JSON.stringify(frame))
  return request
}

describe("a server behind node:http", () => {
  it.live(
    cites("cancels a call whose client is gone, before and after its response has begun", "MCP-04", "MCP-03"),
    () =>
      hosted(({ bodies, registry, sockets, url }) =>
        Effect.gen(function*() {
          for (const tool of ["wait", "failing"]) {
            const request = ask(url, call("2026-07-28", 1, tool, { key: tool }))
            // The one that reports progress has begun its response.
            if (tool === "failing") {
              yield* Effect.promise(() => new Promise<void>((resolve) => request.once("response", () => resolve())))
            }
            yield* bodies.began(tool)
            request.destroy()
            yield* gone(sockets)
            yield* bodies.release(tool)
            yield* registry.whenIdle
            assert.include(bodies.quiet, tool)
          }
          assert.strictEqual((bodies.reasons.get("wait") as Error).message, "the connection was closed")
        })
      )
  )

  it.live(
    cites("keeps nothing of a client that is killed, but what its revision says", "MCP-04", "MCP-03"),
    () =>
      hosted(({ bodies, registry, sockets, url }) =>
        Effect.gen(function*() {
          for (const revision of revisions) {
            const frame = call(revision, 1, "stubborn", { key: revision })
            const init = { method: "POST", headers: headersOf(frame, {}), body: JSON.stringify(frame) }
            const client = spawn(process.execPath, [
              "-e",
              `fetch(${JSON.stringify(url)}, ${JSON.stringify(init)}).then((response) => response.text())`
            ])
            yield* bodies.began(revision)
            client.kill("SIGKILL")
            yield* gone(sockets)
            if (revision === "2026-07-28") yield* bodies.asked(revision)
            else assert.isFalse(bodies.reasons.has(revision))
            yield* bodies.release(revision)
            yield* registry.whenIdle
            assert.include(bodies.quiet, revision)
          }
        })
      )
  )

  it.live(
    cites("keeps no socket of a stream that its client has closed, and gives another one", "MCP-04", "MCP-03"),
    () =>
      hosted(({ server, sockets, url }) =>
        Effect.gen(function*() {
          const { session } = yield* Effect.promise(() => web(server).open("2025-11-25"))
          const headers = {
            accept: "text/event-stream",
            "mcp-session-id": session!,
            "mcp-protocol-version": "2025-11-25"
          }
          const subscription = request("2026-07-28", 1, "subscriptions/listen", {
            notifications: { toolsListChanged: true }
          })
          for (let n = 0; n < 2; n++) {
            const listening = [
              httpRequest(url, { headers }).end(),
              httpRequest(url, { method: "POST", headers: headersOf(subscription, {}) }).end(
                JSON.stringify(subscription)
              )
            ]
            // All at once: the second may be answered first.
            const responses = yield* Effect.promise(() =>
              Promise.all(
                listening.map(async (request): Promise<IncomingMessage> => {
                  request.on("error", () => undefined)
                  const [response] = await once(request, "response")
                  return response
                })
              )
            )
            for (const { statusCode } of responses) assert.strictEqual(statusCode, 200)
            assert.strictEqual(sockets.size, 2)
            for (const request of listening) request.destroy()
            yield* gone(sockets)
          }
        })
      )
  )

  it.live("answers what is no request of its protocol", () =>
    hosted(({ url }) =>
      Effect.gen(function*() {
        const status = (init: RequestInit) => Effect.promise(() => fetch(url, init).then(({ status }) => status))
        assert.strictEqual(yield* status({ method: "PUT", body: "{}" }), 405)
        assert.strictEqual(yield* status({ method: "POST", body: "{}" }), 415)
        assert.strictEqual(yield* status({}), 405)
        const hostless = yield* Effect.promise(() =>
          new Promise<number | undefined>((resolve) =>
            httpRequest(url, { headers: { host: "no name" } }, ({ statusCode }) => resolve(statusCode)).end()
          )
        )
        assert.strictEqual(hostless, 400)
        assert.strictEqual(yield* status({ headers: { origin: "http://example.com" } }), 403)
      })
    ))
})

/** The official clients, as one thing. */
const clients: ReadonlyArray<
  readonly [
    name: string,
    revision: Revision,
    connect: (url: URL) => Promise<{
      readonly call: (
        name: string,
        args: { readonly [key: string]: unknown },
        signal?: AbortSignal
      ) => Promise<unknown>
      readonly close: () => Promise<void>
    }>
  ]
> = [
  ["1.x", "2025-11-25", async (url) => {
    const client = new Client1({ name: "1", version: "1" })
    const transport = new Transport1(url)
    await client.connect(transport as never)
    return {
      call: (name, args, signal) =>
        client.callTool({ name, arguments: args }, undefined, signal === undefined ? {} : { signal }),
      close: async () => {
        await transport.terminateSession()
        await client.close()
      }
    }
  }],
  ...revisions.map((revision) =>
    ["2.x", revision, async (url: URL) => {
      const client = new Client2({ name: "2", version: "1" }, {
        versionNegotiation: { mode: revision === "2025-11-25" ? "legacy" : { pin: revision } }
      })
      const transport = new Transport2(url)
      await client.connect(transport)
      return {
        call: (name: string, args: { readonly [key: string]: unknown }, signal?: AbortSignal) =>
          client.callTool({ name, arguments: args }, signal === undefined ? {} : { signal }),
        close: async () => {
          await transport.terminateSession()
          await client.close()
        }
      }
    }] as const
  )
]

for (const [line, revision, connect] of clients) {
  describe(`the official client ${line} in ${revision}`, () => {
    it.live(
      cites("cancels a call, and the next one is served", "MCP-01", "MCP-04"),
      () =>
        hosted(({ bodies, registry, server, url }) =>
          Effect.gen(function*() {
            const client = yield* Effect.promise(() => connect(url))
            const controller = new AbortController()
            const calling = client.call("wait", { key: "a" }, controller.signal).then(() => "answered", () => "refused")
            yield* bodies.began("a")
            controller.abort()
            assert.strictEqual(yield* Effect.promise(() => calling), "refused")
            yield* registry.whenIdle
            assert.deepStrictEqual(bodies.quiet, ["a"])
            const { content } = (yield* Effect.promise(() =>
              client.call("echo", { text: "served" })
            )) as ToolResult.Success
            assert.deepStrictEqual(content, [{ type: "text", text: "served" }])
            yield* Effect.promise(() => client.close())
            assert.strictEqual(yield* server.sessions, 0)
          })
        )
    )
  })
}

for (const revision of revisions) {
  describe(`our client over HTTP, in ${revision}`, () => {
    it.live(
      cites("ends the remote call by a notification or by its stream, as the revision says", "MCP-07", "MCP-04"),
      () =>
        hosted(({ bodies, registry, url }) =>
          Effect.gen(function*() {
            const posts: Array<string> = []
            const remote = Client.layer({
              name: "client",
              version: "1",
              revision: revision === "2025-11-25" ? "legacy" : { pin: revision },
              transport: Effect.sync(() =>
                new Transport2(url, {
                  fetch: (input, init) => {
                    posts.push(typeof init?.body === "string" ? init.body : "")
                    return fetch(input, init)
                  }
                })
              )
            })
            yield* Effect.gen(function*() {
              const proxies = yield* ToolRegistry.ToolRegistry
              const calling = yield* proxies.start({ callId: "1", name: "wait", arguments: { key: "a" } })
              yield* bodies.began("a")
              yield* calling.cancel()
              const result = yield* calling.result
              assert.strictEqual((result as ToolResult.Failure).error.code, "ABORTED")
              assert.deepStrictEqual(result.residue.map(({ kind }) => kind), ["remote"])
              yield* registry.whenIdle
              assert.deepStrictEqual(bodies.quiet, ["a"])
              const notifications = posts.filter((body) => body.includes("notifications/cancelled"))
              assert.lengthOf(notifications, revision === "2025-11-25" ? 1 : 0)
            }).pipe(Effect.scoped, Effect.provide(Layer.provideMerge(remote, Layer.fresh(ToolRegistry.layer([])))))
          })
        )
    )
  })
}
