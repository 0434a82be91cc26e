/**
 * Installs the tarballs into a fresh project and uses them in every runtime and with every compiler that we support
 * (`npm run compat`). It needs a build, and the npm registry, from which the runtimes come.
 */
import { existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { type Package, published } from "../../tools/packages.ts"
import { entryPoints } from "../../tools/packaging/consumer.ts"
import { pack } from "../../tools/packaging/pack.ts"
import { root, run } from "../../tools/run.ts"
import { type Program, programsOf } from "../docs/programs.ts"

interface Runtime {
  readonly name: string
  /** An npm package that is the runtime for this machine, and where the program is in it. */
  readonly package: string
  readonly program: string
  readonly args: ReadonlyArray<string>
  /** The testing kit watches promises through Node's hooks, and the others stand on Node's modules. */
  readonly runs: (pkg: Package) => boolean
}

const platform = `${process.platform}-${process.arch}`
const everything = () => true
const portable = ({ manifest }: Package) => manifest.name === "@quiesce/core"

const node = (version: string): Runtime => ({
  name: `Node ${version}`,
  package: `node-${platform}@${version}`,
  program: "bin/node",
  args: [],
  runs: everything
})

const runtimes: ReadonlyArray<Runtime> = [
  node("22.19"),
  node("24"),
  node("26"),
  { name: "Bun", package: `@oven/bun-${platform}@1`, program: "bin/bun", args: ["run"], runs: portable },
  { name: "Deno", package: `@deno/${platform}-glibc@2`, program: "deno", args: ["run", "--allow-all"], runs: portable }
]

/** A compiler, and how it resolves modules. */
const compilers = [
  { version: "6", module: "nodenext", moduleResolution: "nodenext" },
  { version: "7.0", module: "nodenext", moduleResolution: "nodenext" },
  { version: "7.0", module: "esnext", moduleResolution: "bundler" }
] as const

const directory = mkdtempSync(join(tmpdir(), "quiesce-compat-"))
const faults: Array<string> = []
const report = (what: string, fault: string | undefined): void => {
  console.log(`${what}: ${fault === undefined ? "ok" : "failed"}`)
  if (fault !== undefined) faults.push(`${what}:\n${fault}`)
}

const install = async (cwd: string, packages: ReadonlyArray<string>): Promise<void> => {
  mkdirSync(cwd, { recursive: true })
  if (!existsSync(join(cwd, "package.json"))) {
    writeFileSync(join(cwd, "package.json"), JSON.stringify({ name: "consumer", private: true, type: "module" }))
  }
  const args = ["install", "--no-audit", "--no-fund", "--no-update-notifier", "--ignore-scripts", ...packages]
  const { code, output } = await run("npm", args, { cwd, output: "capture" })
  if (code !== 0) throw new Error(`npm could not install ${packages.join(", ")}:\n${output}`)
}

/** The programs that a page runs, whose output it shows. */
const programsIn = (page: string): ReadonlyArray<Program> =>
  programsOf(page, readFileSync(join(root, page), "utf8")).filter(({ kind }) => kind === "run")

/** The pages of the guide, for whoever has everything that we publish. */
const guide = globSync(["docs/faq.md", "docs/guide/*.md"], { cwd: root }).sort()

/** The optional peers of a package, in the versions that it is tested with: pages show how they are used. */
const optionalPeers = ({ manifest }: Package): ReadonlyArray<string> =>
  Object.keys(manifest.peerDependenciesMeta ?? {}).flatMap((name) => {
    const version = manifest.devDependencies?.[name]
    return version === undefined ? [] : [`${name}@${version}`]
  })

try {
  const packages = published()
  const project = join(directory, "project")
  const tarballs: Array<string> = []
  for (const pkg of packages) tarballs.push(join(directory, (await pack(pkg, directory)).filename))
  const versions = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
    readonly devDependencies: Readonly<Record<string, string>>
  }
  const { "@types/node": types, effect } = versions.devDependencies
  // Zod is what a page shows as a schema library that is not ours.
  const peers = packages.flatMap(optionalPeers)
  await install(project, [...tarballs, ...peers, `effect@${effect}`, `@types/node@${types}`, "zod@4"])

  for (const { args, name, package: spec, program, runs } of runtimes) {
    const home = join(directory, name.replaceAll(/\W+/g, "-"))
    await install(home, [spec])
    const executable = join(home, "node_modules", spec.slice(0, spec.lastIndexOf("@")), program)
    const readmes = packages.filter(runs).map(({ manifest }) => `packages/${manifest.name.split("/")[1]}/README.md`)
    for (const page of runs === everything ? [...readmes, ...guide] : readmes) {
      for (const { line, output: expected, source } of programsIn(page)) {
        const file = join(project, "program.ts")
        writeFileSync(file, source)
        const { code, output, stdout } = await run(executable, [...args, file], {
          cwd: project,
          env: { NODE_OPTIONS: undefined, NODE_NO_WARNINGS: "1" },
          output: "capture"
        })
        const isRight = code === 0 && (expected === undefined || stdout === expected)
        report(`${name}, ${page}:${line}`, isRight ? undefined : `exit code ${code}\n${output}`)
      }
    }
  }

  const entries = packages.flatMap(entryPoints)
  writeFileSync(
    join(project, "types.ts"),
    entries.map((entry, at) => `import * as M${at} from "${entry}"\n`).join("") +
      `export const modules: ReadonlyArray<object> = [${entries.map((_, at) => `M${at}`).join(", ")}]\n`
  )
  for (const { module, moduleResolution, version } of compilers) {
    const home = join(directory, `typescript-${version}`)
    await install(home, [`typescript@${version}`])
    const compilerOptions = {
      target: "es2024",
      module,
      moduleResolution,
      lib: ["es2024", "esnext.disposable", "dom"],
      types: ["node"],
      strict: true,
      noEmit: true,
      skipLibCheck: true
    }
    writeFileSync(join(project, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["types.ts"] }))
    const { code, output } = await run(join(home, "node_modules", ".bin", "tsc"), ["-p", "."], {
      cwd: project,
      output: "capture"
    })
    report(`TypeScript ${version}, ${moduleResolution}`, code === 0 ? undefined : output)
  }
} finally {
  rmSync(directory, { recursive: true, force: true })
}
for (const fault of faults) console.error(`\n${fault}`)
console.log(faults.length === 0 ? "compatible" : `${faults.length} failed`)
process.exitCode = faults.length === 0 ? 0 : 1
