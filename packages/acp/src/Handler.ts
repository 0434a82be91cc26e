/**
 * Handlers: what a side does about each method, as effects or as promise functions.
 *
 * Neither needs to know the protocol to be cancellable. A cancelled request interrupts its effect, or aborts the signal of
 * its promise function, and is answered once that has ended.
 */
import type { JsonRpcId } from "@agentclientprotocol/sdk"
import * as Abortable from "@quiesce/core/Abortable"
import type * as Cause from "effect/Cause"
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { Extension } from "./Peer.ts"

/** A request that is being handled. */
export interface Request<Peer> {
  readonly id: JsonRpcId
  readonly method: string
  /** The other side. What is sent for a request that is answered already goes nowhere. */
  readonly peer: Peer
}

/**
 * Handles a request. Its result is the answer, and its scope is closed before that is sent.
 *
 * **Errors**: a `RequestError` of the SDK is answered as it is, anything else as an internal error. A deadline is answered
 * as a cancellation.
 *
 * **Interruption**: the request was cancelled, or the connection ends. The answer is sent when the handler has ended.
 */
export type Handler<Params, Response, Peer, R = never> = (
  params: Params,
  request: Request<Peer>
) => Effect.Effect<Response, unknown, R | Scope.Scope>

/** Handles a notification. Those of one session are handled one after the other. */
export type Listener<Params, Peer, R = never> = (
  params: Params,
  peer: Peer
) => Effect.Effect<void, unknown, R | Scope.Scope>

/** Handlers by method: those of the protocol, by what they are asked and answer, and extensions. */
export type Handlers<Params, Responses extends { readonly [M in keyof Params]: unknown }, Peer> =
  & { readonly [M in keyof Params]?: Handler<Params[M], Responses[M], Peer, any> }
  & { readonly [method: Extension]: Handler<unknown, unknown, Peer, any> }

/** Listeners by notification. */
export type Listeners<Params, Peer> =
  & { readonly [M in keyof Params]?: Listener<Params[M], Peer, any> }
  & { readonly [method: Extension]: Listener<unknown, Peer, any> }

/** What the handlers or listeners of a table need, but for the scope each is given. */
export type Services<Table> = Exclude<
  {
    readonly [M in keyof Table]: Table[M] extends (...args: never) => Effect.Effect<any, any, infer R> ? R : never
  }[keyof Table],
  Scope.Scope
>

/** A handler that is a promise function. Its signal aborts when the request is cancelled. */
export const fromPromise = <Params, Response, Peer>(
  handle: (
    params: Params,
    request: Request<Peer> & { readonly signal: AbortSignal }
  ) => PromiseLike<Response> | Response
) =>
(params: Params, request: Request<Peer>): Effect.Effect<Response, Cause.UnknownError> =>
  Abortable.promise((signal) => handle(params, { ...request, signal }))
