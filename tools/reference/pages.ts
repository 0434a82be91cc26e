/**
 * The pages of the reference: one for each public module, made of its declarations and docstrings.
 */
import { existsSync, readFileSync } from "node:fs"
import { join, posix } from "node:path"
import type { Package } from "../packages.ts"
import { type Declaration, parse, textOf } from "./declarations.ts"

export interface Page {
  /** Below the folder of the reference. */
  readonly path: string
  readonly text: string
}

/** The pages of `packages`, which must be built, and their table of contents. Throws where a build is missing. */
export const pagesOf = (packages: ReadonlyArray<Package>): ReadonlyArray<Page> => {
  const pages = packages.map((pkg) =>
    pkg.modules.filter((module) => module !== "index" && !module.includes("/")).map((module) => pageOf(pkg, module))
  )
  const contents = packages.flatMap(({ manifest: { name } }, index) => [
    `## ${name}`,
    ...table(["module", "what it is"], pages[index]!.map(({ about, path }) => [`[${titleOf(path)}](${path})`, about]))
  ])
  const text = sections("# Reference", "What each module exports, from the sources.", ...contents)
  return [{ path: "README.md", text }, ...pages.flat()]
}

interface ModulePage extends Page {
  /** The first sentence of the module. */
  readonly about: string
}

const pageOf = (pkg: Package, module: string): ModulePage => {
  const { name } = pkg.manifest
  const doc = headOf(readFileSync(join(pkg.directory, "src", `${module}.ts`), "utf8"))
  const declarations = declarationsOf(pkg, module)
  const text = sections(
    `# ${module}`,
    `\`import * as ${module} from "${name}/${module}"\``,
    doc,
    ...declarations.flatMap(({ doc, name, source }) => [`## ${name}`, doc, fenced(source)])
  )
  return {
    path: posix.join(folderOf(name), `${module}.md`),
    text,
    about: firstSentence(doc || declarations[0]?.doc || "")
  }
}

/** With those that are declared elsewhere in the package, and overloads together. */
const declarationsOf = (pkg: Package, module: string): ReadonlyArray<Declaration> => {
  const { declarations, reexports } = read(pkg, module)
  const found = [
    ...declarations,
    ...reexports.flatMap(({ from, name, original }) => {
      if (from?.startsWith(".") !== true) return []
      const there = posix.join(posix.dirname(module), from).replace(/\.ts$/, "")
      return declarationsOf(pkg, there)
        .filter((declaration) => declaration.name === original)
        .map((declaration) => ({ ...declaration, name }))
    })
  ]
  return Array.from(Map.groupBy(found, ({ name }) => name), ([name, group]) => ({
    name,
    doc: group.map(({ doc }) => doc).filter((doc) => doc !== "").join("\n\n"),
    source: group.map(({ source }) => source).join("\n")
  }))
}

const read = ({ directory, manifest }: Package, module: string) => {
  const file = join(directory, "dist", `${module}.d.ts`)
  if (!existsSync(file)) throw new Error(`${manifest.name}: there is no ${module}.d.ts in dist: run \`npm run build\``)
  return parse(readFileSync(file, "utf8"))
}

/** What a module says of itself, on its first lines. */
const headOf = (source: string): string => {
  const comment = /^\/\*\*[\s\S]*?\*\//.exec(source)?.[0]
  return comment === undefined ? "" : textOf(comment)
}

const firstSentence = (doc: string): string => /^[\s\S]*?\.(?=\s|$)/.exec(doc)?.[0].replaceAll("\n", " ") ?? ""

const folderOf = (name: string): string => name.replace(/^@[^/]*\//, "")

const titleOf = (path: string): string => posix.basename(path, ".md")

// Not `ts`: that is for programs, and these are declarations.
const fenced = (source: string): string => `\`\`\`mts\n${source}\n\`\`\``

const sections = (...parts: ReadonlyArray<string>): string => `${parts.filter((part) => part !== "").join("\n\n")}\n`

const table = (head: ReadonlyArray<string>, rows: ReadonlyArray<ReadonlyArray<string>>): ReadonlyArray<string> => [
  [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n")
]
