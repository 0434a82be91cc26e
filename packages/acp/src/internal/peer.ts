/**
 * The peer, as whoever may send to it sees it.
 */
import * as Effect from "effect/Effect"
import { PeerGone } from "../AcpError.ts"
import type { RawPeer } from "./host.ts"
import type { Outgoing } from "./outgoing.ts"
import type { Wire } from "./wire.ts"

/** A peer that is good until `isOver`: what is sent for a request that is answered goes nowhere. */
export const makePeer = (outgoing: Outgoing, wire: Wire, isOver: () => boolean): RawPeer => {
  const refused = (method: string) => Effect.fail(new PeerGone({ method, reason: "answered" }))
  return {
    request: (method, params, whenCancelled) =>
      Effect.suspend(() => isOver() ? refused(method) : outgoing.request(method, params, whenCancelled)),
    start: (method, params, whenCancelled) =>
      Effect.suspend(() => {
        if (isOver()) return refused(method)
        const pending = outgoing.start(method, params, whenCancelled)
        return pending instanceof PeerGone ? Effect.fail(pending) : Effect.succeed(outgoing.asked(pending))
      }),
    notify: (method, params) =>
      Effect.suspend(() => {
        if (isOver()) return Effect.logDebug(`${method} was dropped: the request it belongs to is answered`)
        wire.send({ jsonrpc: "2.0", method, params })
        return wire.room
      })
  }
}
