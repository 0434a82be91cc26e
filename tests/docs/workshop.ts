/**
 * A folder in which programs of our pages are checked and run. It is inside the repository, so that they find our packages
 * as a user's programs do, and it is named after nothing, so that two test runs do not meet in it.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join, relative } from "node:path"
import { root, run } from "../../tools/run.ts"
import { childEnvironment } from "../child-environment.ts"
import type { Program } from "./programs.ts"

export interface Workshop extends Disposable {
  readonly fileOf: (program: Program) => string
  /** What the compiler says of the programs, a line for each fault: nothing where there is none. */
  readonly check: () => Promise<string>
  /** What each of the programs that are run prints, in order; the fault where one fails. */
  readonly run: () => Promise<{ readonly outputs: ReadonlyArray<string>; readonly fault: string }>
}

export const open = (programs: ReadonlyArray<Program>): Workshop => {
  mkdirSync(join(root, ".tsbuild"), { recursive: true })
  const directory = mkdtempSync(join(root, ".tsbuild", "docs-"))
  const fileOf = ({ line, page }: Program): string => join(directory, page, `${line}.ts`)
  for (const program of programs) {
    mkdirSync(dirname(fileOf(program)), { recursive: true })
    writeFileSync(fileOf(program), program.source)
  }
  // As strict as our own code. Only what a page shows and does not go on to use is no fault there.
  const config = {
    extends: relative(directory, join(root, "tsconfig.base.json")),
    compilerOptions: {
      types: ["node"],
      moduleDetection: "force",
      composite: false,
      declaration: false,
      declarationMap: false,
      rewriteRelativeImportExtensions: false,
      allowImportingTsExtensions: true,
      noEmit: true,
      noUnusedLocals: false,
      noUnusedParameters: false,
      skipLibCheck: true
    },
    include: ["**/*.ts"]
  }
  writeFileSync(join(directory, "tsconfig.json"), JSON.stringify(config))
  const inPages = (text: string): string =>
    text.replaceAll(`${directory}/`, "").replaceAll(
      /(\S+\.md)\/\d+\.ts(?:\((\d+),(\d+)\)|:(\d+):(\d+))/g,
      "$1:$2$4:$3$5"
    )

  return {
    fileOf,
    check: async () => {
      const { output } = await run("tsc", ["-p", "."], { cwd: directory, output: "capture" })
      return inPages(output)
    },
    run: async () => {
      const files = programs.filter(({ kind }) => kind === "run").map(fileOf)
      const { code, output, stdout } = await run(process.execPath, [join(import.meta.dirname, "run.ts"), ...files], {
        env: childEnvironment(),
        output: "capture"
      })
      return {
        outputs: stdout.split(/^\0.*\n/m).slice(1),
        fault: code === 0 ? "" : inPages(output)
      }
    },
    [Symbol.dispose]: () => rmSync(directory, { recursive: true, force: true })
  }
}
