/** How many interleavings each race has, by preemptions: what `npm run races` counted last. */
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import type { Counts } from "./Race.ts"

const file = fileURLToPath(new URL("counts.json", import.meta.url))

export const counts: { readonly [name: string]: Counts | undefined } = existsSync(file)
  ? JSON.parse(readFileSync(file, "utf8")) as Record<string, Counts>
  : {}

/** Writes one line for each race, so that a change of it shows as a change of its line. Answers with where. */
export const record = (counted: ReadonlyArray<readonly [name: string, counts: Counts]>): string => {
  const lines = counted.map(([name, counts]) => `  ${JSON.stringify(name)}: ${JSON.stringify(counts)}`)
  writeFileSync(file, `{\n${lines.join(",\n")}\n}\n`)
  return file
}
