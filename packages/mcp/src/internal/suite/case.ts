/** A case: what a server must do, and the words in which that is asked. */
import { demand } from "@quiesce/wire/RawPeer"
import * as Effect from "effect/Effect"
import { cancel, HttpLink, type Link, type Revision } from "./link.ts"

export type Over = "stdio" | "http"

export interface Case {
  /** A word to find it by. */
  readonly name: string
  /** What must hold, as a sentence. */
  readonly title: string
  /** Absent where it applies to every server. */
  readonly applies?: (over: Over, revision: Revision) => boolean
  readonly run: (link: Link, open: () => Promise<Link>) => Promise<void>
}

export const overStdio = (over: Over): boolean => over === "stdio"

/** Where a cancel over HTTP is a notification, and requests have a session in common. */
export const inSession = (over: Over, revision: Revision): boolean => over === "http" && revision === "2025-11-25"

/** Where ids are those of more than one request. */
export const sharingIds = (over: Over, revision: Revision): boolean => overStdio(over) || inSession(over, revision)

export const sleep = (millis: number): Promise<void> => Effect.runPromise(Effect.sleep(millis))

/** Begins a call, and returns when its body runs. */
export const begin = async (
  link: Link,
  id: string | number,
  tool: string,
  args: { readonly key: string; readonly millis?: number }
): Promise<void> => {
  await send(link, link.call(id, tool, args))
  await link.began(id)
}

/** Does not wait for the response of a POST, which may come as late as the call's end. */
export const send = async (link: Link, frame: object): Promise<void> => {
  if (link instanceof HttpLink) void link.post(frame).catch(() => undefined)
  else await link.send(frame)
}

/** Cancels as the revision says: by a notification, or by closing the response. */
export const stop = async (link: Link, id: string | number, reason?: string): Promise<void> => {
  if (link instanceof HttpLink && link.revision === "2026-07-28") {
    // The headers of a response may be on their way still.
    await link.began(id)
    link.streams.get(id)?.controller.abort()
  } else await link.send(cancel(id, reason))
}

/** Once it has been answered, whatever the server had sent before has come. */
export const roundTrip = (link: Link) => link.bodies()

/** Demands that nothing has come about a request beyond its first `frames`. */
export const silentAfter = (link: Link, id: string | number, frames: number): void => {
  const more = link.about(id).slice(frames)
  demand(more.length === 0, `after the cancel of ${JSON.stringify(id)} came ${JSON.stringify(more)}`)
}

/** Demands that a call is answered: the connection lives. */
export const served = async (link: Link): Promise<void> => {
  const id = `served-${link.received.length}`
  await link.send(link.call(id, "suite_echo", { text: "served" }))
  const { result } = await link.answer(id)
  demand(result?.content?.[0]?.text === "served", "a legal call was not served")
}
