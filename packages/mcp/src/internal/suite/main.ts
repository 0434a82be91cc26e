#!/usr/bin/env node
/**
 * The suite as a command: `quiesce-mcp-suite --url URL`, or `quiesce-mcp-suite COMMAND ARGUMENTS…`. Ends with 0 where every
 * case holds in both revisions, or in those given by `--revision`; with 1 where one fails; with 2 where none was put.
 */
import { parseArgs } from "node:util"
import * as Suite from "../../Suite.ts"

const { positionals: [command, ...args], values } = parseArgs({
  allowPositionals: true,
  strict: false,
  options: {
    url: { type: "string" },
    revision: { type: "string", multiple: true },
    case: { type: "string", multiple: true }
  }
})

const revisions: ReadonlyArray<Suite.Revision> = ["2025-11-25", "2026-07-28"]

const main = async (): Promise<number> => {
  const target: Suite.Target | undefined = typeof values["url"] === "string"
    ? { _tag: "Url", url: values["url"] }
    : command === undefined
    ? undefined
    : { _tag: "Command", command, args }
  if (target === undefined) {
    console.error(
      "quiesce-mcp-suite --url URL [--revision 2025-11-25] [--case zero]\nquiesce-mcp-suite [--revision 2025-11-25] -- COMMAND ARGUMENTS…"
    )
    return 2
  }
  const chosen = values["revision"]
  let faults = 0
  let held = 0
  for (const revision of revisions) {
    if (Array.isArray(chosen) && !chosen.includes(revision)) continue
    const only = values["case"] as Array<string> | undefined
    const told = ({ fault, name, title }: Suite.Outcome) => {
      if (fault === undefined) held++
      else faults++
      console.log(
        `${fault === undefined ? "holds" : "FAILS"}  ${revision}  ${name}: ${title}${
          fault === undefined ? "" : `\n       ${fault}`
        }`
      )
    }
    await Suite.run(target, revision, { only, told })
  }
  console.log(`${held} cases hold, ${faults} fail`)
  // A word that is misspelt names no case, and proves nothing.
  return faults > 0 ? 1 : held > 0 ? 0 : 2
}

process.exitCode = await main()
