/** Tables of a report as Markdown, laid out as the formatter of this repository lays them out. */
import * as Print from "./Print.ts"
import type { Table } from "./Report.ts"

/** Rows under the first one as heads. */
export const rows = ([heads, ...rows]: ReadonlyArray<ReadonlyArray<string>>): string => {
  const cell = (text: string) => text.replaceAll("|", "\\|")
  const all = [heads!, ...rows].map((row) => row.map(cell))
  const widths = heads!.map((_, column) => Math.max(3, ...all.map((row) => row[column]!.length)))
  const line = (row: ReadonlyArray<string>) =>
    `| ${row.map((text, column) => text + " ".repeat(widths[column]! - text.length)).join(" | ")} |`
  return [line(all[0]!), `| ${widths.map((width) => "-".repeat(width)).join(" | ")} |`, ...all.slice(1).map(line)]
    .join("\n")
}

/** What a table measured; our own rows stand out. */
export const table = (table: Table): string => {
  const { heads, rows: measured } = Print.grid(table)
  return rows([
    heads,
    ...measured.map(({ cells: [name, ...cells], kind }) => [kind === "ours" ? `**${name}**` : name!, ...cells])
  ])
}
