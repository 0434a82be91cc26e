/**
 * The contract as data: what Quiesce promises, one numbered clause at a time, and which areas are finished.
 *
 * Tests cite clauses by id (`cites.ts`), and `RequirementId` is the union of the ids below, so that a typo in a
 * citation does not compile. A clause of a finished area without a citing test fails `coverage.test.ts`.
 */
import { acp } from "./clauses/acp.ts"
import { bridge } from "./clauses/bridge.ts"
import { call } from "./clauses/call.ts"
import { kit } from "./clauses/kit.ts"
import { mcp } from "./clauses/mcp.ts"
import { node } from "./clauses/node.ts"
import { promise } from "./clauses/promise.ts"
import { time } from "./clauses/time.ts"
import { turn } from "./clauses/turn.ts"

/** A chapter of the contract. Clause texts are Markdown, tables included. */
interface Chapter {
  readonly title: string
  readonly intro?: string
  readonly clauses: { readonly [id: string]: string }
}

/** The chapters in the order the contract is read. */
export const contract = {
  CALL: call,
  BRIDGE: bridge,
  TIME: time,
  TURN: turn,
  NODE: node,
  ACP: acp,
  MCP: mcp,
  PROMISE: promise,
  KIT: kit
} satisfies { readonly [area: string]: Chapter }

export type Area = keyof typeof contract

export type RequirementId = { readonly [A in Area]: keyof (typeof contract)[A]["clauses"] }[Area]

export interface Requirement {
  readonly id: RequirementId
  readonly area: Area
  readonly text: string
}

/** The areas whose every clause must be cited by a test, and in CALL, BRIDGE and TIME be broken by a mutant. */
export const finished: ReadonlyArray<Area> = ["CALL", "BRIDGE", "TIME", "TURN", "NODE", "ACP", "MCP", "PROMISE", "KIT"]

export const areas = Object.keys(contract) as ReadonlyArray<Area>

/** Every clause, in the order of the contract. */
export const requirements: ReadonlyArray<Requirement> = areas.flatMap((area) =>
  Object.entries<string>(contract[area].clauses).map(([id, text]) => ({ id: id as RequirementId, area, text }))
)

/** The words the clauses are written in. */
export const words: ReadonlyArray<readonly [word: string, meaning: string]> = [
  ["Cancellation", "somebody who owns a call no longer wants it."],
  ["Interruption", "how Effect asks a fiber to stop."],
  ["Abort", "how the platform (AbortSignal) and the wire say it."],
  ["Quiescence", "every finalizer has run and nothing the call owns is alive."],
  ["Dispatch", "the moment the tool body is invoked; before it, the world is untouched."],
  ["Settle", "a call has its one outcome."]
]
