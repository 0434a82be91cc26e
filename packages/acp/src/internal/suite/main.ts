#!/usr/bin/env node
/**
 * The suite as a command: `quiesce-acp-suite [--case NAME] -- COMMAND ARGUMENTS…`. Ends with 0 where every case holds, with
 * 1 where one fails, and with 2 where none was put.
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
  // A word that is misspelt names no case, and proves nothing.
  return faults > 0 ? 1 : outcomes.length > 0 ? 0 : 2
}

process.exitCode = await main()
