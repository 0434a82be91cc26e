/** `docs/races.md`: the last heavy exploration, as a page. */
import type { Report } from "@quiesce/testing"
import type { Race, Subject } from "./Race.ts"

export interface Explored {
  readonly subject: Subject
  readonly race: Race
  readonly report: Report.Report
}

const coverage = ({ coverage, preemptions }: Report.Report): string => {
  switch (coverage._tag) {
    case "Exhaustive":
      return coverage.reached.length === 0 ? "every one" : `every one with ≤ ${preemptions} preemptions`
    case "Partial":
      return `the first ones with ≤ ${preemptions} preemptions`
    case "Sampled":
      return `a sample, seed ${coverage.seed}`
  }
}

const rate = ({ explored, millis }: Report.Report): string => {
  // Two digits: the rest is the weather of the machine.
  const perSecond = Number((explored / millis * 1_000).toPrecision(2))
  return explored < 1_000 ? "" : perSecond.toLocaleString("en")
}

const row = ({ race, report }: Explored): string =>
  `| ${race.name} | ${race.clauses.join(", ")} | ${report.explored.toLocaleString("en")} | ${coverage(report)} | ${
    report.failing.toLocaleString("en")
  } | ${rate(report)} |`

export const document = (explored: ReadonlyArray<Explored>): string => {
  const total = explored.reduce((sum, { report }) => sum + report.explored, 0)
  const failing = explored.reduce((sum, { report }) => sum + report.failing, 0)
  const subjects = [...new Set(explored.map(({ subject }) => subject))]
  const sections = subjects.map(({ subject }) =>
    [
      `## ${subject}`,
      "",
      "| in every interleaving | clauses | explored | coverage | failing | per second |",
      "| --- | --- | ---: | --- | ---: | ---: |",
      ...explored.filter((it) => it.subject.subject === subject).map(row)
    ].join("\n")
  )
  return [
    "# Races",
    "",
    "What `npm run races` explored last, and what it found. Each line is a program of `tests/races`, run under every",
    "interleaving of its fibers, promises, timers and cancellation points within its bound. The tests explore the same",
    "programs to a smaller bound on every run.",
    "",
    `${total.toLocaleString("en")} interleavings explored, ${failing.toLocaleString("en")} failing.`,
    "",
    ...sections.flatMap((section) => [section, ""])
  ].join("\n")
}
