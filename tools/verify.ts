/**
 * Everything that must hold of this repository, in order, ending at the first thing that does not: `npm test`.
 *
 * When the tests were reached, the last line is `N passed, N failed`, counted from the runner's own report.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as Count from "./count.ts"
import { run } from "./run.ts"

const directory = mkdtempSync(join(tmpdir(), "quiesce-verify-"))
process.on("exit", () => rmSync(directory, { recursive: true, force: true }))

const command = async (name: string, fault: string, ...args: ReadonlyArray<string>): Promise<string | undefined> => {
  const { code } = await run(name, args)
  return code === 0 ? undefined : `${fault} (exit code ${code}, see above)`
}

const tool = (name: string, fault: string, ...args: ReadonlyArray<string>): Promise<string | undefined> =>
  command(process.execPath, fault, join(import.meta.dirname, name), ...args)

let counted: Count.Count | undefined

const tests = async (): Promise<string | undefined> => {
  const file = join(directory, "report.json")
  // Child processes of tests resolve sources too.
  const NODE_OPTIONS = `${process.env["NODE_OPTIONS"] ?? ""} --conditions=@quiesce/source`.trim()
  const { code } = await run(
    "vitest",
    ["run", "--reporter=default", "--reporter=json", `--outputFile.json=${file}`],
    { env: { NODE_OPTIONS } }
  )
  let report: Count.Report
  try {
    report = JSON.parse(readFileSync(file, "utf8")) as Count.Report
  } catch {
    return `the test runner crashed before it could report (exit code ${code}, see above)`
  }
  counted = Count.count(report, code)
  return Count.fault(counted)
}

/** Each answers with what is wrong, or with nothing. */
const stages: ReadonlyArray<readonly [name: string, check: () => Promise<string | undefined>]> = [
  ["format and lint", () => tool("lint.ts", "format or lint faults")],
  ["unused exports, files and dependencies", () => command("knip", "something is not used", "--no-progress")],
  ["types and build", () => tool("build.ts", "type errors")],
  ["reference", () => tool("reference.ts", "docs/reference is not what the sources say", "--check")],
  ["packaging", () => tool("packaging.ts", "a package is not fit to be published")],
  ["tests", tests]
]

for (const [name, check] of stages) {
  const start = performance.now()
  console.log(`\n== ${name}`)
  const fault = await check()
  const seconds = ((performance.now() - start) / 1000).toFixed(1)
  if (fault !== undefined) {
    console.error(`\nnpm test failed at "${name}" after ${seconds} s: ${fault}.`)
    process.exitCode = 1
    break
  }
  console.log(`== ${name}: ok, ${seconds} s`)
}
if (counted !== undefined) console.log(Count.line(counted))
