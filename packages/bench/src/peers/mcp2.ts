/** MCP SDK 2.x: its client and server over its in-memory transport, which hands objects over unserialized. */
import { Client, InMemoryTransport } from "@modelcontextprotocol/client"
import { McpServer } from "@modelcontextprotocol/server"
import { z } from "zod"
import type { Host } from "../Host.ts"

export const mcp2: Host = {
  name: "MCP SDK 2.x",
  lacks: "policy, approval, deadline, quiescence",
  open: async (body) => {
    const server = new McpServer({ name: "bench", version: "0" })
    server.registerTool(
      "search",
      { description: "s", inputSchema: z.object({ query: z.string(), limit: z.number() }) },
      async (parameters, { mcpReq: { signal } }) => ({
        content: [{ type: "text", text: await body(parameters, { signal }) }]
      })
    )
    const client = new Client({ name: "bench", version: "0" })
    const [near, far] = InMemoryTransport.createLinkedPair()
    await server.connect(far)
    await client.connect(near)
    return {
      call: (parameters, signal) => client.callTool({ name: "search", arguments: { ...parameters } }, { signal }),
      close: async () => {
        await client.close()
        await server.close()
      }
    }
  }
}
