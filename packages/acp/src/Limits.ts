/**
 * What one connection may cost, and how long it waits for its peer.
 */
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Layer from "effect/Layer"

export interface Limits {
  /** Frames longer than this are refused. Default: 32 MiB, the longest that the official SDK reads unless told otherwise. */
  readonly maxFrameBytes: number
  /**
   * How many of the peer's requests may be live at once; one more is answered as cancelled. Default: 1024, which a peer
   * that waits for answers never reaches, and one that does not would.
   */
  readonly maxRequests: number
  /**
   * How much of the peer's notifications, in bytes of their parameters, may wait for listeners before the peer is not read
   * until they have gone on. Where none goes on within the grace the connection ends, with `NotHeard`: what they wait for
   * may be among what is not read. Default: 16 MiB, more than a turn tells, and the memory of one large frame.
   */
  readonly maxUnheardBytes: number
  /**
   * How long a cancelled request of ours waits for the peer's answer, what is asked or written at the end waits for the
   * peer, and handlers may take to end before they are reported. Default: 5 seconds, longer than an answer takes that comes
   * at all.
   */
  readonly grace: Duration.Input
}

export const defaults: Limits = {
  maxFrameBytes: 32 * 1024 * 1024,
  maxRequests: 1024,
  maxUnheardBytes: 16 * 1024 * 1024,
  grace: "5 seconds"
}

/** The limits of the connections that are made here. */
export const Current: Context.Reference<Limits> = Context.Reference<Limits>("@quiesce/acp/Limits", {
  defaultValue: () => defaults
})

export const layer = (limits: Partial<Limits>): Layer.Layer<never> => Layer.succeed(Current, { ...defaults, ...limits })
