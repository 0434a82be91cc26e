/** Writes `docs/contract.md` (`npm run contract`). */
import { Effect } from "effect"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { collect, repository } from "./collect.ts"
import { render } from "./document.ts"
import { finished } from "./requirements.ts"

const { errors, tests } = await Effect.runPromise(collect(repository))
if (errors.length > 0) {
  console.error(`The tests could not all be loaded, so docs/contract.md was not written:\n${errors.join("\n")}`)
  process.exitCode = 1
} else {
  mkdirSync(join(repository, "docs"), { recursive: true })
  writeFileSync(join(repository, "docs/contract.md"), render(tests, finished))
}
