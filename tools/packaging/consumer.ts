/**
 * A project that has the packed packages installed, and what it finds: does each entry point load under plain `node`,
 * are the internals closed, do the declarations type-check.
 *
 * The other dependencies are linked from this repository, so that no registry is needed.
 */
import { existsSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import type { Package } from "../packages.ts"
import { root, run } from "../run.ts"

/** A package beside the tarball that was made of it. */
export interface Packed {
  readonly pkg: Package
  readonly tarball: string
}

const isInternal = (module: string): boolean => module.split("/").includes("internal")

/** The names under which users import a package. */
export const entryPoints = ({ manifest, modules }: Package): ReadonlyArray<string> =>
  modules.filter((module) => !isInternal(module)).map((module) =>
    module === "index" ? manifest.name : `${manifest.name}/${module}`
  )

/** Prints, as JSON, a sentence for each entry that does not load from `dist` and for each internal that does. */
const smoke = (entries: ReadonlyArray<string>, internals: ReadonlyArray<string>): string => `
const faults = []
for (const entry of ${JSON.stringify(entries)}) {
  try {
    await import(entry)
    if (!import.meta.resolve(entry).includes("/dist/")) faults.push(entry + " does not resolve to dist")
  } catch (error) {
    faults.push(entry + " cannot be imported: " + error.message)
  }
}
for (const internal of ${JSON.stringify(internals)}) {
  try {
    await import(internal)
    faults.push(internal + " can be imported, and it is internal")
  } catch (error) {
    if (error.code !== "ERR_PACKAGE_PATH_NOT_EXPORTED") faults.push(internal + " is not closed: " + error.message)
  }
}
console.log(JSON.stringify(faults))
`

/** Whether a package says that its types need those of Node: nobody else can be expected to have them. */
const isForNode = ({ manifest }: Package): boolean =>
  "@types/node" in { ...manifest.dependencies, ...manifest.peerDependencies }

const dom = ["es2024", "esnext.disposable", "dom"]
const bundled = { module: "esnext", moduleResolution: "bundler", lib: dom }

interface Consumer {
  readonly name: string
  readonly uses: (pkg: Package) => boolean
  readonly options: object
}

/** The ways a consumer resolves modules, and with which packages; none sets our condition. */
const consumers: ReadonlyArray<Consumer> = [
  // An app for Node: its types come from Node, and like most it does not check the declarations of others.
  {
    name: "nodenext",
    uses: () => true,
    options: { module: "nodenext", lib: ["es2024"], types: ["node"], skipLibCheck: true }
  },
  // An app for a bundler: the types of the platform come from the DOM, and our declarations are checked.
  { name: "bundler without @types/node", uses: (pkg) => !isForNode(pkg), options: { ...bundled, types: [] } },
  { name: "bundler with @types/node", uses: isForNode, options: { ...bundled, types: ["node"] } }
]

const install = async (directory: string, packed: ReadonlyArray<Packed>): Promise<void> => {
  for (const { pkg, tarball } of packed) {
    const target = join(directory, "node_modules", pkg.manifest.name)
    mkdirSync(target, { recursive: true })
    const { code, output } = await run("tar", ["-xzf", tarball, "-C", target, "--strip-components=1"], {
      output: "capture"
    })
    if (code !== 0) throw new Error(`tar could not unpack ${tarball}: ${output}`)
  }
  for (const { pkg } of packed) {
    for (const name of Object.keys({ ...pkg.manifest.dependencies, ...pkg.manifest.peerDependencies })) {
      const link = join(directory, "node_modules", name)
      const source = [pkg.directory, root].map((base) => join(base, "node_modules", name)).find(existsSync)
      if (existsSync(link) || source === undefined) continue
      mkdirSync(dirname(link), { recursive: true })
      symlinkSync(source, link, "dir")
    }
  }
}

/** Whether every entry point of `packages` loads from `dist` under plain `node`, and no internal does. */
const loads = async (directory: string, packages: ReadonlyArray<Package>): Promise<ReadonlyArray<string>> => {
  const internals = packages.flatMap((pkg) =>
    pkg.modules.filter(isInternal).map((module) => `${pkg.manifest.name}/${module}`)
  )
  writeFileSync(join(directory, "smoke.mjs"), smoke(packages.flatMap(entryPoints), internals))
  const { code, output, stdout } = await run(process.execPath, ["smoke.mjs"], {
    cwd: directory,
    // The condition of this repository may be set around us.
    env: { NODE_OPTIONS: undefined },
    output: "capture"
  })
  return code === 0
    ? JSON.parse(stdout.trim().split("\n").at(-1) ?? "") as ReadonlyArray<string>
    : [`importing the entry points ended the process: ${output}`]
}

/** Whether the declarations type-check for one kind of consumer. */
const types = async (
  directory: string,
  packages: ReadonlyArray<Package>,
  { name, options, uses }: Consumer
): Promise<ReadonlyArray<string>> => {
  const entries = packages.filter(uses).flatMap(entryPoints)
  if (entries.length === 0) return []
  const file = name.replaceAll(/\W+/g, "-")
  writeFileSync(
    join(directory, `${file}.ts`),
    entries.map((entry, at) => `import * as M${at} from "${entry}"\n`).join("") +
      `export const modules: ReadonlyArray<object> = [${entries.map((_, at) => `M${at}`).join(", ")}]\n`
  )
  const typeRoots = [join(root, "node_modules", "@types")]
  const compilerOptions = { target: "es2024", strict: true, noEmit: true, typeRoots, ...options }
  writeFileSync(join(directory, `${file}.json`), JSON.stringify({ compilerOptions, files: [`${file}.ts`] }))
  const { code, output } = await run("tsc", ["-p", `${file}.json`], { cwd: directory, output: "capture" })
  return code === 0 ? [] : [`the types fail for a consumer under ${name}:\n${output}`]
}

/** The faults a consumer of `packed` finds. `directory` is an empty directory to work in. */
export const faults = async (directory: string, packed: ReadonlyArray<Packed>): Promise<ReadonlyArray<string>> => {
  writeFileSync(join(directory, "package.json"), JSON.stringify({ name: "consumer", private: true, type: "module" }))
  await install(directory, packed)
  const packages = packed.map(({ pkg }) => pkg)
  const found = await Promise.all([
    loads(directory, packages),
    ...consumers.map((consumer) => types(directory, packages, consumer))
  ])
  return found.flat()
}
