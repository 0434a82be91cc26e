/**
 * What the two sides of the protocol have in common.
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type * as Connected from "../Connection.ts"
import * as Peer from "../Peer.ts"
import * as Transport from "../Transport.ts"
import { Connection } from "./connection.ts"
import { router, type Table } from "./sdk.ts"

/** Handlers or listeners by method, with whatever types. */
export type Functions = {
  readonly [method: string]: ((subject: never, context: never) => Effect.Effect<any, any, any>) | undefined
}

/** A connection over the transport at hand, which ends with the scope. */
export const connect = <P extends Peer.Client | Peer.Agent, R>(
  side: "agent" | "client",
  handlers: Functions,
  listeners: Functions
): Effect.Effect<Connected.Connection<P>, never, R | Transport.Transport | Scope.Scope> =>
  Effect.gen(function*() {
    const transport = yield* Transport.Transport
    const context = yield* Effect.context<R>()
    const connection = yield* Effect.acquireRelease(
      Effect.sync(() => new Connection(context as never, transport, router(side, tableOf<P>(handlers, listeners)))),
      (connection) => connection.close
    )
    return {
      peer: Peer.fromRaw<P>(connection.peer),
      live: Effect.sync(() =>
        connection.live.map(({ controller, id, method, sinceMillis }) => ({
          id,
          method,
          sinceMillis,
          cancelling: controller.signal.aborted
        }))
      ),
      close: connection.close,
      closed: connection.closed
    }
  })

const tableOf = <P extends Peer.Client | Peer.Agent>(handlers: Functions, listeners: Functions): Table => ({
  requests: mapped(
    handlers,
    (handler) => (params, { id, method, peer }) =>
      handler(params as never, { id, method, peer: Peer.fromRaw<P>(peer) } as never)
  ),
  notifications: mapped(
    listeners,
    (listener) => (params, peer) => listener(params as never, Peer.fromRaw<P>(peer) as never)
  )
})

const mapped = <F>(
  functions: Functions,
  f: (function_: NonNullable<Functions[string]>) => F
): { readonly [method: string]: F } =>
  Object.fromEntries(
    Object.entries(functions).flatMap(([method, function_]) => function_ === undefined ? [] : [[method, f(function_)]])
  )
