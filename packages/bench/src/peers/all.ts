/** The peers, fastest protocols last. */
import type { Host } from "../Host.ts"
import { acp } from "./acp.ts"
import { aiSdk } from "./aiSdk.ts"
import { jsonrpc } from "./jsonrpc.ts"
import { mcp1 } from "./mcp1.ts"
import { mcp2 } from "./mcp2.ts"
import { toolkit } from "./toolkit.ts"

export const peers: ReadonlyArray<Host> = [aiSdk, toolkit, mcp2, jsonrpc, mcp1, acp]
