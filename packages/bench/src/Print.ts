/** A report as text for a terminal. */
import type { Facts, Figures, Ratio, Report, Row, Table, Unit } from "./Report.ts"
import * as Statistics from "./Statistics.ts"

/** Three significant digits, which is more than any figure here deserves. */
export const digits = (value: number): string =>
  Math.abs(value) >= 1000 ? Math.round(value).toLocaleString("en") : String(Number(value.toPrecision(3)))

const nanos = (value: number): string => value < 1000 ? `${digits(value)} ns` : `${digits(value / 1000)} µs`

export const quantity = (value: number, unit: Unit): string => unit === "ns" ? nanos(value) : `${digits(value)} ${unit}`

export const percent = (fraction: number): string => `±${Math.max(1, Math.round(fraction * 100))} %`

export const ratio = (ratio: Ratio | undefined): string => {
  if (ratio === undefined) return ""
  const { high, low, median } = ratio.spread
  // A ratio that its own repeats contradict is not one; what they said is still worth reading.
  return ratio._tag === "Agreed"
    ? `${digits(median)} × ${percent(Statistics.disagreement(ratio.spread))}`
    : `refused: ${digits(low)}–${digits(high)} ×`
}

export const point = (at: number | undefined): string => at === undefined ? "" : at.toLocaleString("en")

/** Lays out columns; the first is flush left, the others are flush right but the last. */
export const columns = (rows: ReadonlyArray<ReadonlyArray<string>>): string => {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)))
  const last = widths.length - 1
  const cell = (text: string, column: number) =>
    column === 0 || column === last ? text.padEnd(widths[column]!) : text.padStart(widths[column]!)
  return rows.map((row) => row.map(cell).join("  ").trimEnd()).join("\n")
}

export const cells = (row: Row): ReadonlyArray<string> => [
  row.name,
  point(row.at),
  quantity(row.value.median, row.unit),
  percent(Statistics.disagreement(row.value)),
  ratio(row.ratio),
  row.lacks === "" ? "" : `lacks ${row.lacks}`
]

const figures = (table: Figures): string => {
  const rows = table.rows.map(cells)
  const used = ["", "", "", "", "", ""].map((_, column) => rows.some((row) => row[column] !== ""))
  const heads = ["", table.axis ?? "", "median", "spread", `ratio (claims ${percent(table.claim)})`, ""]
  return columns([heads, ...rows].map((row) => row.filter((_, column) => used[column])))
}

const facts = (table: Facts): string =>
  columns([["", ...table.columns], ...table.rows.map(({ cells, name }) => [name, ...cells])])

export const table = (table: Table): string =>
  `${table.title} (${table.name})\n${table._tag === "Figures" ? figures(table) : facts(table)}\n`

export const report = (report: Report): string => [report.environment, ...report.tables.map(table)].join("\n\n")
