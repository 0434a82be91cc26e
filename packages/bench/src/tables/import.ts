/** What importing the core costs whoever has effect already. */
import { execFileSync } from "node:child_process"
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { gzipSync } from "node:zlib"
import { rolldown } from "rolldown"
import type { Instrument, Subject } from "../Measure.ts"
import * as names from "../names.ts"
import type { Figures } from "../Table.ts"

const root = fileURLToPath(new URL("../../../..", import.meta.url))
const dist = join(root, "packages/core/dist")

/** What users get is the compiled code, not the sources that the bench otherwise runs. */
const build = () =>
  void execFileSync(process.execPath, [join(root, "node_modules/typescript/bin/tsc"), "-b", "packages/core"], {
    cwd: root,
    stdio: "inherit"
  })

/** The modules of effect that the core imports. */
const effectModules = (): ReadonlyArray<string> => {
  const files = readdirSync(dist, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".js"))
  const imports = files.flatMap((file) =>
    [...readFileSync(join(dist, file), "utf8").matchAll(/from "(effect\/\w+)"/g)].map(([, specifier]) => specifier!)
  )
  return [...new Set(imports)].toSorted()
}

/** Imports what is in the first list, then times the imports in the second. */
const script = `
  const [before, timed] = process.argv.slice(1).map((list) => JSON.parse(list))
  await Promise.all(before.map((specifier) => import(specifier)))
  const start = performance.now()
  await Promise.all(timed.map((specifier) => import(specifier)))
  console.log(performance.now() - start)`

const importMillis = (before: ReadonlyArray<string>, timed: ReadonlyArray<string>): Instrument => ({
  measure: async () => {
    // Without the condition for sources: as a user runs it.
    const env = { ...process.env, NODE_OPTIONS: "" }
    const options = ["--input-type=module", "--eval", script, JSON.stringify(before), JSON.stringify(timed)]
    return Number(execFileSync(process.execPath, options, { cwd: join(root, "packages/bench"), env, encoding: "utf8" }))
  },
  close: async () => {}
})

const minified = async (): Promise<string> => {
  const bundle = await rolldown({ input: join(dist, "index.js"), external: /^effect(\/|$)/ })
  const { output } = await bundle.generate({ format: "esm", minify: true })
  await bundle.close()
  return output[0].code
}

const size = (name: string, lacks: string, bytes: (code: string) => number): Subject => ({
  name,
  kind: "ours",
  unit: "bytes",
  lacks,
  open: async () => ({ measure: async () => bytes(await minified()), close: async () => {} })
})

export const table: Figures = {
  _tag: "Figures",
  title: "Importing the core",
  about: "In a new process each time: the modules of effect that the core imports, then the core. Sizes are those of " +
    "the whole core as one minified module, without effect.",
  claim: 0.1,
  processes: 1,
  plan: { rounds: 8, warmUpMillis: 0 },
  subjects: async () => {
    build()
    const modules = effectModules()
    return [
      {
        name: "import of those modules of effect",
        kind: "floor",
        unit: "ms",
        lacks: "the core",
        open: async () => importMillis([], modules)
      },
      {
        name: names.importTime,
        kind: "ours",
        unit: "ms",
        lacks: "",
        open: async () => importMillis(modules, ["@quiesce/core"])
      },
      size(names.importSize, "", (code) => Buffer.byteLength(code)),
      size(`${names.importSize}, gzip`, "", (code) => gzipSync(code).length)
    ]
  }
}
