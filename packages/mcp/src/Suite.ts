/**
 * A suite for cancellation: what a server does with calls that are cancelled, told by a client that is no SDK.
 *
 * The official conformance suite does not ask. This one can be put to any server, over stdio and HTTP and in both
 * revisions, which offers five tools for it:
 *
 * | tool             | arguments         | does                                                                          |
 * | ---------------- | ----------------- | ----------------------------------------------------------------------------- |
 * | `suite_echo`     | `{ text }`        | answers with the text                                                         |
 * | `suite_wait`     | `{ key }`         | reports progress once, and ends when it is cancelled                          |
 * | `suite_stubborn` | `{ key, millis }` | reports progress, and after that time again; ends then, whoever cancels it    |
 * | `suite_failing`  | `{ key }`         | as `suite_wait`, and its clean-up fails                                       |
 * | `suite_bodies`   | `{}`              | answers with a JSON text: `{ began, over }`, the keys of the bodies, in order |
 */
import { within } from "@quiesce/wire/RawPeer"
import { randomUUID } from "node:crypto"
import { calls } from "./internal/suite/calls.ts"
import { connections } from "./internal/suite/connections.ts"
import { type Link, make, type Revision, type Target } from "./internal/suite/link.ts"

export type { Revision, Target }

export interface Outcome {
  readonly name: string
  readonly title: string
  readonly revision: Revision
  /** Absent where the case holds. */
  readonly fault?: string | undefined
}

/** The cases that there are for a target. */
export const casesOf = (
  target: Target,
  revision: Revision
): ReadonlyArray<{ readonly name: string; readonly title: string }> => applying(target, revision)

const applying = (target: Target, revision: Revision) =>
  [...calls, ...connections].filter(({ applies }) =>
    applies?.(target._tag === "Command" ? "stdio" : "http", revision) ?? true
  )

/** More than all that a case waits for, one after the other: beyond that is a response which the server does not begin. */
const caseMillis = 600_000

export interface Options {
  /** The names of the cases. Default: all there are for the target. */
  readonly only?: ReadonlyArray<string> | undefined
  /** Told of each outcome when it is known. */
  readonly told?: ((outcome: Outcome) => void) | undefined
}

/** Puts the cases to the server, each on a connection of its own, one after the other. It does not reject. */
export const run = async (
  target: Target,
  revision: Revision,
  { only, told = () => undefined }: Options = {}
): Promise<ReadonlyArray<Outcome>> => {
  const outcomes: Array<Outcome> = []
  for (const { name, run, title } of applying(target, revision)) {
    if (only?.includes(name) === false) continue
    const links: Array<Link> = []
    const mark = `-${randomUUID()}`
    const connect = async () => {
      const link = make(target, revision, mark)
      links.push(link)
      await link.start()
      return link
    }
    let fault: string | undefined
    try {
      await within(connect().then((link) => run(link, connect)), "it did not end", caseMillis)
    } catch (error) {
      fault = error instanceof Error ? error.message : String(error)
    }
    for (const link of links) await within(link.close(), "it did not close").catch(() => undefined)
    const outcome = { name, title, revision, fault }
    outcomes.push(outcome)
    told(outcome)
  }
  return outcomes
}
