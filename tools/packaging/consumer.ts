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

/** The two ways a consumer resolves modules; neither sets our condition. */
const consumers = {
  // As an app for Node: its types come from Node, and like most it does not check the declarations of others.
  nodenext: { module: "nodenext", lib: ["es2024"], types: ["node"], skipLibCheck: true },
  // As an app for a bundler: the types of the platform come from the DOM, and our declarations are checked.
  bundler: { module: "esnext", moduleResolution: "bundler", lib: ["es2024", "esnext.disposable", "dom"], types: [] }
}

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

/** The faults a consumer of `packed` finds. `directory` is an empty directory to work in. */
export const faults = async (directory: string, packed: ReadonlyArray<Packed>): Promise<ReadonlyArray<string>> => {
  writeFileSync(join(directory, "package.json"), JSON.stringify({ name: "consumer", private: true, type: "module" }))
  await install(directory, packed)
  const entries = packed.flatMap(({ pkg }) => entryPoints(pkg))
  const internals = packed.flatMap(({ pkg }) =>
    pkg.modules.filter(isInternal).map((module) => `${pkg.manifest.name}/${module}`)
  )
  const found: Array<string> = []

  writeFileSync(join(directory, "smoke.mjs"), smoke(entries, internals))
  // Without NODE_OPTIONS: the condition of this repository may be set around us.
  const loaded = await run(process.execPath, ["smoke.mjs"], {
    cwd: directory,
    env: { NODE_OPTIONS: undefined },
    output: "capture"
  })
  if (loaded.code === 0) found.push(...JSON.parse(loaded.stdout.trim().split("\n").at(-1) ?? "") as Array<string>)
  else found.push(`importing the entry points ended the process: ${loaded.output}`)

  const names = entries.map((_, index) => `M${index}`)
  writeFileSync(
    join(directory, "main.ts"),
    entries.map((entry, index) => `import * as M${index} from "${entry}"\n`).join("") +
      `export const modules: ReadonlyArray<object> = [${names.join(", ")}]\n`
  )
  for (const [name, options] of Object.entries(consumers)) {
    writeFileSync(
      join(directory, `tsconfig.${name}.json`),
      JSON.stringify({
        compilerOptions: {
          target: "es2024",
          strict: true,
          noEmit: true,
          typeRoots: [join(root, "node_modules", "@types")],
          ...options
        },
        files: ["main.ts"]
      })
    )
    const checked = await run("tsc", ["-p", `tsconfig.${name}.json`], { cwd: directory, output: "capture" })
    if (checked.code !== 0) found.push(`the types fail for a consumer under ${name}:\n${checked.output}`)
  }
  return found
}
