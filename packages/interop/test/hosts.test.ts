import { assert, describe, it } from "@effect/vitest"
import { readdirSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { cites } from "../../../tests/conformance/cites.ts"

const src = join(import.meta.dirname, "../src")

/** The packages that a module and the modules it reaches import, types included: their declarations are read too. */
const packagesOf = (file: string, seen = new Set<string>()): ReadonlySet<string> => {
  const packages = new Set<string>()
  if (seen.has(file)) return packages
  seen.add(file)
  const imports = readFileSync(file, "utf8").matchAll(/^(?:import|export|\}).* from "(?<from>[^"]+)"$/gm)
  for (const { groups } of imports) {
    const from = groups!["from"]!
    if (from.startsWith(".")) { for (const name of packagesOf(join(dirname(file), from), seen)) packages.add(name) }
    else packages.add(/^(@[^/]+\/)?[^/]+/.exec(from)![0])
  }
  return packages
}

describe("a module of @quiesce/interop", () => {
  // Whatever is not named here is for no host, or for effect, which everybody has.
  const hosts: { readonly [module: string]: string } = {
    AiSdk: "ai",
    OpenAiAgents: "@openai/agents",
    LangChain: "@langchain/core"
  }
  const modules = readdirSync(src).filter((file) => file.endsWith(".ts")).map((file) => file.slice(0, -".ts".length))

  for (const module of modules) {
    it(cites(`needs no host but its own: ${module}`, "PROMISE-02", "PROMISE-03"), () => {
      const foreign = [...packagesOf(join(src, `${module}.ts`))]
        .filter((name) => name !== "effect" && name !== "@quiesce/core")
      assert.deepStrictEqual(foreign, hosts[module] === undefined ? [] : [hosts[module]])
    })
  }

  it("is told of in the guide by the versions of the hosts that the tests are run with", () => {
    const read = (file: string) => readFileSync(join(src, file), "utf8")
    const versions = JSON.parse(read("../package.json")).devDependencies as Readonly<Record<string, string>>
    const { effect } = JSON.parse(read("../../../package.json")).devDependencies as { readonly effect: string }
    const guide = read("../../../docs/guide/sdks.md")
    for (
      const [host, version] of Object.values(hosts).map((host) => [host, versions[host]]).concat([["effect", effect]])
    ) {
      assert.include(guide, `${host} ${version}`)
    }
    assert.include(guide, `effect@${effect}`)
  })

  it(cites("has hosts that nobody has to install", "PROMISE-02"), () => {
    const manifest = JSON.parse(readFileSync(join(src, "../package.json"), "utf8")) as {
      readonly dependencies?: object
      readonly peerDependencies: object
      readonly peerDependenciesMeta: Readonly<Record<string, { readonly optional: boolean }>>
    }
    assert.isUndefined(manifest.dependencies)
    const optional = Object.entries(manifest.peerDependenciesMeta).filter(([, { optional }]) => optional)
    assert.deepStrictEqual(optional.map(([name]) => name).sort(), Object.values(hosts).sort())
    assert.deepStrictEqual(
      Object.keys(manifest.peerDependencies).sort(),
      [...Object.values(hosts), "@quiesce/core", "effect"].sort()
    )
  })
})
