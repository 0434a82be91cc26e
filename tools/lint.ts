/**
 * Format and lint: `npm run lint`. Both always run, so that one run shows everything there is to mend.
 */
import { run } from "./run.ts"

const format = await run("dprint", ["check"])
if (format.code !== 0) console.error(`Files are not formatted (see above): "npm run format" does it.`)

// The rules, ours among them (tools/lint/), are switched on in .oxlintrc.json.
const rules = await run("oxlint", [])
if (rules.code !== 0) console.error("oxlint found faults (see above).")

process.exitCode = format.code === 0 && rules.code === 0 ? 0 : 1
