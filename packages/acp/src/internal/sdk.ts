/**
 * The official SDK as the router of a connection: it checks parameters against the protocol's schemas, knows which method
 * wants what, and answers for methods that nobody handles.
 *
 * It is given no bytes and asks the peer nothing: it reads a stream of messages that `Connection` has let pass.
 */
import * as Sdk from "@agentclientprotocol/sdk"
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { Host, RawPeer, RawRequest, Router } from "./host.ts"
import type { AnyMessage, Result } from "./message.ts"

/** Handlers by method, without their types. */
export interface Table {
  readonly requests: {
    readonly [method: string]: (params: unknown, request: RawRequest) => Effect.Effect<unknown, unknown, Scope.Scope>
  }
  readonly notifications: {
    readonly [method: string]: (params: unknown, peer: RawPeer) => Effect.Effect<void, unknown, Scope.Scope>
  }
}

/** What `agent` and `client` of the SDK have in common, as far as it is used here. */
interface App {
  onRequest(method: string, params: (params: unknown) => unknown, handler: Handle): unknown
  onRequest(method: string, handler: Handle): unknown
  onNotification(method: string, params: (params: unknown) => unknown, handler: Handle): unknown
  onNotification(method: string, handler: Handle): unknown
  connect(stream: Sdk.Stream): Sdk.AcpConnection
}

type Handle = (context: { readonly params: unknown; readonly requestId?: Sdk.JsonRpcId }) => unknown

/** The methods of the protocol that the SDK knows for each side. Others are extensions, whose parameters are as they are. */
const known: ReadonlySet<string> = new Set([
  ...Object.values(Sdk.AGENT_METHODS),
  ...Object.values(Sdk.CLIENT_METHODS)
])

const asIs = (params: unknown): unknown => params

export const router = (side: "agent" | "client", table: Table) => (host: Host): Router => {
  const app = (side === "agent" ? Sdk.agent() : Sdk.client()) as unknown as App
  for (const [method, handler] of Object.entries(table.requests)) {
    const handle: Handle = ({ params, requestId }) =>
      new Promise((resolve, reject) => {
        host.serve(requestId!, (request) => handler(params, request), (result) => settle(result, resolve, reject))
      })
    if (known.has(method)) app.onRequest(method, handle)
    else app.onRequest(method, asIs, handle)
  }
  for (const [method, handler] of Object.entries(table.notifications)) {
    const handle: Handle = ({ params }) => host.hear(params, (peer) => handler(params, peer))
    if (known.has(method)) app.onNotification(method, handle)
    else app.onNotification(method, asIs, handle)
  }

  let messages: ReadableStreamDefaultController<AnyMessage>
  const connection = app.connect({
    readable: new ReadableStream({ start: (controller) => void (messages = controller) }),
    writable: new WritableStream({
      write: (message) => {
        if ("id" in message && !("method" in message)) host.answer(message)
      }
    })
  })
  void connection.closed.then(() => host.lost(connection.signal.reason))
  return {
    route: (message) => messages.enqueue(message),
    close: () => connection.close()
  }
}

const settle = (
  result: Result<unknown>,
  resolve: (value: unknown) => void,
  reject: (error: Sdk.RequestError) => void
): void => {
  if ("result" in result) return resolve(result.result)
  const { code, data, message } = result.error
  reject(new Sdk.RequestError(code, message, data))
}
