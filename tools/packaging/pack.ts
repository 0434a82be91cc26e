/**
 * Packs a package as it would be published.
 */
import type { Package } from "../packages.ts"
import { run } from "../run.ts"

export interface PackReport {
  readonly filename: string
  readonly files: ReadonlyArray<{ readonly path: string }>
}

/** The tarball goes to the directory `destination`. Throws where npm cannot pack. */
export const pack = async (pkg: Package, destination: string): Promise<PackReport> => {
  // `--ignore-scripts`: what is checked is what was built, not what a script makes on the way.
  const args = ["pack", "--json", "--ignore-scripts", "--no-update-notifier", "--pack-destination", destination]
  const { code, stdout, output } = await run("npm", args, { cwd: pkg.directory, output: "capture" })
  if (code !== 0) throw new Error(`npm pack failed in ${pkg.directory}:\n${output}`)
  const [report] = JSON.parse(stdout) as [PackReport]
  return report
}
