/**
 * Writes the reference, `docs/reference` (`npm run reference`), from a build. With `--check` it writes nothing and says
 * which pages are not what the sources say: a change of what a package exports shows as a change of its page.
 */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { filesBelow, published } from "./packages.ts"
import { pagesOf } from "./reference/pages.ts"
import { root } from "./run.ts"

const directory = join(root, "docs", "reference")
const pages = pagesOf(published())
const left = filesBelow(directory).filter((file) => !pages.some(({ path }) => path === file))

if (process.argv.includes("--check")) {
  const stale = pages.filter(({ path, text }) => {
    const file = join(directory, path)
    return !existsSync(file) || readFileSync(file, "utf8") !== text
  })
  for (const file of [...stale.map(({ path }) => path), ...left]) {
    console.error(
      `docs/reference/${file} is not what the sources say: run \`npm run reference\` and look at the change`
    )
  }
  process.exitCode = stale.length + left.length === 0 ? 0 : 1
} else {
  for (const file of left) rmSync(join(directory, file))
  for (const { path, text } of pages) {
    mkdirSync(dirname(join(directory, path)), { recursive: true })
    writeFileSync(join(directory, path), text)
  }
}
