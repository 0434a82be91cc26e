/**
 * What a tarball holds: the sources, their build, and the pages about them; nothing else.
 */
import { outputsOf, type Package } from "../packages.ts"

const pages = ["package.json", "README.md", "AGENTS.md", "LICENSE"]

/** Made with the first release. */
const changelog = "CHANGELOG.md"

/** The faults of a tarball with the files `packed`. */
export const faults = ({ modules }: Package, packed: ReadonlyArray<string>): ReadonlyArray<string> => {
  const required = new Set([
    ...pages,
    ...modules.flatMap((name) => [`src/${name}.ts`, ...outputsOf(name).map((file) => `dist/${file}`)])
  ])
  const found = new Set(packed)
  return [
    ...[...required].filter((file) => !found.has(file)).map((file) => `${file} is missing from the tarball`),
    ...packed.filter((file) => !required.has(file) && file !== changelog).map((file) =>
      `${file} does not belong in the tarball`
    )
  ]
}
