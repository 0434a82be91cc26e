#!/usr/bin/env node
/**
 * The suite as a command: `quiesce-acp-suite [--case NAME] -- COMMAND ARGUMENTS…`. Ends with 0 where every case holds.
 */
import { parseArgs } from "node:util"
import * as Suite from "../../Suite.ts"

const { positionals: [command, ...args], values } = parseArgs({
  allowPositionals: true,
  options: { case: { type: "string", multiple: true } }
})

const main = async (): Promise<number> => {
  if (command === undefined) {
    console.error("quiesce-acp-suite [--case zero] -- COMMAND ARGUMENTS…")
    return 2
  }
  const told = ({ fault, name, title }: Suite.Outcome) =>
    console.log(
      `${fault === undefined ? "holds" : "FAILS"}  ${name}: ${title}${fault === undefined ? "" : `\n       ${fault}`}`
    )
  const outcomes = await Suite.run({ command, args }, { only: values.case, told })
  const faults = outcomes.filter(({ fault }) => fault !== undefined).length
  console.log(`${outcomes.length - faults} cases hold, ${faults} fail`)
  return faults === 0 ? 0 : 1
}

process.exitCode = await main()
