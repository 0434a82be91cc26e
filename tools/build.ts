/**
 * Builds: `tsc -b` with the projects given as arguments, on a `dist` that can be trusted.
 *
 * `tsc -b` goes by its build info alone: it does not write again what somebody deleted from `dist`, and it leaves there
 * what has lost its source. So a `dist` that is not exactly the image of `src` is built afresh.
 */
import { rmSync } from "node:fs"
import { join } from "node:path"
import { isImage, published } from "./packages.ts"
import { run } from "./run.ts"

for (const pkg of published()) {
  if (isImage(pkg)) continue
  for (const made of ["dist", "tsconfig.tsbuildinfo"]) {
    rmSync(join(pkg.directory, made), { recursive: true, force: true })
  }
}

const { code } = await run("tsc", ["-b", ...process.argv.slice(2)])
process.exitCode = code
