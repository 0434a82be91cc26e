/**
 * A child process that runs named tests of a scratch copy on request. It keeps the test runner between requests, so
 * that a trial costs the run of one test and not a start of everything (about 1 s instead of 2.2 s); the tests
 * themselves run in a process of their own, new for each trial.
 *
 * Run as `test-process.ts <root> <test timeout in ms>` with an IPC channel; `TestProcess.ts` is the parent's side.
 */
import { join } from "node:path"
import { stripVTControlCharacters } from "node:util"
import { createVitest } from "vitest/node"
import type { Message, Request } from "./Trial.ts"

const [root = process.cwd(), testTimeoutMillis] = process.argv.slice(2)

// The parent is gone and nobody will ask again.
process.once("disconnect", () => process.exit())

const send = (message: Message) => process.send?.(message)

const failure = (error: unknown) => {
  const { message, name } = error as { readonly message?: unknown; readonly name?: unknown }
  return {
    name: typeof name === "string" ? name : "Error",
    // As much as a line of the report can show, with room for the frame of a syntax error.
    message: stripVTControlCharacters(String(message)).slice(0, 1000)
  }
}

const vitest = await createVitest("test", {
  root,
  watch: false,
  maxWorkers: 1,
  testTimeout: Number(testTimeoutMillis),
  // A mutant that allocates without end must crash before the machine does.
  execArgv: ["--max-old-space-size=1024"],
  reporters: [{ onTestModuleCollected: () => void send({ _tag: "Loaded" }) }]
})

const escaped = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")

let stale: ReadonlyArray<string> = []

const run = async ({ changed, file, titles }: Request): Promise<Message> => {
  // What changed for the last request has been changed back since.
  for (const source of [...stale, ...changed]) vitest.invalidateFile(join(root, source))
  stale = changed
  const specification = vitest.getRootProject().createSpecification(join(root, file), {
    testNamePattern: new RegExp(titles.map(escaped).join("|"))
  })
  const { testModules, unhandledErrors } = await vitest.runTestSpecifications([specification])
  return {
    _tag: "Finished",
    tests: testModules.flatMap((module) =>
      Array.from(module.children.allTests()).flatMap((test) => {
        const { errors, state } = test.result()
        const named = titles.some((title) => test.fullName.includes(title))
        return named ? [{ title: test.fullName, state, failures: errors?.map(failure) ?? [] }] : []
      })
    ),
    outside: testModules.flatMap((module) =>
      [module, ...module.children.allSuites()].flatMap((suite) => suite.errors().map(failure))
    ),
    unhandled: unhandledErrors.map(failure)
  }
}

process.on("message", (request: Request) => void run(request).then(send))
