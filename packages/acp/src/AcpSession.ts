/**
 * A session as its tools, policies and model see it: where it is, what its client can do, and the client itself.
 */
import type * as Sdk from "@agentclientprotocol/sdk"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Peer from "./Peer.ts"

export interface Shape {
  readonly sessionId: string
  /** The directory it works in, absolute. */
  readonly cwd: string
  readonly mcpServers: ReadonlyArray<Sdk.McpServer>
  /** What the client said it can do. */
  readonly capabilities: Sdk.ClientCapabilities
  readonly client: Peer.Client
  /** What the user decided for always, by the tool's name: for as long as the session lasts. */
  readonly decisions: Map<string, "allow" | "reject">
  /** Waits until the client was told of a call of the turn that runs, which is named by its place in the log. */
  readonly announced: (call: number) => Effect.Effect<void>
}

export class AcpSession extends Context.Service<AcpSession, Shape>()("@quiesce/acp/AcpSession") {}
