import { readdirSync, readFileSync } from "node:fs"
import { assert, describe, it } from "vitest"
import { allowed, ofModule, stabilities } from "../../tools/lint/stable-exports.ts"

const tag = (stability: string): string => `/**\n * Text.\n *\n * @stability ${stability}\n */\n`

const of = (source: string): Record<string, string> => Object.fromEntries(stabilities(tag("stable") + "\n" + source))

describe("the stability of an export", () => {
  it("is the tag of its doc comment, whatever kind of declaration it is", () => {
    assert.deepStrictEqual(
      of(
        `${tag("unstable")}export const a = 1\n${tag("stable")}export interface B {}\n${tag("experimental")}` +
          `export declare namespace C {\n${tag("unstable")}  export type D = 1\n}\n${
            tag("stable")
          }export abstract class E {}`
      ),
      { a: "unstable", B: "stable", C: "experimental", E: "stable" }
    )
  })

  it("survives a plain comment between doc comment and declaration", () => {
    assert.deepStrictEqual(of(`${tag("unstable")}// @ts-expect-error\n\nexport const all = 1`), { all: "unstable" })
  })

  it("is read inside an export list, by the exported name", () => {
    assert.deepStrictEqual(of(`export {\n${tag("unstable")}  void_ as void,\n${tag("stable")}  b\n}`), {
      void: "unstable",
      b: "stable"
    })
  })

  it("is the least stable of the declarations that share a name", () => {
    assert.deepStrictEqual(
      of(`${tag("stable")}export type A = 1\n${tag("unstable")}export const A = 1\n`),
      { A: "unstable" }
    )
  })

  it("ignores overloads without documentation", () => {
    assert.deepStrictEqual(of(`${tag("stable")}export function f(): 1\nexport function f(a: 1): 2`), { f: "stable" })
  })

  it("is internal when the comment says so, and untagged when there is no comment", () => {
    assert.deepStrictEqual(of(`/** @internal */\nexport const a = 1\nexport const b = 2`), {
      a: "internal",
      b: "untagged"
    })
  })

  it("is the module's when the comment has no tag", () => {
    assert.deepStrictEqual(of(`/** The Standard interface. */\nexport interface A {}`), { A: "stable" })
  })
})

describe("effect as installed", () => {
  const sources = new URL("src/", import.meta.resolve("effect/package.json"))
  const modules = readdirSync(sources).filter((file) => file.endsWith(".ts") && file !== "index.ts")

  it("has a known stability for every export there is at run time", async () => {
    const unknown: Array<string> = []
    for (const module of modules.map((file) => `effect/${file.slice(0, -".ts".length)}`)) {
      const known = ofModule(module)
      for (const name of Object.keys(await import(module) as object)) {
        if (!known?.has(name)) unknown.push(`${module}.${name}`)
      }
    }
    assert.deepStrictEqual(unknown, [])
  })

  // The rule looks at `X.A` and not at `X.A.B`: that is enough as long as this holds.
  it("tags nothing inside a namespace as less stable than the namespace", () => {
    const found: Array<string> = []
    for (const file of modules) {
      const exports = ofModule(`effect/${file.slice(0, -".ts".length)}`)
      const source = readFileSync(new URL(file, sources), "utf8")
      for (const [, name = "", body = ""] of source.matchAll(/^export declare namespace (\w+) \{([\s\S]*?)^\}/gm)) {
        if (exports?.get(name) === "stable" && /@stability (?:unstable|experimental)/.test(body)) found.push(name)
      }
    }
    assert.deepStrictEqual(found, [])
  })

  it("exports every name on the list of exceptions, as something other than stable", () => {
    const stale = [...allowed].filter((full) => {
      const dot = full.lastIndexOf(".")
      const stability = ofModule(full.slice(0, dot))?.get(full.slice(dot + 1))
      return stability === undefined || stability === "stable"
    })
    assert.deepStrictEqual(stale, [])
  })
})
