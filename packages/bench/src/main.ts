/**
 * The bench on the command line.
 *
 *     npm run bench                          every table
 *     npm run bench -- call peers            these tables
 *     npm run bench -- --check               the goals; fails when one is not met
 *     npm run bench -- --write               docs/performance.md, its pictures, and docs/comparison.md
 *     npm run bench -- --save FILE           also keeps the report as JSON
 *     npm run bench -- --compare REVISION    what differs from another revision, beyond noise
 *     npm run bench -- --compare A.json B.json   the same between two kept reports
 */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { parseArgs } from "node:util"
import * as Compare from "./Compare.ts"
import * as Comparison from "./Comparison.ts"
import * as Goals from "./Goals.ts"
import * as Page from "./Page.ts"
import * as Print from "./Print.ts"
import type { Report } from "./Report.ts"
import * as Revision from "./Revision.ts"
import * as Run from "./Run.ts"
import * as Tables from "./tables.ts"

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    check: { type: "boolean" },
    compare: { type: "string" },
    save: { type: "string" },
    write: { type: "boolean" }
  }
})

const progress = (name: string) =>
  console.error(`${Math.round(performance.now() / 1000).toString().padStart(5)} s  measuring ${name}`)

const read = (file: string) => JSON.parse(readFileSync(file, "utf8")) as Report

const compare = async (before: string, rest: ReadonlyArray<string>) => {
  const [one, other] = before.endsWith(".json")
    ? [read(before), read(rest[0] ?? "")]
    : await Revision.using(
      Run.here,
      before,
      (checkout) => Run.run([checkout, Run.here], rest.length === 0 ? Tables.names : rest, progress)
    )
  console.log(Compare.text(Compare.differences(one!, other!)))
}

const write = (report: Report) => {
  const { markdown, pictures } = Page.page(report)
  const docs = join(Run.here, "docs")
  mkdirSync(join(docs, "performance"), { recursive: true })
  writeFileSync(join(docs, "performance.md"), markdown)
  for (const [name, picture] of Object.entries(pictures)) writeFileSync(join(docs, "performance", name), picture)
  writeFileSync(join(docs, "comparison.md"), Comparison.page(report))
}

const measure = async () => {
  const names = positionals.length > 0 ? positionals : values.check === true ? Goals.tables : Tables.names
  const [report] = await Run.run([Run.here], names, progress)
  if (values.save !== undefined) writeFileSync(values.save, JSON.stringify(report))
  if (values.write === true) write(report!)
  if (values.check !== true) return console.log(Print.report(report!))
  const verdicts = Goals.judge(report!)
  console.log(Goals.text(verdicts))
  console.log(Goals.summary(verdicts))
  if (verdicts.some(({ met }) => !met)) process.exitCode = 1
}

await (values.compare === undefined ? measure() : compare(values.compare, positionals))
