/** `docs/torture.md`: the last full load, as a page. */
import { taken } from "../taken.ts"
import type * as Isolates from "./isolates.ts"
import * as Latency from "./latency.ts"
import type * as Torture from "./torture.ts"

export interface Done {
  readonly seed: string
  readonly torture: Torture.Report
  readonly latencies: ReadonlyArray<Latency.Report>
  readonly isolates: ReadonlyArray<Isolates.Report>
}

export const document = ({ isolates, latencies, seed, torture }: Done): string =>
  [
    "# Torture",
    "",
    "What `npm run torture -- --write` did last, and what it found. Commands that start descendants of every kind (those that",
    "ignore SIGTERM, left their group or session, fork on, closed their files) are cancelled at random instants, four at a time;",
    "then the process table is searched for what they started. The tests do some of it on every run.",
    "",
    `**${
      torture.cancels.toLocaleString("en")
    } cancels, ${torture.left.length} left behind**, with seed ${seed}: no process alive that`,
    "the outcome had not named, no listener on the signal, no open file and no timer more than before. Outcomes that named somebody",
    `who may be alive: ${torture.residues}.`,
    "",
    ...torture.left.map((line) => `- left behind: ${line}`),
    ...(torture.left.length === 0 ? [] : [""]),
    `From cancel to quiescence, one at a time; the grace is ${Latency.graceMillis} ms:`,
    "",
    "| a command | cancels | median | at most |",
    "| --- | ---: | ---: | ---: |",
    ...latencies.map(({ cancels, longestMillis, medianMillis, name }) =>
      `| ${name} | ${cancels} | ${medianMillis} ms | ${longestMillis} ms |`
    ),
    "",
    "Isolated bodies that do not end by themselves, each within the bound that its kind states:",
    "",
    "| a body | within its bound | bound | median | at most |",
    "| --- | ---: | ---: | ---: | ---: |",
    ...isolates.map(({ boundMillis, cancels, longestMillis, medianMillis, name, within }) =>
      `| ${name} | ${within} of ${cancels} | ${boundMillis} ms | ${medianMillis} ms | ${longestMillis} ms |`
    ),
    "",
    taken(),
    ""
  ].join("\n")
