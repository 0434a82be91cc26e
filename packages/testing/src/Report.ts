/**
 * What an exploration found, as data and in words.
 *
 * A report passes only if nothing failed and nothing escaped: an exploration that did not control everything has shown
 * less than it says, so it is unsound rather than passed.
 */
import * as Interleaving from "./Interleaving.ts"
import type { Strategy } from "./Strategy.ts"

/** What of the program's interleavings was run. */
export type Coverage =
  /**
   * All of them, within the bounds. `reached` says which bounds took something away; if it is empty, there are no
   * others.
   */
  | { readonly _tag: "Exhaustive"; readonly reached: ReadonlyArray<"preemptions" | "timers" | "steps"> }
  /**
   * The first ones: the search ended at the bound on runs, or at the first failure. Up to `complete` preemptions it had
   * run every one; `undefined` when not even those without a preemption.
   */
  | { readonly _tag: "Partial"; readonly endedBy: "runs" | "failure"; readonly complete: number | undefined }
  /** Those that were drawn. */
  | { readonly _tag: "Sampled"; readonly strategy: Exclude<Strategy["_tag"], "Exhaustive">; readonly seed: number }

/** One way for the program to end well, and how it comes about. */
export interface Outcome {
  readonly outcome: string
  readonly count: number
  readonly witness: Interleaving.Interleaving
}

/** One way for the program to go wrong. */
export interface Failure {
  readonly message: string
  /** The line of the program that the error comes from, where it says so. */
  readonly where: string | undefined
  readonly count: number
  /** As it was met first. */
  readonly found: Interleaving.Interleaving
  /** With everything taken out that it does not need. */
  readonly minimal: Interleaving.Interleaving
}

/** Something that went on outside the explorer's control. */
export interface Escape {
  readonly what: string
  readonly where: string
  readonly count: number
}

export interface Report {
  readonly name: string
  readonly verdict: "passed" | "failed" | "unsound"
  /** How many interleavings were run to their end. */
  readonly explored: number
  /** How many of them failed. */
  readonly failing: number
  /** How many of those that were run had no preemption, one, two, and so on: what the next one would cost. */
  readonly byPreemptions: ReadonlyArray<number>
  /** How many were given up because they would have repeated another one. */
  readonly redundant: number
  readonly coverage: Coverage
  readonly preemptions: number
  readonly timers: number
  readonly outcomes: ReadonlyArray<Outcome>
  readonly failures: ReadonlyArray<Failure>
  /** How many further ways to end there were: of each kind the first dozen is told. */
  readonly omitted: number
  readonly escapes: ReadonlyArray<Escape>
  /** Set when the program did something else under the same decisions. */
  readonly divergence: string | undefined
  readonly millis: number
}

/** One line: how many interleavings, of which, and how they ended. */
export const summary = (report: Report): string =>
  `${report.name}: ${report.explored.toLocaleString("en")} interleaving${report.explored === 1 ? "" : "s"}, ${
    report.failing.toLocaleString("en")
  } failing`
  + ` (${describeCoverage(report)}; ${(report.millis / 1000).toFixed(2)} s)`

/** The whole report in words. `call` is how a replay is written where the report is read. */
export const format = (
  report: Report,
  call: (replay: string) => string = (replay) => `Explore.replay(program, "${replay}")`
): string => {
  const lines = [summary(report)]
  for (const failure of report.failures) {
    lines.push(
      "",
      `  ${failure.message.replaceAll("\n", "\n  ")}`,
      ...failure.where === undefined ? [] : [`    at ${failure.where}`],
      `    in ${failure.count.toLocaleString("en")} of them, at least: ${Interleaving.format(failure.minimal)}`,
      `    replay: ${call(failure.minimal.replay)}`
    )
  }
  if (report.divergence !== undefined) {
    lines.push("", "  UNSOUND: the program did something else under the same decisions", `    ${report.divergence}`)
  }
  if (report.escapes.length > 0) {
    lines.push("", "  UNSOUND: what follows goes on outside the explorer's control")
    for (const { count, what, where } of report.escapes) {
      lines.push(`    ${what} at ${where} (${count} ${count === 1 ? "time" : "times"})`)
    }
  }
  if (report.outcomes.length > 0) {
    lines.push("", "  outcomes")
    for (const { count, outcome, witness } of report.outcomes) {
      lines.push(`    ${count.toLocaleString("en")} × ${line(outcome)}, as in: ${Interleaving.format(witness)}`)
    }
  }
  if (report.omitted > 0) lines.push("", `  and ${plural(report.omitted, "further way")} to end`)
  return lines.join("\n")
}

/** Wide enough for a call's result, and not for a page. */
const maxLine = 160

const line = (text: string): string => {
  const flat = text.replaceAll(/\s*\n\s*/g, " ")
  return flat.length > maxLine ? `${flat.slice(0, maxLine)}…` : flat
}

const plural = (count: number, what: string): string => `${count} ${what}${count === 1 ? "" : "s"}`

const atMost = (count: number, what: string): string => count === 0 ? `no ${what}` : `at most ${plural(count, what)}`

const describeCoverage = ({ coverage, preemptions, timers }: Report): string => {
  switch (coverage._tag) {
    case "Exhaustive": {
      if (coverage.reached.length === 0) return "every one there is"
      const bounds = [
        ...coverage.reached.includes("preemptions") ? [atMost(preemptions, "preemption")] : [],
        ...coverage.reached.includes("timers") ? [atMost(timers, "early timer")] : []
      ]
      const within = bounds.length === 0 ? "every one" : `every one with ${bounds.join(" and ")}`
      return coverage.reached.includes("steps") ? `${within}, some cut at the bound on steps` : within
    }
    case "Partial": {
      const ended = coverage.endedBy === "runs" ? "ended by the bound on runs" : "ended by the first failure"
      return coverage.complete === undefined
        ? ended
        : `${ended}, after every one with ${atMost(coverage.complete, "preemption")}`
    }
    case "Sampled":
      return `${coverage.strategy.toLowerCase()}, seed ${coverage.seed}`
  }
}
