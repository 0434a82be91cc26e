/**
 * A call as those see it who take part in it: what a caller gives, what a policy, a wrapper or an observer may read,
 * and what a body gets.
 */
import type { CancelReason } from "./CancelReason.ts"
import { Token as InternalToken } from "./internal/token.ts"
import type { Json } from "./Json.ts"
import type { Residue } from "./ToolResult.ts"

/** The identity of one call. A `callId` is only a label: two calls may bear the same. */
export type Token = InternalToken

export interface Input {
  readonly callId: string
  readonly name: string
  /** Anything: what is not JSON is refused as INVALID_ARGUMENTS. */
  readonly arguments: unknown
  /** The call that this one is made inside of, where neither a fiber nor a call's own signal says so. */
  readonly parent?: Token | undefined
  readonly metadata?: { readonly [key: string]: Json } | undefined
}

/** What policies, approval channels, wrappers, observers and the journal see. Its JSON is deeply frozen. */
export interface Pending {
  readonly callId: string
  /** The `callId` of the outermost call. */
  readonly rootCallId: string
  readonly name: string
  readonly arguments: Json
  readonly token: Token
  readonly metadata: { readonly [key: string]: Json }
}

/** What a body gets. After the body has settled the methods do nothing. */
export interface Running extends Pending {
  /** Aborts when the call is cancelled, with the caller's own reason. It exists only for a body that looks at it. */
  readonly signal: AbortSignal
  /** Adds a context to the result. Throws when it is not JSON. */
  readonly deferContext: (context: Json) => void
  /** Says that the turn should end with this call, if it succeeds. */
  readonly concludeTurn: () => void
  /** Says what may outlive the call. */
  readonly declareResidue: (residue: Residue) => void
  readonly progress: (progress: Progress) => void
}

export interface Progress {
  readonly progress: number
  readonly total?: number
  readonly message?: string
}

/** Why `call` is being cancelled, `undefined` while it is not. A post-policy reads here what it may not be told. */
export const cancelReason = (call: Pending): CancelReason | undefined =>
  InternalToken.call(call.token).cancellation?.reason
