/**
 * Which names a file uses, whatever it calls them.
 *
 * `import { Effect as E } from "effect"` and then `E.promise`, `import * as Eff from "effect/Effect"` and then
 * `Eff.promise`, `const { promise } = Eff`: a rule should see one thing in all of them. So a use is the module a name
 * comes from (or `null` for a global) and the path of members below it.
 */
import type { InlineImport, Node, Reference, SourceCode, Span } from "./ast.ts"

export interface Use {
  /** The module specifier as written; `null`: a global. */
  readonly module: string | null
  /** Member names, outermost first. Empty: the module is used as a whole, so its members cannot be told. */
  readonly path: ReadonlyArray<string>
  /** Whether only a type is used. */
  readonly isType: boolean
  readonly node: Span
}

/** The object that holds the globals, by its names. */
const globalObjects = new Set(["globalThis", "global", "window", "self"])

const nameOf = (node: Node): string | undefined => node.type === "Identifier" ? node.name : textOf(node)

const textOf = (node: Node): string | undefined =>
  node.type === "Literal" && typeof node.value === "string" ? node.value : undefined

interface Below {
  readonly path: ReadonlyArray<string>
  readonly isType: boolean
  readonly node: Span
}

/** The paths taken from the object `node`: `a.b.c`, `A.B` in a type, `const { b } = a`. */
function* below(node: Node & { readonly parent: Node }, isType: boolean): Generator<Below> {
  const parent = node.parent
  if (parent.type === "TSQualifiedName" && parent.left === node) {
    for (const rest of below(parent, true)) yield { ...rest, path: [parent.right.name, ...rest.path] }
    return
  }
  if (parent.type === "MemberExpression" && parent.object === node) {
    const name = parent.computed ? textOf(parent.property) : nameOf(parent.property)
    if (name !== undefined) {
      for (const rest of below(parent, isType)) yield { ...rest, path: [name, ...rest.path] }
      return
    }
  }
  if (parent.type === "VariableDeclarator" && parent.init === node && parent.id.type === "ObjectPattern") {
    for (const property of parent.id.properties) {
      const name = property.type === "Property" && !property.computed ? nameOf(property.key) : undefined
      yield { path: name === undefined ? [] : [name], isType, node: property }
    }
    return
  }
  yield { path: [], isType: isType || parent.type === "TSTypeQuery" || parent.type === "TSTypeReference", node }
}

function* usesOfReference(reference: Reference): Generator<Use> {
  const { identifier, resolved } = reference
  const definition = resolved?.defs[0]
  if (definition === undefined) {
    for (const rest of below(identifier, false)) {
      const path = [identifier.name, ...rest.path]
      yield {
        ...rest,
        module: null,
        path: path.length > 1 && globalObjects.has(identifier.name) ? path.slice(1) : path
      }
    }
    return
  }
  if (definition.type !== "ImportBinding" || definition.parent?.type !== "ImportDeclaration") return
  const module = definition.parent.source.value
  const specifier = definition.node
  if (specifier.type === "ImportNamespaceSpecifier") {
    for (const rest of below(identifier, false)) yield { ...rest, module }
    return
  }
  // The import itself was one use already: only what is taken from it says more.
  const imported = specifier.type === "ImportSpecifier" ? nameOf(specifier.imported) : "default"
  for (const rest of below(identifier, false)) {
    if (imported !== undefined && rest.path.length > 0) yield { ...rest, module, path: [imported, ...rest.path] }
  }
}

function* usesOfImport(statement: SourceCode["ast"]["body"][number]): Generator<Use> {
  if (statement.type === "ImportDeclaration") {
    for (const specifier of statement.specifiers) {
      if (specifier.type === "ImportNamespaceSpecifier") continue
      const name = specifier.type === "ImportSpecifier" ? nameOf(specifier.imported) : "default"
      const isType = statement.importKind === "type" ||
        (specifier.type === "ImportSpecifier" && specifier.importKind === "type")
      yield { module: statement.source.value, path: name === undefined ? [] : [name], isType, node: specifier }
    }
  } else if (statement.type === "ExportAllDeclaration") {
    yield { module: statement.source.value, path: [], isType: statement.exportKind === "type", node: statement }
  } else if (statement.type === "ExportNamedDeclaration" && statement.source !== null) {
    for (const specifier of statement.specifiers) {
      const name = nameOf(specifier.local)
      const isType = statement.exportKind === "type" || specifier.exportKind === "type"
      yield { module: statement.source.value, path: name === undefined ? [] : [name], isType, node: specifier }
    }
  }
}

function* usesOfInline(node: InlineImport): Generator<Use> {
  if (node.source.type !== "Literal" || typeof node.source.value !== "string") return
  const path: Array<string> = []
  if (node.type === "TSImportType") {
    let at: typeof node.qualifier | null = node.qualifier
    for (; at?.type === "TSQualifiedName"; at = at.left) path.unshift(at.right.name)
    if (at?.type === "Identifier") path.unshift(at.name)
  }
  yield { module: node.source.value, path, isType: node.type === "TSImportType", node }
}

/** Every use of a global or of another module's name in one file. `inline` are its `import(…)` expressions and types. */
export function* usesOf(sourceCode: SourceCode, inline: ReadonlyArray<InlineImport>): Generator<Use> {
  for (const statement of sourceCode.ast.body) yield* usesOfImport(statement)
  for (const scope of sourceCode.scopeManager.scopes) {
    for (const reference of scope.references) yield* usesOfReference(reference)
  }
  for (const node of inline) yield* usesOfInline(node)
}
