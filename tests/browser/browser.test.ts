/**
 * The core in a browser, where there is no Node: its scenarios hold in Chromium as they do here.
 *
 * These cite no clause: where there is no Chromium they do not run, and what the contract says is proved without them.
 */
import { globSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "vitest"
import { root } from "../../tools/run.ts"
import * as Chromium from "./Chromium.ts"
import type { Report } from "./runner.ts"

const browser = Chromium.find()

/** A browser takes seconds to start, and the bundler reads all of effect; several times that on a busy machine. */
const patience = 120_000

if (browser === undefined) {
  console.log("The tests in Chromium are skipped: it is not on this machine (Debian has it as `chromium`).")
}

const core = join(root, "packages/core/test")

/** The tests of the core that are about calls, and not about Node, or listeners that it is asked to count. */
const scenarios = globSync([
  "{Approval,Context,Journal,Observer,Policy,ToolCall,ToolResult,Tracing}*.test.ts",
  "{BeforeDispatch,Caller,Deadline.call,Precedence,Quiescence,Reasons,Schemas,Stages,Tool}.test.ts",
  "ToolRegistry.{lifecycle,nested,registration,visibility}.test.ts"
], { cwd: core }).sort()

const suite = [
  ...scenarios.map((file) => `import ${JSON.stringify(join(core, file))}`),
  "import { run } from \"@effect/vitest\"",
  "void run().then((report) => fetch(\"/report\", { method: \"POST\", body: JSON.stringify(report) }))"
].join("\n")

/**
 * Effect yields by `setImmediate`, and where there is none by timers, which a browser holds back for 4 ms each: a minute
 * for these tests. A message comes at once.
 */
const setImmediate = `<script>
  const { port1, port2 } = new MessageChannel()
  const due = new Map()
  let last = 0
  port1.onmessage = ({ data }) => {
    const task = due.get(data)
    due.delete(data)
    task?.()
  }
  globalThis.setImmediate = (task) => {
    due.set(++last, task)
    port2.postMessage(last)
    return last
  }
  globalThis.clearImmediate = (id) => due.delete(id)
</script>`

/** Starts the tool, cancels it at its third part, and reports what the page said until it had stopped. */
const pressing = `
  const element = (id) => document.getElementById(id)
  const statuses = []
  new MutationObserver(() => {
    statuses.push(element("status").textContent)
    // What the page logs of it follows in the same task.
    if (statuses.at(-1) === "stopped") {
      fetch("/report", { method: "POST", body: JSON.stringify({ statuses, log: element("log").textContent }) })
    }
  }).observe(element("status"), { childList: true })
  new MutationObserver(() => {
    if (element("parts").value >= 3 && !element("cancel").disabled) element("cancel").click()
  }).observe(element("parts"), { attributes: true })
  element("start").click()
`

describe("in Chromium", { timeout: patience }, () => {
  it.skipIf(browser === undefined)(
    "the scenarios of the core hold, under each of its faces",
    async () => {
      const script = await Chromium.bundle(suite, [
        { find: /^@effect\/vitest$/, replacement: join(import.meta.dirname, "runner.ts") }
      ])

      const { failures, passed } = await Chromium.open(browser!, {
        "/": `<!doctype html>${setImmediate}<script type="module" src="/suite.js"></script>`,
        "/suite.js": script
      }) as Report

      assert.deepStrictEqual(failures, [])
      // That it ran what it says: no test is lost on the way.
      assert.isAtLeast(passed, 900)
    }
  )

  it.skipIf(browser === undefined)(
    "a tool runs in a page, and a button cancels it: asked to stop is not stopped",
    async () => {
      const example = join(root, "examples/browser")
      const page = readFileSync(join(example, "index.html"), "utf8").replace("./app.ts", "/app.js")
      const seen = await Chromium.open(browser!, {
        "/": page.replace("</body>", `<script type="module">${pressing}</script></body>`),
        "/app.js": await Chromium.bundle(`import ${JSON.stringify(join(example, "app.ts"))}`)
      }) as { readonly statuses: ReadonlyArray<string>; readonly log: string }
      assert.deepStrictEqual(seen.statuses, ["running", "asked to stop", "stopped"])
      assert.match(seen.log, /^\d+ parts are thrown away\ncall 1: ABORTED, in flight: 0\n$/)
    }
  )
})
