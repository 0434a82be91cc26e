/**
 * What differs between two reports, beyond what their own repeats differ by.
 *
 * Times of two runs are not compared: only ratios to the floor of the same run are, and figures that are not times.
 */
import * as Print from "./Print.ts"
import type { Figures, Key, Report, Row, Unit } from "./Report.ts"
import { isKey } from "./Report.ts"
import type { Spread } from "./Statistics.ts"

export interface Difference extends Key {
  readonly table: string
  /** `×` for a ratio. */
  readonly unit: Unit | "×"
  readonly before: Spread
  readonly after: Spread
}

/**
 * Two reports of one revision give intervals that overlap, nearly always; "nearly" over a hundred rows is a false
 * alarm, so the medians have to be this far apart as well.
 */
const least = 0.05

const isBeyondNoise = (before: Spread, after: Spread): boolean => {
  const apart = before.high < after.low || after.high < before.low
  return apart && Math.abs(after.median - before.median) > least * Math.abs(before.median)
}

/** What of a row can be held against another run: nothing when it is its own floor, or when its ratio was refused. */
const comparable = (row: Row): { readonly unit: Unit | "×"; readonly spread: Spread } | undefined => {
  if (row.ratio === undefined) return row.unit === "ns" ? undefined : { unit: row.unit, spread: row.value }
  return row.ratio._tag === "Refused" || isKey(row, row.ratio.against)
    ? undefined
    : { unit: "×", spread: row.ratio.spread }
}

const inTable = (before: Figures, after: Figures): ReadonlyArray<Difference> =>
  after.rows.flatMap((row) => {
    const other = before.rows.find((candidate) => isKey(candidate, row))
    const now = comparable(row)
    const then = other === undefined ? undefined : comparable(other)
    if (now === undefined || then === undefined || now.unit !== then.unit) return []
    if (!isBeyondNoise(then.spread, now.spread)) return []
    return [{ table: after.name, name: row.name, at: row.at, unit: now.unit, before: then.spread, after: now.spread }]
  })

export const differences = (before: Report, after: Report): ReadonlyArray<Difference> =>
  after.tables.flatMap((table) => {
    const other = before.tables.find(({ name }) => name === table.name)
    return table._tag === "Figures" && other?._tag === "Figures" ? inTable(other, table) : []
  })

const figure = (value: number, unit: Difference["unit"]): string =>
  unit === "×" ? Print.digits(value) + " ×" : Print.quantity(value, unit)

export const text = (found: ReadonlyArray<Difference>): string =>
  found.length === 0
    ? "no difference beyond noise"
    : Print.columns([
      ["", "", "before", "after", ""],
      ...found.map(({ after, at, before, name, table, unit }) => [
        `${table}: ${name}`,
        Print.point(at),
        figure(before.median, unit),
        figure(after.median, unit),
        `${after.median > before.median ? "+" : "−"}${Math.round(Math.abs(after.median / before.median - 1) * 100)} %`
      ])
    ])
