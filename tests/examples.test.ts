/**
 * Every example, run as its README says: it asserts what it shows, and its README quotes what it prints.
 */
import { type ChildProcess, spawn, spawnSync } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { text } from "node:stream/consumers"
import { afterEach, assert, beforeEach, describe, it } from "vitest"
import { root } from "../tools/run.ts"
import { childEnvironment } from "./child-environment.ts"

const directory = join(root, "examples")
const examples = readdirSync(directory, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name)
  // It writes a log, and what it prints while its calls run comes in more than one order: see below.
  .filter((name) => name !== "press-stop")

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

const blocks = (example: string): ReadonlyArray<string> => {
  const readme = readFileSync(join(directory, example, "README.md"), "utf8")
  return [...readme.matchAll(/^```text\n(.*?)^```$/gms)].map(([, block]) => block!)
}

const quoted = (example: string): string => blocks(example)[0] ?? ""

/** Waits until a child has printed `text`, and returns what it printed by then; rejects if it ends without. */
const printed = (child: ChildProcess, text: string | RegExp): Promise<string> =>
  new Promise((resolve, reject) => {
    let output = ""
    child.stdout!.on("data", (chunk) => {
      output += chunk
      if (typeof text === "string" ? output.includes(text) : text.test(output)) resolve(output)
    })
    child.on("close", () => reject(new Error(`it ended without printing ${text}: ${output}`)))
  })

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

/** Util-linux's `script` runs a program under a terminal of its own; that of other systems takes other arguments. */
const hasScript = process.platform === "linux" && spawnSync("script", ["--version"]).status === 0

