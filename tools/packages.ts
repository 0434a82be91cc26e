/**
 * The packages that are published: those under `packages/` that are not private.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { root } from "./run.ts"

export interface Manifest {
  readonly name: string
  readonly private?: boolean
  readonly type?: string
  readonly sideEffects?: unknown
  readonly files?: ReadonlyArray<string>
  readonly exports?: unknown
  readonly dependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>
  readonly devDependencies?: Readonly<Record<string, string>>
}

export interface Package {
  readonly directory: string
  readonly manifest: Manifest
  /** The modules in `src`, below it, without `.ts`: `"Tool"`, `"internal/hub"`. */
  readonly modules: ReadonlyArray<string>
}

export const read = (directory: string): Package => ({
  directory,
  manifest: JSON.parse(readFileSync(join(directory, "package.json"), "utf8")) as Manifest,
  modules: filesBelow(join(directory, "src"))
    .filter((file) => file.endsWith(".ts") && !file.endsWith(".d.ts"))
    .map((file) => file.slice(0, -".ts".length))
    .sort()
})

export const published = (): ReadonlyArray<Package> =>
  readdirSync(join(root, "packages"))
    .map((name) => join(root, "packages", name))
    .filter((directory) => existsSync(join(directory, "package.json")))
    .map(read)
    .filter(({ manifest }) => manifest.private !== true)

/** The files below a directory, as paths with `/`; none when there is no such directory. */
export const filesBelow = (directory: string): ReadonlyArray<string> =>
  existsSync(directory)
    ? readdirSync(directory, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(directory.length + 1).replaceAll("\\", "/"))
    : []

/** What a build makes of a module, below `dist`. */
export const outputsOf = (module: string): ReadonlyArray<string> =>
  [".d.ts", ".d.ts.map", ".js", ".js.map"].map((suffix) => module + suffix)

/** Whether `dist` is exactly what a build makes of `src`: nothing missing, nothing left over. */
export const isImage = ({ directory, modules }: Package): boolean => {
  const expected = new Set(modules.flatMap(outputsOf))
  const found = filesBelow(join(directory, "dist"))
  return found.length === expected.size && found.every((file) => expected.has(file))
}
