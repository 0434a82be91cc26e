import { assert, describe, it } from "vitest"
import { run } from "../../tools/run.ts"

const script = (code: string) => run(process.execPath, ["--eval", code], { output: "capture" })

describe("run", () => {
  it("gives the exit code and what was written", async () => {
    const outcome = await script(`console.log("out"); console.error("err"); process.exitCode = 3`)
    assert.strictEqual(outcome.code, 3)
    assert.strictEqual(outcome.stdout, "out\n")
    assert.include(outcome.output, "err\n")
  })

  it("gives 128 and the signal for a command that was killed", async () => {
    assert.strictEqual((await script(`process.kill(process.pid, "SIGKILL")`)).code, 137)
  })

  it("gives 127 and says so when there is no such command", async () => {
    const { code, output } = await run("quiesce-has-no-such-tool", [], { output: "capture" })
    assert.strictEqual(code, 127)
    assert.match(
      output,
      /^Cannot run quiesce-has-no-such-tool \(.*\)\. The tools of this repository come with "npm ci"\.$/
    )
  })

  it("finds the tools of the repository without npm", async () => {
    assert.match((await run("tsc", ["--version"], { output: "capture" })).stdout, /^Version 7/)
  })

  it("hands a SIGTERM on to the command and waits for it", async () => {
    // A runner whose command traps the signal: it must still be there when the command says goodbye.
    const runner = `
      const { run } = await import(${JSON.stringify(new URL("../../tools/run.ts", import.meta.url).href)})
      const command = 'process.on("SIGTERM", () => { console.log("goodbye"); process.exit(5) });' +
        'setInterval(() => {}, 1000); process.kill(process.ppid, "SIGTERM")'
      const { code } = await run(process.execPath, ["--eval", command])
      console.log("code " + code)
    `
    const outcome = await run(process.execPath, ["--input-type=module", "--eval", runner], { output: "capture" })
    assert.strictEqual(outcome.stdout, "goodbye\ncode 5\n")
  })
})
