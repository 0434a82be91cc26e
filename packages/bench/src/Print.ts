/** A report as text for a terminal. */
import type { Facts, Figures, Kind, Ratio, Report, Row, Table, Unit } from "./Report.ts"
import * as Statistics from "./Statistics.ts"

/** Three significant digits, which is more than any figure here deserves. */
export const digits = (value: number): string =>
  Math.abs(value) >= 1000 ? Math.round(value).toLocaleString("en") : String(Number(value.toPrecision(3)))

const nanos = (value: number): string =>
  value < 1e3 ? `${digits(value)} ns` : value < 1e6 ? `${digits(value / 1e3)} µs` : `${digits(value / 1e6)} ms`

export const quantity = (value: number, unit: Unit): string =>
  unit === "ns" ? nanos(value) : `${digits(value)} ${unit === "listeners" && value === 1 ? "listener" : unit}`

const percent = (fraction: number): string => `±${Math.max(1, Math.round(fraction * 100))} %`

export const ratio = (ratio: Ratio | undefined): string => {
  if (ratio === undefined) return ""
  const { high, low, median } = ratio.spread
  // A ratio that its own repeats contradict is not one; what they said is still worth reading.
  return ratio._tag === "Agreed"
    ? `${digits(median)} × ${percent(Statistics.disagreement(ratio.spread))}`
    : `refused: ${digits(low)}–${digits(high)} ×`
}

export const point = (at: number | undefined): string => at === undefined ? "" : at.toLocaleString("en")

/** A table as rows of text, its heads first. */
export interface Grid {
  readonly heads: ReadonlyArray<string>
  readonly rows: ReadonlyArray<{ readonly kind: Kind; readonly cells: ReadonlyArray<string> }>
}

/** A line per row. */
const long = (table: Figures): Grid => ({
  heads: ["", "median", "spread", `ratio (claims ${percent(table.claim)})`, "lacks"],
  rows: table.rows.map((row) => ({
    kind: row.kind,
    cells: [
      row.name,
      quantity(row.value.median, row.unit),
      percent(Statistics.disagreement(row.value)),
      ratio(row.ratio),
      row.lacks
    ]
  }))
})

const cell = ({ ratio, unit, value }: Row): string => {
  const median = quantity(value.median, unit)
  if (ratio === undefined) return median
  return `${median} (${ratio._tag === "Agreed" ? `${digits(ratio.spread.median)} ×` : "refused"})`
}

/** A line per subject and a column per point, for tables that measure the same subjects at several. */
const wide = (table: Figures, axis: string): Grid => {
  const points = [...new Set(table.rows.map(({ at }) => at))].toSorted((a, b) => (a ?? 0) - (b ?? 0))
  const names = [...new Set(table.rows.map(({ name }) => name))]
  return {
    heads: [axis, ...points.map(point), "lacks"],
    rows: names.map((name) => {
      const rows = table.rows.filter((row) => row.name === name)
      const at = points.map((at) => rows.find((row) => row.at === at))
      const { kind, lacks } = rows[0]!
      return { kind, cells: [name, ...at.map((row) => row === undefined ? "" : cell(row)), lacks] }
    })
  }
}

const facts = (table: Facts): Grid => ({
  heads: ["", ...table.columns],
  rows: table.rows.map(({ cells, kind, name }) => ({ kind, cells: [name, ...cells] }))
})

/** The columns that say something. */
const used = ({ heads, rows }: Grid): Grid => {
  const keep = heads.map((_, column) => rows.some(({ cells }) => cells[column] !== ""))
  const kept = (cells: ReadonlyArray<string>) => cells.filter((_, column) => keep[column])
  return { heads: kept(heads), rows: rows.map(({ cells, kind }) => ({ kind, cells: kept(cells) })) }
}

export const grid = (table: Table): Grid =>
  table._tag === "Facts" ? facts(table) : used(table.axis === undefined ? long(table) : wide(table, table.axis))

/** Lays out columns; the first is flush left, the others are flush right but the last. */
export const columns = (rows: ReadonlyArray<ReadonlyArray<string>>): string => {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)))
  const last = widths.length - 1
  const pad = (text: string, column: number) =>
    column === 0 || column === last ? text.padEnd(widths[column]!) : text.padStart(widths[column]!)
  return rows.map((row) => row.map(pad).join("  ").trimEnd()).join("\n")
}

const table = (table: Table): string => {
  const { heads, rows } = grid(table)
  return `${table.title} (${table.name})\n${columns([heads, ...rows.map(({ cells }) => cells)])}\n`
}

export const report = (report: Report): string => [report.environment, ...report.tables.map(table)].join("\n\n")
