/**
 * Tries the mutants of this repository: `npm run mutants`, or `npm run mutants -- CALL-04` for some of them. With
 * `--write`, the result becomes `docs/mutants.md`.
 */
import { writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { repository } from "../conformance/collect.ts"
import { document } from "./document.ts"
import { mutants } from "./index.ts"
import { main } from "./main.ts"
import * as Scratch from "./Scratch.ts"

const writes = process.argv.includes("--write")
const filter = process.argv.slice(2).find((argument) => !argument.startsWith("--")) ?? ""

main(mutants, Scratch.repositoryAt(repository), filter, (outcomes) => {
  if (writes) writeFileSync(fileURLToPath(new URL("../../docs/mutants.md", import.meta.url)), document(outcomes))
})
