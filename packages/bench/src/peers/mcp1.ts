/** MCP SDK 1.x: its client and server over its in-memory transport, which hands objects over unserialized. */
import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js"
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js"
import { z } from "zod"
import type { Host } from "../Host.ts"

export const mcp1: Host = {
  name: "MCP SDK 1.x",
  lacks: "policy, approval, deadline, quiescence",
  open: async (body) => {
    const server = new McpServer({ name: "bench", version: "0" })
    server.registerTool(
      "search",
      { description: "s", inputSchema: { query: z.string(), limit: z.number() } },
      async (parameters, { signal }) => ({ content: [{ type: "text", text: await body(parameters, { signal }) }] })
    )
    const client = new Client({ name: "bench", version: "0" })
    const [near, far] = InMemoryTransport.createLinkedPair()
    await server.connect(far)
    await client.connect(near)
    return {
      call: (parameters, signal) =>
        client.callTool({ name: "search", arguments: { ...parameters } }, undefined, { signal }),
      close: async () => {
        await client.close()
        await server.close()
      }
    }
  }
}
