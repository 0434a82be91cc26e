/** A program over its standard input and output: whoever ends it, it is over when it is quiet, and says nothing else. */
import { assert, describe, it } from "@effect/vitest"
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { text } from "node:stream/consumers"
import { childEnvironment } from "../../../tests/child-environment.ts"
import { cites } from "../../../tests/conformance/cites.ts"
import { request } from "./support/driver.ts"

/** Runs the program, gives it a prompt, and ends it by `end` once that has begun. */
const run = async (end: (child: ChildProcess) => void) => {
  const child = spawn(process.execPath, [join(import.meta.dirname, "fixture/agent.ts")], {
    env: childEnvironment(),
    stdio: ["pipe", "pipe", "pipe"]
  })
  const lines: Array<unknown> = []
  const reading = createInterface({ input: child.stdout })
  reading.on("line", (line) => lines.push(JSON.parse(line)))
  const errors = text(child.stderr)
  // A pipe that the other side has torn tells us so, too.
  child.stdin.on("error", () => {})
  const exited = once(child, "exit")
  child.stdin.write(JSON.stringify(request(1, "session/prompt", { sessionId: "s", prompt: [] })) + "\n")
  await once(reading, "line")
  end(child)
  const [code, signal] = await exited as [number | null, string | null]
  return { code, signal, lines, errors: await errors }
}

describe("a program", { timeout: 60_000 }, () => {
  const ends: ReadonlyArray<readonly [how: string, end: (child: ChildProcess) => void]> = [
    ["whose input ends", (child) => child.stdin!.end()],
    ["that is asked to end by SIGTERM", (child) => child.kill("SIGTERM")],
    ["that is asked to end by SIGINT", (child) => child.kill("SIGINT")],
    ["that is asked to end by SIGHUP", (child) => child.kill("SIGHUP")]
  ]
  for (const [how, end] of ends) {
    it(cites(`${how} answers its prompt as cancelled, is quiet, and exits with 0`, "ACP-02", "ACP-06"), async () => {
      const { code, errors, lines, signal } = await run(end)
      assert.deepStrictEqual({ code, signal }, { code: 0, signal: null })
      assert.deepStrictEqual(lines, [
        { jsonrpc: "2.0", method: "_begun", params: {} },
        { jsonrpc: "2.0", id: 1, result: { stopReason: "cancelled" } }
      ])
      // What is logged goes elsewhere.
      assert.match(errors, /message="a prompt"\nquiet\nover\n$/)
    })
  }

  it(cites("whose client does not read ends all the same, once its grace is over", "ACP-06"), async () => {
    const child = spawn(process.execPath, [join(import.meta.dirname, "fixture/agent.ts")], {
      env: childEnvironment(),
      stdio: ["pipe", "pipe", "pipe"]
    })
    const exited = once(child, "exit")
    child.stdin.write(JSON.stringify(request(1, "_fill")) + "\n")
    await once(child.stderr, "data")
    child.stdin.end()
    assert.deepStrictEqual(await exited, [0, null])
  }, 15_000)

  it(cites("whose output is torn ends what it does, and exits with 1", "ACP-06"), async () => {
    const { code, errors } = await run((child) => {
      child.stdout!.destroy()
      child.stdin!.write(JSON.stringify(request(2, "_unknown")) + "\n")
    })
    assert.strictEqual(code, 1)
    assert.match(errors, /quiet\n/)
  })
})
