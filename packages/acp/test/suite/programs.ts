/** The agents that the suite is put to. */
import type { Suite } from "@quiesce/acp"
import { fileURLToPath } from "node:url"

const fixture = (file: string): Suite.Command => ({
  command: process.execPath,
  args: ["--conditions=@quiesce/source", fileURLToPath(new URL(`../fixture/${file}`, import.meta.url))]
})

export const programs = { ours: fixture("suite.ts"), sdk: fixture("suite-sdk.ts") } as const

export const faultsOf = (outcomes: ReadonlyArray<Suite.Outcome>): ReadonlyArray<string> =>
  outcomes.flatMap(({ fault, name }) => fault === undefined ? [] : [`${name}: ${fault}`])
