/** `docs/mutants.md`: how the last trial of all mutants ended, as a page. */
import { taken } from "../taken.ts"
import { clausesOf } from "./Mutant.ts"
import type { Outcome } from "./Mutation.ts"

const packageOf = ({ mutant: { file } }: Outcome): string => /^packages\/([^/]+)/.exec(file)?.[1] ?? "tests and tools"

const row = (name: string, outcomes: ReadonlyArray<Outcome>): string => {
  const count = (tag: Outcome["verdict"]["_tag"]) => outcomes.filter(({ verdict }) => verdict._tag === tag).length
  const clauses = new Set(outcomes.flatMap(({ mutant }) => clausesOf(mutant)))
  const counts = [outcomes.length, clauses.size, count("Caught"), count("Survived"), count("Broken")]
  return `| ${[name, ...counts].join(" | ")} |`
}

export const document = (outcomes: ReadonlyArray<Outcome>): string => {
  const packages = [...new Set(outcomes.map(packageOf))]
  const open = outcomes.filter(({ verdict }) => verdict._tag !== "Caught")
  return [
    "# Mutants",
    "",
    "What `npm run mutants -- --write` found last. A mutant is one guard of the sources taken away, and the test that has to turn",
    "red without it. _Survived_: the test stayed green. _Broken_: the trial says nothing, for the test was not green before, or the",
    "mutated source did not load. How to add one is told in [`tests/mutants`](../tests/mutants/Mutant.ts).",
    "",
    "| guards of | mutants | clauses | caught | survived | broken |",
    "| --- | ---: | ---: | ---: | ---: | ---: |",
    ...packages.map((name) => row(name, outcomes.filter((outcome) => packageOf(outcome) === name))),
    row("all", outcomes),
    "",
    ...open.map(({ mutant, verdict }) => `- ${verdict._tag}: ${mutant.name} (${mutant.file})`),
    ...(open.length === 0 ? [] : [""]),
    taken(),
    ""
  ].join("\n")
}
