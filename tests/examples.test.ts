/**
 * Every example, run as its README says: it asserts what it shows, and its README quotes what it prints.
 */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { text } from "node:stream/consumers"
import { assert, describe, it } from "vitest"
import { root } from "../tools/run.ts"
import { childEnvironment } from "./child-environment.ts"

const directory = join(root, "examples")
const examples = readdirSync(directory, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name)

/** An example takes a few seconds by itself, and several times that on a machine that is busy. */
const patience = 60_000

const start = (example: string, ...nodeOptions: ReadonlyArray<string>) => {
  const child = spawn(process.execPath, [...nodeOptions, join(directory, example, "main.ts")], {
    cwd: root,
    env: childEnvironment(),
    stdio: ["ignore", "pipe", "pipe"]
  })
  const ended = Promise.all([text(child.stdout), text(child.stderr), once(child, "close")])
    .then(([stdout, stderr, [code]]) => ({ code: code as number | null, stdout, stderr }))
  return { child, ended }
}

/** With a number for every number and one blank for many: what is the same in every run. */
const withoutFigures = (output: string): string => output.trim().replaceAll(/\d+(\.\d+)?/g, "0").replaceAll(/ +/g, " ")

const quoted = (example: string): string => {
  const readme = readFileSync(join(directory, example, "README.md"), "utf8")
  return /^```text\n(.*?)^```$/ms.exec(readme)?.[1] ?? ""
}

describe("the example", { timeout: patience }, () => {
  for (const example of examples) {
    it(`${example} holds, and its README quotes what it prints`, async () => {
      const { code, stderr, stdout } = await start(example).ended
      assert.deepStrictEqual({ code, stderr }, { code: 0, stderr: "" })
      assert.strictEqual(withoutFigures(stdout), withoutFigures(quoted(example)))
    })
  }

  it("first-light runs beside a second one", async () => {
    const outcomes = await Promise.all([start("first-light").ended, start("first-light").ended])
    assert.deepStrictEqual(outcomes.map(({ code }) => code), [0, 0])
  })

  it("first-light fails when its calls do not end as they should", async () => {
    // Here it may not start processes.
    const { code, stderr } = await start("first-light", "--permission", "--allow-fs-read=*").ended
    assert.strictEqual(code, 1)
    assert.match(stderr, /^run_script: TOOL_FAILURE instead of Success, Error: Access to this API has been restricted/m)
  })

  it("first-light ends what it has started when it is interrupted, and says so in one sentence", async () => {
    const { child, ended } = start("first-light")
    // After this row it starts a process that does not listen to being told to stop.
    let printed = ""
    const reached = new Promise<void>((resolve) =>
      child.stdout.on("data", (chunk) => {
        printed += chunk
        if (printed.includes("needs 100 ms to stop")) resolve()
      })
    )
    await Promise.race([reached, ended])
    child.kill("SIGINT")
    // Whatever it started writes to its standard error: that this is closed says that nothing is left.
    const { code, stderr } = await ended
    assert.strictEqual(stderr.trim(), "Interrupted: whatever was running has been ended.")
    assert.strictEqual(code, 1)
  })
})
