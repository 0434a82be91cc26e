/**
 * The packaging checks on every published package; they want a build (`npm run build`).
 */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { published } from "./packages.ts"
import { check } from "./packaging/check.ts"

const directory = mkdtempSync(join(tmpdir(), "quiesce-packaging-"))
try {
  const packages = published()
  const faults = await check(directory, packages)
  for (const fault of faults) console.error(fault)
  if (faults.length === 0) console.log(packages.map(({ manifest }) => manifest.name).join(", ") + ": ready to publish")
  process.exitCode = faults.length === 0 ? 0 : 1
} finally {
  rmSync(directory, { recursive: true, force: true })
}
