/** What handlers of somebody else answer with, and what they ask, beside the tools of a registry. */
import { assert, describe, it } from "@effect/vitest"
import { McpServer, Server } from "@modelcontextprotocol/server"
import { StdioServerTransport } from "@modelcontextprotocol/server/stdio"
import { ToolRegistry } from "@quiesce/core"
import { Attach, HttpServer, StdioServer } from "@quiesce/mcp"
import { Effect, type Scope } from "effect"
import { z } from "zod"
import { cites } from "../../../tests/conformance/cites.ts"
import { call, type Frame, initialize, Peer, request, type Revision } from "./support/peer.ts"
import { web } from "./support/web.ts"

const cycle: { self?: unknown } = {}
cycle.self = cycle

/** What is no JSON, each in its own way. */
const answers: { readonly [name: string]: unknown } = {
  cycle: { messages: [], _meta: { cycle } },
  bigint: { messages: [], _meta: { big: 1n } },
  throwing: {
    messages: [],
    _meta: {
      toJSON: () => {
        throw new Error("no")
      }
    }
  },
  gone: { toJSON: () => undefined },
  none: undefined
}

const answer = (name: string) => answers[name] as { messages: [] }

const official = () => {
  const server = new Server({ name: "official", version: "1" }, { capabilities: { prompts: {} } })
  server.setRequestHandler("prompts/get", ({ params }) => answer(params.name))
  return server
}

type Ask = (id: number, prompt: string) => Promise<Frame>

const asking = (peer: Peer, revision: Revision): Ask => (id, name) => {
  peer.send(request(revision, id, "prompts/get", { name }))
  return peer.answer(id)
}

const shaken = Effect.fnUntraced(function*(peer: Peer) {
  peer.send(initialize(), { jsonrpc: "2.0", method: "notifications/initialized" })
  yield* Effect.promise(() => peer.answer("init"))
})

const overHttp = (revision: Revision) =>
  Effect.gen(function*() {
    const client = web(yield* HttpServer.make({ name: "", version: "", server: official }))
    const session = yield* Effect.promise(() => client.open(revision))
    const ask: Ask = async (id, name) => {
      const reading = await client.post(request(revision, id, "prompts/get", { name }), session)
      await reading.ended
      return reading.frames.find((frame) => frame.id === id)!
    }
    return ask
  })

const ways: ReadonlyArray<
  readonly [name: string, Effect.Effect<Ask, unknown, ToolRegistry.ToolRegistry | Scope.Scope>]
> = [
  [
    "over stdio",
    Effect.gen(function*() {
      const peer = new Peer()
      const streams = { input: peer.input, output: peer.output }
      yield* Effect.forkScoped(StdioServer.serve({ name: "", version: "", server: official, streams }))
      yield* shaken(peer)
      return asking(peer, "2025-11-25")
    })
  ],
  [
    "attached to a transport of the SDK",
    Effect.gen(function*() {
      const peer = new Peer()
      yield* Attach.connect(official(), new StdioServerTransport(peer.input, peer.output))
      yield* shaken(peer)
      return asking(peer, "2025-11-25")
    })
  ],
  ["over HTTP in 2025-11-25", overHttp("2025-11-25")],
  ["over HTTP in 2026-07-28", overHttp("2026-07-28")]
]

describe("an answer of somebody else's handler that is no JSON", () => {
  for (const [name, open] of ways) {
    it.effect(cites(`is told as an error to whoever waits for it, ${name}`, "MCP-11"), () =>
      Effect.gen(function*() {
        const ask = yield* open
        for (const [id, prompt] of Object.keys(answers).entries()) {
          const { error } = yield* Effect.promise(() => ask(id, prompt))
          assert.strictEqual(error?.code, -32603, prompt)
        }
      }).pipe(Effect.scoped, Effect.provide(ToolRegistry.layer([]))))
  }
})

describe("what somebody else's handler asks its client", () => {
  it.effect(
    cites("comes with the response of the request that it is asked for, also without a word of that", "MCP-04"),
    () =>
      Effect.gen(function*() {
        const asking = () => {
          const server = new McpServer({ name: "asking", version: "1" })
          server.registerTool("ask", { description: "", inputSchema: z.object({}) }, async () => {
            const answer = await server.server.elicitInput({
              mode: "form",
              message: "?",
              requestedSchema: { type: "object", properties: {} }
            })
            return { content: [{ type: "text", text: answer.action }] }
          })
          return server
        }
        const client = web(yield* HttpServer.make({ name: "", version: "", server: asking }))
        const init = { ...initialize(), params: { ...initialize().params, capabilities: { elicitation: {} } } }
        const opened = yield* Effect.promise(() => client.post(init))
        const session = opened.response.headers.get("mcp-session-id")!
        yield* Effect.promise(() => client.post({ jsonrpc: "2.0", method: "notifications/initialized" }, { session }))
        const reading = yield* Effect.promise(() => client.post(call("2025-11-25", 1, "ask"), { session }))
        // There is no other stream that it could come by.
        const { id } = yield* Effect.promise(() => reading.frame(({ method }) => method === "elicitation/create"))
        yield* Effect.promise(() => client.post({ jsonrpc: "2.0", id, result: { action: "decline" } }, { session }))
        const { result } = yield* Effect.promise(() => reading.frame((frame) => frame.id === 1 && !("method" in frame)))
        assert.strictEqual(result.content[0].text, "decline")
      }).pipe(Effect.scoped, Effect.provide(ToolRegistry.layer([])))
  )
})
