/**
 * Puts the suite to an agent of ours and to one on the SDK alone: `npm run acp-suite`. With `--write`, the result becomes
 * `docs/acp-suite.md`. Ends with 0 where every case holds of ours.
 */
import { Suite } from "@quiesce/acp"
import { writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { taken } from "../../../../tests/taken.ts"
import { version } from "../support/schema.ts"
import { faultsOf, programs } from "./programs.ts"

const say = (name: string) => ({ fault, number, title }: Suite.Outcome) =>
  console.log(
    `${name}  ${fault === undefined ? "holds" : "FAILS"}  ${number}. ${title}${fault === undefined ? "" : `: ${fault}`}`
  )

const ours = await Suite.run(programs.ours, { told: say("ours") })
const sdk = await Suite.run(programs.sdk, { told: say("sdk ") })

const cell = ({ fault }: Suite.Outcome): string => fault ?? "holds"

/** Rows of cells, the first of which are their heads, as the formatter leaves them. */
const table = (rows: ReadonlyArray<ReadonlyArray<string>>): ReadonlyArray<string> => {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)))
  const line = (row: ReadonlyArray<string>) => `| ${row.map((text, n) => text.padEnd(widths[n]!)).join(" | ")} |`
  const [heads, ...rest] = rows
  return [line(heads!), line(widths.map((width) => "-".repeat(width))), ...rest.map(line)]
}

const page = [
  "# What agents do when they are cancelled",
  "",
  "What `npm run acp-suite` found last. A raw client, which is no SDK, puts each case to a process of its own: to",
  "[an agent of ours](../packages/acp/test/fixture/suite.ts), and to",
  "[the same agent on the official SDK alone](../packages/acp/test/fixture/suite-sdk.ts), written with care: every body takes its",
  "signal, `session/cancel` aborts, calls are awaited. To put it to yours: `quiesce-acp-suite -- COMMAND`; what it has to offer is",
  "said in [Suite](reference/acp/Suite.md).",
  "",
  ...table([
    ["", "case", "`@quiesce/acp`", "the SDK alone"],
    ...ours.map((outcome, index) => [
      `${outcome.number}`,
      `\`${outcome.name}\`: ${outcome.title}`,
      cell(outcome),
      cell(sdk[index]!)
    ])
  ]),
  "",
  taken(`@agentclientprotocol/sdk ${version}`),
  ""
].join("\n")

const faults = faultsOf(ours)
console.log(`${ours.length} cases, ${faults.length} fail with ours, ${faultsOf(sdk).length} with the SDK alone`)
if (process.argv.includes("--write")) {
  writeFileSync(fileURLToPath(new URL("../../../../docs/acp-suite.md", import.meta.url)), page)
}
process.exitCode = faults.length === 0 ? 0 : 1
