/**
 * Anything that can run one tool: a floor, a peer, or Quiesce.
 *
 * All of them get the same trivial body and the same call, so that what differs between two rows of a table is what
 * stands between the caller and the body, and nothing else.
 */

import type * as Effect from "effect/Effect"

/** The arguments of every call: what a model sends for a small tool. */
export interface Arguments {
  readonly query: string
  readonly limit: number
}

/** What a body can see of its call. `signal` may be made on first use. */
export interface BodyCall {
  readonly signal: AbortSignal
}

/** The body of the one tool that every host runs. */
export type Body = (parameters: Arguments, call: BodyCall) => Promise<string>

/** A host with its tool in place. */
export interface Session {
  readonly call: (parameters: Arguments, signal: AbortSignal) => Promise<unknown>
  readonly close: () => Promise<void>
}

export interface Host {
  readonly name: string
  /** What it does not do and a full call through the registry does; printed beside its figures. Empty for ours. */
  readonly lacks: string
  readonly open: (body: Body) => Promise<Session>
}

/** A host whose caller is a fiber: its lifetime is the call's, so there is no signal to pass. */
export interface FiberHost {
  readonly name: string
  readonly lacks: string
  readonly open: (body: Body) => Promise<FiberSession>
}

export interface FiberSession {
  readonly call: (parameters: Arguments) => Effect.Effect<unknown, unknown>
  readonly close: () => Promise<void>
}

/** A host that has nothing to open: what each call does is all there is of it. */
export const inFiber = (
  name: string,
  lacks: string,
  call: (body: Body, parameters: Arguments) => Effect.Effect<unknown, unknown>
): FiberHost => ({
  name,
  lacks,
  open: async (body) => ({ call: (parameters) => call(body, parameters), close: async () => {} })
})

export const parameters: Arguments = { query: "quiescence", limit: 3 }

export const trivialBody: Body = async ({ limit, query }) => limit > 0 ? query : ""
