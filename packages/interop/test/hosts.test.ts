import { assert, describe, it } from "@effect/vitest"
import { spawnSync } from "node:child_process"
import { readdirSync } from "node:fs"
import { childEnvironment } from "../../../tests/child-environment.ts"
import { cites } from "../../../tests/conformance/cites.ts"

/** Which host each module is for; whatever is not named here needs none. */
const hosts: { readonly [module: string]: RegExp } = {
  AiSdk: /^(ai|@ai-sdk\/.*)$/,
  OpenAiAgents: /^@openai\/.*$/,
  LangChain: /^@langchain\/.*$/
}

/** Loads a module in a process where no package is found but effect, ours, and those that `own` says. */
const script = (module: string, own: string) => `
import { registerHooks } from "node:module"
const own = ${own}
const loaded = new Set()
registerHooks({
  resolve(specifier, context, next) {
    const name = /^(@[^/]+\\/)?[^./@][^/]*/.exec(specifier)?.[0]
    const from = context.parentURL ?? ""
    const ours = from.includes("/packages/") || !from.includes("/node_modules/")
    if (name !== undefined && ours && !specifier.includes(":")) {
      loaded.add(name)
      if (name !== "effect" && !name.startsWith("@quiesce/") && !own.test(name)) throw new Error("not here: " + name)
    }
    return next(specifier, context)
  }
})
await import(${JSON.stringify(module)})
console.log([...loaded].filter((name) => own.test(name)).length > 0)
`

describe("a module of @quiesce/interop", () => {
  const modules = readdirSync(new URL("../src", import.meta.url)).filter((file) => file.endsWith(".ts"))
    .map((file) => file.slice(0, -".ts".length))
  for (const module of modules) {
    it(cites(`loads without the hosts of others: ${module}`, "PROMISE-02", "PROMISE-03"), () => {
      const own = hosts[module]
      const name = module === "index" ? "@quiesce/interop" : `@quiesce/interop/${module}`
      const { stderr, stdout } = spawnSync(
        process.execPath,
        ["--input-type=module", "--eval", script(name, String(own ?? /^$/))],
        { cwd: import.meta.dirname, encoding: "utf8", env: childEnvironment() }
      )
      assert.strictEqual(stderr, "")
      // And it does load its own: the process would have noticed.
      assert.strictEqual(stdout.trim(), String(own !== undefined))
    })
  }
})
