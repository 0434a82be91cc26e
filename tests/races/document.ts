/** `docs/races.md`: the last heavy exploration, as a page. Its tables are for the formatter to align. */
import type { Report } from "@quiesce/testing"
import { taken } from "../taken.ts"
import { ciPreemptions, ciRuns, heavyPreemptions, heavyRuns, type Race, type Subject } from "./Race.ts"

export interface Explored {
  /** Its place among those that were explored. */
  readonly order: number
  readonly subject: Subject
  readonly race: Race
  readonly report: Report.Report
}

const thousands = (count: number): string => count.toLocaleString("en")

/** Up to how many preemptions every interleaving was run, and whether there are any with more. */
const coverage = ({ coverage, preemptions }: Report.Report): string => {
  switch (coverage._tag) {
    case "Exhaustive":
      return coverage.reached.includes("preemptions") ? `≤ ${preemptions}` : "all"
    case "Partial":
      return coverage.complete === undefined ? "–" : `≤ ${coverage.complete}`
    case "Sampled":
      return "a sample"
  }
}

const rate = ({ explored, millis }: Report.Report): string => {
  // Two digits: the rest is the weather of the machine.
  const perSecond = Number((explored / millis * 1_000).toPrecision(2))
  return explored < 1_000 ? "" : thousands(perSecond)
}

/** A sentence in a cell: a bar would end it. */
const cell = (text: string): string => text.replaceAll("|", "\\|")

const row = ({ race, report }: Explored): string =>
  `| ${cell(race.name)} | ${race.clauses.join(", ")} | ${coverage(report)} | ${thousands(report.explored)} | ${
    thousands(report.failing)
  } | ${rate(report)} |`

export const document = (explored: ReadonlyArray<Explored>): string => {
  const total = explored.reduce((sum, { report }) => sum + report.explored, 0)
  const failing = explored.reduce((sum, { report }) => sum + report.failing, 0)
  const seconds = explored.reduce((sum, { report }) => sum + report.millis, 0) / 1_000
  const subjects = [...new Set(explored.map(({ subject }) => subject))]
  const sections = subjects.map(({ subject }) =>
    [
      `## ${subject[0]!.toUpperCase()}${subject.slice(1)}`,
      "",
      "| in every interleaving | clauses | preemptions | explored | failing | per second |",
      "| --- | --- | ---: | ---: | ---: | ---: |",
      ...explored.filter((it) => it.subject.subject === subject).map(row)
    ].join("\n")
  )
  return [
    "# Races",
    "",
    "What `npm run races -- --write` explored last, and what it found. Each line is a program of",
    "[`tests/races`](../tests/races), run under every interleaving of its fibers, promises, timers and cancellation points",
    "within a bound on preemptions; how it is done is told in [the guide](guide/races.md).",
    "",
    `**${thousands(total)} interleavings explored, ${
      thousands(failing)
    } failing**, of ${explored.length} programs, at ${
      thousands(Number((total / seconds).toPrecision(2)))
    } a second and core.`,
    "",
    taken(),
    "",
    "_preemptions_: up to this number every interleaving was run (–: not even all of those without). A switch where a fiber",
    "yields or waits by itself is none, and not bounded. _all_: there is no interleaving with more.",
    "",
    `Each program is given ${
      thousands(heavyRuns)
    } interleavings and at most ${heavyPreemptions} preemptions. Where they were used up before`,
    "all of those with one preemption more were run, the ones that were are counted as _explored_ too. The tests run on",
    `every change, of each program, as many preemptions as have at most ${
      thousands(ciRuns)
    } interleavings, up to ${ciPreemptions}.`,
    "",
    ...sections.flatMap((section) => [section, ""])
  ].join("\n")
}
