/**
 * Runs tables, each in child processes of its own, and puts together what they measured.
 *
 * A child per table keeps one table's code, heap and type feedback out of another's figures; several children per
 * table show what the optimizer makes of the same code on another day.
 */
import { fork } from "node:child_process"
import { readFileSync } from "node:fs"
import { cpus } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import type { Facts, Report, Series, Table } from "./Report.ts"
import * as Rows from "./Report.ts"
import * as Tables from "./tables.ts"

/** The root of the repository this file is in. */
export const here = fileURLToPath(new URL("../../..", import.meta.url))

/** Measures table `name` once, in a new process, with the code of the repository at `root`. */
const inChild = (root: string, name: string): Promise<unknown> =>
  new Promise((resolve, reject) => {
    const child = fork(join(root, "packages/bench/src/child.ts"), [name], {
      execArgv: ["--expose-gc"],
      // What a peer prints is not a result: it goes to standard error.
      stdio: ["ignore", 2, "inherit", "ipc"]
    })
    let measured: unknown
    child.on("message", (message) => measured = message)
    child.on("error", reject)
    child.on("exit", (code, signal) => {
      if (code === 0 && measured !== undefined) resolve(measured)
      else reject(new Error(`table ${name}: the child ended with ${signal ?? code}`))
    })
  })

/** Measures one table at every root; where it takes several processes, the roots take turns. */
const table = async (roots: ReadonlyArray<string>, name: string): Promise<ReadonlyArray<Table>> => {
  const definition = await Tables.load(name)
  const { about, title } = definition
  const processes = roots.map((): Array<unknown> => [])
  const times = definition._tag === "Figures" ? definition.processes : 1
  for (let time = 0; time < times; time++) {
    for (const [index, root] of roots.entries()) processes[index]!.push(await inChild(root, name))
  }
  if (definition._tag === "Observations") {
    const { columns } = definition
    return processes.map(([rows]) => ({ _tag: "Facts", name, title, about, columns, rows: rows as Facts["rows"] }))
  }
  const { axis, claim } = definition
  return processes.map((measured) => {
    const rows = Rows.rows(measured as ReadonlyArray<ReadonlyArray<Series>>, claim)
    return { _tag: "Figures", name, title, about, axis, claim, rows }
  })
}

/** What is measured beside ours, in the versions that are installed. */
const versions = (): string => {
  const manifest = readFileSync(join(here, "packages/bench/package.json"), "utf8")
  const { devDependencies } = JSON.parse(manifest) as { readonly devDependencies: Readonly<Record<string, string>> }
  return Object.entries(devDependencies).filter(([name]) => !name.startsWith("@quiesce/"))
    .map(([name, version]) => `${name} ${version}`).join(", ")
}

const environment = (): string => {
  const [cpu] = cpus()
  const machine = `${process.platform} ${process.arch}, ${cpus().length} × ${cpu?.model ?? "unknown"}`
  return `${new Date().toISOString().slice(0, 10)}, Node ${process.version} on ${machine}; ${versions()}`
}

/** Runs the tables named, in order, and gives one report per root; `progress` hears of each table before it starts. */
export const run = async (
  roots: ReadonlyArray<string>,
  names: ReadonlyArray<string>,
  progress: (name: string) => void
): Promise<ReadonlyArray<Report>> => {
  const tables: Array<ReadonlyArray<Table>> = []
  for (const name of names) {
    progress(name)
    tables.push(await table(roots, name))
  }
  return roots.map((_, root) => ({ environment: environment(), tables: tables.map((each) => each[root]!) }))
}
