import { readFileSync } from "node:fs"
import { delimiter, join } from "node:path"
import { assert, describe, it } from "vitest"
import { root, run } from "../../tools/run.ts"

const script = join(root, "tools", "require-node.mjs")

/** A module that makes this process take itself for another Node. */
const pretend = (version: string): string =>
  "data:text/javascript," + encodeURIComponent(
    `Object.defineProperty(process, "versions", { value: { ...process.versions, node: ${JSON.stringify(version)} } })`
  )

const guard = (version: string) => run(process.execPath, ["--import", pretend(version), script], { output: "capture" })

const sentence = (version: string): string =>
  `Quiesce needs Node 22.19 or newer and this is ${version}: run "npm ci" with install scripts allowed for the ` +
  `package "node" (it brings Node 24), or put a newer Node first on PATH.\n`

describe("the guard against an old Node", () => {
  for (const version of ["18.20.4", "20.20.2", "22.18.0"]) {
    it(`refuses ${version} with one sentence`, async () => {
      const { code, output } = await guard(version)
      assert.strictEqual(output, sentence(version))
      assert.strictEqual(code, 1)
    })
  }

  for (const version of ["22.19.0", "22.20.1", "23.0.0", "24.0.0", "26.1.0-nightly"]) {
    it(`is silent on ${version}`, async () => {
      const { code, output } = await guard(version)
      assert.deepStrictEqual({ code, output }, { code: 0, output: "" })
    })
  }

  it("is one with what package.json asks for", () => {
    const { engines } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { engines: { node: string } }
    assert.strictEqual(engines.node, ">=22.19")
  })

  // Not in a `pre` script: `ignore-scripts` skips those, and is what leaves an old Node first on the path.
  it("stands before everything an npm script runs with node", () => {
    const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
      scripts: Record<string, string>
    }
    for (const [name, command] of Object.entries(scripts)) {
      assert.notMatch(name, /^(?:pre|post)/)
      if (name !== "format") assert.match(command, /^node tools\/require-node\.mjs && /, name)
    }
  })
})

/** An old Node on the path of this machine, where there is one. */
const oldNode = async (): Promise<{ readonly path: string; readonly version: string } | undefined> => {
  for (const directory of new Set((process.env["PATH"] ?? "").split(delimiter))) {
    const path = join(directory, "node")
    const { code, stdout } = await run(path, ["--version"], { output: "capture" }).catch(() => ({
      code: 1,
      stdout: ""
    }))
    const version = stdout.trim().slice(1)
    if (code === 0 && Number.parseInt(version) < 22) return { path, version }
  }
  return undefined
}
const old = await oldNode()

if (old !== undefined) {
  it(`the guard refuses the Node ${old.version} of this machine`, async () => {
    const { code, output } = await run(old.path, [script], { output: "capture", env: { NODE_OPTIONS: undefined } })
    assert.deepStrictEqual({ code, output }, { code: 1, output: sentence(old.version) })
  })
}
