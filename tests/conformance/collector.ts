/**
 * A child process that loads every test file of a repository, runs no test, and sends the parent what they are
 * called. Loading is needed since titles are made in loops: the runner's own listing reads the source instead, and
 * reports ``twice ${n}`` for three tests.
 *
 * Run as `collector.ts <root>` with an IPC channel; `collect.ts` is the parent's side.
 */
import { relative, sep } from "node:path"
import { createVitest } from "vitest/node"
import type { Collected } from "./collect.ts"

const root = process.argv[2] ?? process.cwd()

// Without isolation each module is loaded once, not once per test file: 30 files took 1.3 s instead of 21 s. Nothing
// runs, so there is no state for one file to leave to another.
const vitest = await createVitest("test", { root, watch: false, isolate: false, maxWorkers: 1, reporters: [] })
const { testModules, unhandledErrors } = await vitest.collect([], { staticParse: false })

const path = (file: string) => relative(root, file).split(sep).join("/")
const message = (error: unknown) => error instanceof Error ? error.message : String(error)

const collected: Collected = {
  tests: testModules.flatMap((module) =>
    Array.from(module.children.allTests(), (test) => ({
      file: path(module.moduleId),
      title: test.fullName,
      runs: test.options.mode === "run" || test.options.mode === "only"
    }))
  ),
  errors: [
    ...testModules.flatMap((module) => module.errors().map((error) => `${path(module.moduleId)}: ${error.message}`)),
    ...unhandledErrors.map(message)
  ]
}

process.send?.(collected, () => {
  void vitest.close().finally(() => process.disconnect())
})
