/** How many interleavings each race has, by preemptions: what `npm run races` counted last. */
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import type { Counts } from "./Race.ts"

const file = new URL("counts.json", import.meta.url)

export const counts: { readonly [name: string]: Counts | undefined } = existsSync(file)
  ? JSON.parse(readFileSync(file, "utf8")) as Record<string, Counts>
  : {}

/** One line for each race, so that a change of it shows as a change of its line. */
export const record = (counted: ReadonlyArray<readonly [name: string, counts: Counts]>): void => {
  const lines = counted.map(([name, counts]) => `  ${JSON.stringify(name)}: ${JSON.stringify(counts)}`)
  writeFileSync(file, `{\n${lines.join(",\n")}\n}\n`)
}
