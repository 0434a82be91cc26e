/**
 * What `npm run mutants` prints: a line for each mutant as it is tried, what was not caught, and the count.
 */
import { clausesOf, type Mutant } from "./Mutant.ts"
import type { Outcome } from "./Mutation.ts"

const where = (mutant: Mutant): string => `${clausesOf(mutant).join(", ")}: ${mutant.name}`

/** `caught    0.9 s  CALL-04: the body runs although the call was cancelled on entry (assertion)`. */
export const line = ({ millis, mutant, verdict }: Outcome): string => {
  const seconds = `${(millis / 1000).toFixed(1)} s`.padStart(6)
  const by = verdict._tag === "Caught" ? ` (${verdict.by})` : ""
  return `${verdict._tag.toLowerCase().padEnd(8)} ${seconds}  ${where(mutant)}${by}`
}

const details = ({ mutant, verdict }: Outcome): string =>
  [
    `  ${where(mutant)}`,
    `    source  ${mutant.file}`,
    `    test    ${mutant.test.file}: ${mutant.test.title}`,
    ...(verdict.detail === "" ? [] : [`    ${verdict.detail}`])
  ].join("\n")

const table = (heading: string, outcomes: ReadonlyArray<Outcome>): ReadonlyArray<string> =>
  outcomes.length === 0 ? [] : [`\n${heading}`, ...outcomes.map(details)]

/** What was not caught, and the last line: `N caught, N survived`, and how many were broken if any. */
export const summary = (outcomes: ReadonlyArray<Outcome>): string => {
  const of = (tag: Outcome["verdict"]["_tag"]) => outcomes.filter(({ verdict }) => verdict._tag === tag)
  const broken = of("Broken")
  return [
    ...table("Survived: the test is green although the guard is gone.", of("Survived")),
    ...table("Broken: the trial says nothing about the test.", broken),
    `\n${of("Caught").length} caught, ${of("Survived").length} survived` +
    (broken.length === 0 ? "" : `, ${broken.length} broken`)
  ].join("\n")
}

/** Whether every mutant was caught, and there was one. */
export const proves = (outcomes: ReadonlyArray<Outcome>): boolean =>
  outcomes.length > 0 && outcomes.every(({ verdict }) => verdict._tag === "Caught")
