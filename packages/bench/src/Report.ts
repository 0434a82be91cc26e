/**
 * What the bench says: tables of figures, each with its spread and its ratio to the floor of the same rounds.
 *
 * A ratio is computed round by round, between two figures taken milliseconds apart, because only that survives a
 * machine that is busy with other things. Each child process gives two repeats of it, one per order. When a repeat is
 * further from the median than the table claims, no ratio is printed.
 */
import type { Spread } from "./Statistics.ts"
import * as Statistics from "./Statistics.ts"

export type Kind = "floor" | "ours" | "peer"
export type Unit = "ns" | "bytes" | "ms" | "per second" | "listeners"

/** Names a row: the subject, and the point it was measured at where a table has several. */
export interface Key {
  readonly name: string
  readonly at?: number | undefined
}

/** What one child process measured for one row: a value per round. */
export interface Series extends Key {
  readonly kind: Kind
  readonly unit: Unit
  readonly lacks: string
  /** The row this one is divided by. */
  readonly against?: Key | undefined
  readonly rounds: ReadonlyArray<number>
}

export type Ratio =
  | { readonly _tag: "Agreed"; readonly against: Key; readonly spread: Spread }
  | { readonly _tag: "Refused"; readonly against: Key; readonly spread: Spread }

export interface Row extends Key {
  readonly kind: Kind
  readonly unit: Unit
  readonly lacks: string
  readonly value: Spread
  readonly ratio?: Ratio | undefined
}

interface Heading {
  readonly name: string
  readonly title: string
  readonly about: string
}

export interface Figures extends Heading {
  readonly _tag: "Figures"
  /** What `at` counts, where rows have it. */
  readonly axis?: string | undefined
  /** How far repeats may be from their median before a ratio is refused. */
  readonly claim: number
  readonly rows: ReadonlyArray<Row>
}

export interface Facts extends Heading {
  readonly _tag: "Facts"
  readonly columns: ReadonlyArray<string>
  readonly rows: ReadonlyArray<{ readonly name: string; readonly kind: Kind; readonly cells: ReadonlyArray<string> }>
}

export type Table = Figures | Facts

export interface Report {
  readonly environment: string
  readonly tables: ReadonlyArray<Table>
}

export const isKey = (a: Key, b: Key): boolean => a.name === b.name && a.at === b.at

/** The rounds of one row, among what a process measured. */
export const roundsOf = (series: ReadonlyArray<Series>, key: Key): ReadonlyArray<number> =>
  series.find((other) => isKey(other, key))!.rounds

export const quotients = (dividend: ReadonlyArray<number>, divisor: ReadonlyArray<number>) =>
  dividend.map((value, round) => value / divisor[round]!)

/** Summarizes one row from the repeats of all child processes. */
const row = (processes: ReadonlyArray<ReadonlyArray<Series>>, key: Series, claim: number): Row => {
  const { against, at, kind, lacks, name, unit } = key
  const repeatsOf = (rounds: (series: ReadonlyArray<Series>) => ReadonlyArray<number>) =>
    Statistics.spread(processes.flatMap((series) => Statistics.byOrder(rounds(series))))
  const value = repeatsOf((series) => roundsOf(series, key))
  if (against === undefined) return { name, at, kind, unit, lacks, value }
  const spread = repeatsOf((series) => quotients(roundsOf(series, key), roundsOf(series, against)))
  const _tag = Statistics.disagreement(spread) <= claim ? "Agreed" : "Refused"
  return { name, at, kind, unit, lacks, value, ratio: { _tag, against, spread } }
}

export const rows = (processes: ReadonlyArray<ReadonlyArray<Series>>, claim: number): ReadonlyArray<Row> =>
  (processes[0] ?? []).map((series) => row(processes, series, claim))
