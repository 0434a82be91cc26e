/**
 * How stable effect calls its exports: each carries a `@stability` tag, in the sources the package ships.
 *
 * Compatibility of minor versions is promised for `stable` alone, so a core that uses nothing else runs on every
 * effect its peer range allows. `node tools/lint/stable-exports.ts effect/Schema` lists the tags of a module.
 */
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"

/**
 * Exports the core may use although they are not tagged stable, as `"effect/Module.name"`, each with the reason beside
 * it. Empty, and meant to stay so.
 */
export const allowed: ReadonlySet<string> = new Set([])

/** `untagged`: exported and neither tagged nor documented as internal. */
export type Stability = "stable" | "unstable" | "experimental" | "internal" | "untagged"

const leastStableFirst: ReadonlyArray<Stability> = ["internal", "untagged", "experimental", "unstable", "stable"]

const declaration =
  /^export (?:declare )?(?:abstract )?(?:async )?(?:const|let|function\*?|class|interface|type|namespace|enum) ([\w$]+)/

const tagOf = (docs: string): Stability | undefined =>
  /@internal\b/.test(docs) ? "internal" : (/@stability (stable|unstable|experimental)/.exec(docs)?.[1] as Stability)

/**
 * The stability of each export of a module, from its source text.
 *
 * A name may be exported more than once (overloads, a type beside a value, a namespace beside both): an undocumented
 * declaration adds nothing, otherwise the least stable one decides. A name that is documented without a tag anywhere
 * has the tag of the module.
 */
export const stabilities = (source: string): ReadonlyMap<string, Stability> => {
  const seen = new Map<string, Set<Stability | undefined>>()
  const record = (name: string, docs: string): void => {
    const tags = seen.get(name) ?? new Set()
    seen.set(name, docs === "" ? tags : tags.add(tagOf(docs)))
  }
  const ofModule = tagOf(source.slice(0, source.indexOf("*/")))
  // The doc comment that belongs to the next declaration; plain comments and blank lines may stand between them.
  let docs = ""
  let inDocs = false
  let inList = false
  for (const line of source.split("\n")) {
    const text = line.trim()
    if (inDocs || text.startsWith("/**")) {
      docs = inDocs ? docs + text : text
      inDocs = !text.endsWith("*/")
      continue
    }
    if (text === "" || text.startsWith("//")) continue
    const list = /^export (?:type )?\{(.*)/.exec(line)
    if (list !== null || inList) {
      const body = list?.[1] ?? line
      for (const [, local, exported] of body.replace(/\}.*/, "").matchAll(/([\w$]+)(?: as ([\w$]+))?/g)) {
        record(exported ?? local ?? "", docs)
      }
      inList = !body.includes("}")
    } else {
      const name = declaration.exec(line)?.[1]
      if (name !== undefined) record(name, docs)
    }
    docs = ""
  }
  return new Map(
    [...seen].map(([name, found]) => {
      const tags = found.size === 0 ? ["untagged"] as const : [...found].map((tag) => tag ?? ofModule ?? "untagged")
      return [name, leastStableFirst.find((stability) => tags.some((tag) => tag === stability)) ?? "untagged"]
    })
  )
}

const modules = new Map<string, ReadonlyMap<string, Stability> | undefined>()

/** The stability of each export of `effect/…`, or nothing when effect has no such module. */
export const ofModule = (module: string): ReadonlyMap<string, Stability> | undefined => {
  if (!modules.has(module)) modules.set(module, load(module))
  return modules.get(module)
}

const load = (module: string): ReadonlyMap<string, Stability> | undefined => {
  try {
    const effect = new URL(".", import.meta.resolve("effect/package.json"))
    return stabilities(readFileSync(new URL(`src/${module.slice("effect/".length)}.ts`, effect), "utf8"))
  } catch {
    return undefined
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const module of process.argv.slice(2)) {
    for (const [name, stability] of ofModule(module) ?? []) console.log(`${stability.padEnd(12)} ${module}.${name}`)
  }
}