describe("press-stop", { timeout: patience }, () => {
  let session: string
  beforeEach(() => {
    session = mkdtempSync(join(tmpdir(), "quiesce-test-"))
  })
  afterEach(() => rmSync(session, { recursive: true, force: true }))

  const main = join(directory, "press-stop", "main.ts")

  const demo = (args: ReadonlyArray<string> = [], env: NodeJS.ProcessEnv = {}) => {
    const child = spawn(process.execPath, [main, "--session", session, ...args], {
      cwd: root,
      env: { ...childEnvironment(), ...env },
      stdio: ["ignore", "pipe", "pipe"]
    })
    const ended = Promise.all([text(child.stdout), text(child.stderr), once(child, "close")])
      .then(([stdout, stderr, [code, signal]]) => ({ code: code as number | null, signal, stdout, stderr }))
    return { child, ended }
  }

  /** What is said while the calls run, in whatever order; and the rest as it is. */
  const screen = (output: string) => {
    const lines = withoutFigures(output).split("\n").map((line) => line.trim())
    const isNote = (line: string) => line.startsWith("0 s ")
    return { notes: lines.filter(isNote).toSorted(), rest: lines.filter((line) => !isNote(line)) }
  }

  it("stops its turn by itself, and its README quotes what it prints", async () => {
    const { code, stderr, stdout } = await demo().ended
    assert.deepStrictEqual({ code, stderr }, { code: 0, stderr: "" })
    assert.deepStrictEqual(screen(stdout), screen(quoted("press-stop")))
  })

  it("is shown by the README of the repository as by its own", () => {
    const [shown] = /^call {2,}.*?(?=^```$)/ms.exec(readFileSync(join(root, "README.md"), "utf8")) ?? [""]
    assert.isAbove(shown.length, 0)
    assert.include(quoted("press-stop"), shown)
  })

  it("kills itself in the middle of its turn, and the next run says what it finds", async () => {
    const killed = await demo(["--kill"]).ended
    assert.deepStrictEqual([killed.code, killed.signal, killed.stderr], [null, "SIGKILL", ""])
    assert.notInclude(killed.stdout, "you press stop")

    const next = await demo().ended
    assert.deepStrictEqual({ code: next.code, stderr: next.stderr }, { code: 0, stderr: "" })
    const recovery = withoutFigures(blocks("press-stop")[2]!)
    assert.include(withoutFigures(next.stdout), recovery)
    // Once it was told, it is over.
    assert.notInclude((await demo().ended).stdout, "was killed")
  })

  it("stops its turn on Ctrl-C, at any moment, and ends well", async () => {
    for (const moment of ["http_get: allow it?", "run_command: allow it?", "write_file: allow it?"]) {
      const { child, ended } = demo()
      await printed(child, moment)
      child.kill("SIGINT")
      const { code, stderr, stdout } = await ended
      assert.deepStrictEqual({ code, stderr }, { code: 0, stderr: "" }, moment)
      assert.include(stdout, "Left: 0 processes, 0 listeners, 0 sockets.")
      assert.notInclude(stdout, "Not quiet yet")
      assert.match(stdout, /^write_file +ABORTED_BEFORE_DISPATCH +no .* there is no report.md$/m)
    }
  })

  it("says on a second Ctrl-C what is not quiet yet, and why", async () => {
    const { child, ended } = demo()
    const stopped = printed(child, "you press stop")
    await printed(child, "fetch_quote: TOOL_TIMEOUT")
    child.kill("SIGINT")
    await stopped
    child.kill("SIGINT")
    const { code, stderr, stdout } = await ended
    assert.deepStrictEqual({ code, stderr }, { code: 0, stderr: "" })
    assert.match(stdout, /^Not quiet yet, 0\.\d s after you pressed stop:$/m)
    assert.match(
      stdout,
      /^ {2}run_command: \d of its processes alive \([\d, ]+\); whatever ignores SIGTERM gets SIGKILL/m
    )
    assert.include(stdout, "Left: 0 processes, 0 listeners, 0 sockets.")
  })

  it("runs beside a second one, which keeps a log of its own", async () => {
    const outcomes = await Promise.all([demo().ended, demo().ended])
    assert.deepStrictEqual(outcomes.map(({ code, stderr }) => ({ code, stderr })), [
      { code: 0, stderr: "" },
      { code: 0, stderr: "" }
    ])
    assert.strictEqual(outcomes.filter(({ stdout }) => stdout.includes("is writing the log")).length, 1)
  })

  it("fails when its calls do not end as they should", async () => {
    // Here its command finds no program to run, and so ends by itself.
    const { code, stderr } = await demo([], { PATH: "" }).ended
    assert.strictEqual(code, 1)
    assert.match(stderr, /^run_command: SUCCESS instead of ABORTED/m)
  })

  it("fails in one sentence where it can have no log", async () => {
    const { code, stderr } = await demo(["--session", main]).ended
    assert.strictEqual(code, 1)
    assert.match(stderr, /^\n\w+: .*main\.ts'\n$/)
  })

  it.skipIf(!hasScript)(
    `shows rows that change on a terminal, and leaves it as it was${hasScript ? "" : " (no util-linux script here)"}`,
    async () => {
      // Wide, so that nothing is cut.
      const command = `stty cols 120; exec '${process.execPath}' '${main}' --session '${session}'`
      const child = spawn("script", ["--quiet", "--return", "--command", command, "/dev/null"], {
        env: { ...childEnvironment(), TERM: "xterm", NO_COLOR: "1" },
        stdio: ["pipe", "pipe", "inherit"]
      })
      const whole = text(child.stdout)
      const exit = once(child, "close")
      const stopping = printed(child, "told to stop")
      // As if typed: it is the terminal that makes a SIGINT of it.
      await printed(child, "TOOL_TIMEOUT")
      child.stdin.write("\x03")
      await stopping
      child.stdin.write("\x03")
      const [code] = await exit
      const output = await whole
      assert.strictEqual(code, 0, output)
      assert.include(output, "Not quiet yet")
      assert.include(output, "Left: 0 processes, 0 listeners, 0 sockets.")
      assert.isBelow(output.indexOf("\x1b[?25l"), output.indexOf("\x1b[?25h"))
      const shown = withoutFigures(output)
      const rows = blocks("press-stop")[1]!.split("\n").filter((line) => !line.includes("alive"))
      for (const row of rows) assert.include(shown, withoutFigures(row))
    }
  )
})
