/**
 * The exported declarations in a `.d.ts` file as the compiler writes it: each begins in the first column, with its
 * docstring right above it.
 */
export interface Declaration {
  readonly name: string
  /** The text of the docstring; empty where there is none. */
  readonly doc: string
  readonly source: string
}

/** A name that a module exports and another one declares. */
export interface Reexport {
  readonly name: string
  /** The name it has there. */
  readonly original: string
  /** Relative to the module; `undefined` where it was imported before, or declared here. */
  readonly from: string | undefined
}

export interface Module {
  readonly declarations: ReadonlyArray<Declaration>
  readonly reexports: ReadonlyArray<Reexport>
}

/** The text of a docstring, without its frame. */
export const textOf = (comment: string): string =>
  comment
    .replace(/^\/\*\*\s?/, "")
    .replace(/\s*\*\/\s*$/, "")
    .split("\n")
    .map((line) => line.replace(/^\s*\* ?/, "").trimEnd())
    .join("\n")
    .trim()

export const parse = (text: string): Module => {
  const declarations: Array<Declaration> = []
  const reexports: Array<Reexport> = []
  const imports = new Map<string, Reexport>()
  const bases = new Map<string, string>()
  for (const { comment, source } of statements(text)) {
    const imported = /^import (?:type )?\{(?<names>[^}]*)\} from "(?<from>[^"]+)"/.exec(source)?.groups
    const exported = /^export (?:type )?\{(?<names>[^}]*)\}(?: from "(?<from>[^"]+)")?/.exec(source)?.groups
    const base = /^declare const (?<name>\w+_base): (?<type>[\s\S]*);$/.exec(source)?.groups
    const name = /^export (?:declare )?(?:abstract )?(?:const|function|class|interface|type|namespace) (\w+)/.exec(
      source
    )?.[1]
    if (imported !== undefined) {
      for (const it of namesIn(imported["names"]!, imported["from"])) imports.set(it.name, it)
    } else if (exported !== undefined) {
      reexports.push(...namesIn(exported["names"]!, exported["from"]))
    } else if (base !== undefined) {
      bases.set(base["name"]!, superclassOf(base["type"]!))
    } else if (name !== undefined && !comment.includes("@internal")) {
      declarations.push({ name, doc: textOf(comment), source: inHouseStyle(withBases(source, bases)) })
    }
  }
  return {
    declarations,
    reexports: reexports.map((it) => it.from === undefined ? { ...imports.get(it.original) ?? it, name: it.name } : it)
  }
}

interface Statement {
  /** The docstring above it; empty where there is none. */
  readonly comment: string
  readonly source: string
}

function* statements(text: string): Generator<Statement> {
  const lines = text.split("\n")
  let comment = ""
  for (let index = 0; index < lines.length; index++) {
    const first = lines[index]!
    if (first === "" || first.startsWith("//")) continue
    const start = index
    if (first.startsWith("/**")) {
      while (!lines[index]!.includes("*/")) index++
      comment = lines.slice(start, index + 1).join("\n")
      continue
    }
    let depth = 0
    for (;; index++) {
      depth += depthOf(lines[index]!)
      if (index === lines.length - 1 || depth <= 0 && /[;}]$/.test(lines[index]!)) break
    }
    yield { comment, source: lines.slice(start, index + 1).join("\n") }
    comment = ""
  }
}

/** How many brackets a line leaves open; those in strings and comments are none. */
const depthOf = (line: string): number => {
  const code = /^\s*(?:\/\*\*|\*)/.test(line) ? "" : line.replace(/"(?:[^"\\]|\\.)*"/g, "").replace(/\/\/.*$/, "")
  return (code.match(/[{([]/g)?.length ?? 0) - (code.match(/[})\]]/g)?.length ?? 0)
}

const namesIn = (names: string, from: string | undefined): ReadonlyArray<Reexport> =>
  names.split(",").map((name) => name.trim()).filter((name) => name !== "").map((name) => {
    const [original, alias] = name.replace(/^type /, "").split(" as ")
    return { name: alias ?? original!, original: original!, from }
  })

/** The compiler gives the superclass of an error or a service a name of its own; a reader wants to know what it is. */
const superclassOf = (type: string): string => {
  const tag = /readonly _tag: ("[^"]+")/.exec(type)?.[1]
  return tag !== undefined && type.includes("YieldableError") ? `Data.TaggedError(${tag})` : type
}

const withBases = (source: string, bases: ReadonlyMap<string, string>): string =>
  source.replace(/extends (\w+_base)/, (whole, name: string) => bases.has(name) ? `extends ${bases.get(name)}` : whole)

/** Two blanks for each level, and no semicolons. */
const inHouseStyle = (source: string): string =>
  source
    .split("\n")
    .map((line) => line.replace(/^ +/, (blanks) => " ".repeat(blanks.length / 2)).replace(/;$/, ""))
    .join("\n")
    .replace(/^export (?:declare )?/, "")
