/**
 * `docs/contract.md`: the contract for readers, each clause with the tests that prove it.
 *
 * The text depends on the clauses and the titles of the tests alone (no line numbers, no dates), so that it changes
 * only when they do. It is written as dprint would format it.
 */
import { citedIn } from "./cites.ts"
import type { CollectedTest } from "./collect.ts"
import { proofsOf } from "./coverage.ts"
import { type Area, areas, contract, requirements, words } from "./requirements.ts"

const preamble = `# The contract

What Quiesce promises, one numbered clause at a time. Each clause of a finished area is followed by the tests that cite
its number, and the build fails when there is none. Where an area is not built yet, its clauses say what it will promise
and claim nothing.

This page is written by \`npm run contract\` from \`tests/conformance\`; change it there.`

/** A title as Markdown: code stays code, every other mark means itself. */
const inline = (title: string): string =>
  title.replace(/\s+/g, " ").trim()
    .split(/(`[^`]+`)/)
    .map((part, i) => i % 2 === 1 ? part : part.replace(/[\\`*_[\]<]/g, "\\$&"))
    .join("")
    .replace(/^(\d*)([-+#>.)])/, "$1\\$2")

/** A title without the clauses it cites, which the reader of a clause knows. */
const withoutCitation = (title: string): string =>
  citedIn(title).length === 0 ? title : title.slice(0, title.lastIndexOf(" ["))

const proofs = (tests: ReadonlyArray<CollectedTest>): string => {
  const files = [...new Set(tests.map(({ file }) => file))]
  return files.map((file) =>
    [
      `- [${file}](../${file})`,
      ...tests.filter((test) => test.file === file).map(({ title }) => `  - ${inline(withoutCitation(title))}`)
    ].join("\n")
  ).join("\n")
}

const clauses = (area: Area, tests: ReadonlyArray<CollectedTest>, finished: boolean): ReadonlyArray<string> =>
  requirements.filter((requirement) => requirement.area === area).flatMap(({ id, text }) => {
    if (!finished) return [`### ${id}`, text, "_Not built yet._"]
    const citing = proofsOf(id, tests)
    return [`### ${id}`, text, citing.length === 0 ? "**No test proves this.**" : `Proved by\n\n${proofs(citing)}`]
  })

const chapter = (area: Area, tests: ReadonlyArray<CollectedTest>, finished: boolean): ReadonlyArray<string> => {
  const { intro, title }: { readonly intro?: string; readonly title: string } = contract[area]
  return [`## ${area}: ${title}`, ...(intro === undefined ? [] : [intro]), ...clauses(area, tests, finished)]
}

/** The whole page. */
export const render = (tests: ReadonlyArray<CollectedTest>, finished: ReadonlyArray<Area>): string =>
  [
    preamble,
    "## Words",
    words.map(([word, meaning]) => `- _${word}_: ${meaning}`).join("\n"),
    ...areas.flatMap((area) => chapter(area, tests, finished.includes(area)))
  ].join("\n\n") + "\n"
