/**
 * What a rule of ours is, and the two shapes most have: a rule about the modules a file imports, and a rule about the
 * names it uses.
 */
import type { Context, InlineImport, Node, Rule, Visitor } from "./ast.ts"
import { type Use, usesOf } from "./uses.ts"

/** A rule from its visitor. */
export const make = (description: string, create: (context: Context) => Visitor): Rule => ({
  meta: { type: "problem", docs: { description } },
  create
})

/** A rule about module specifiers: `check` answers with the sentence to say about one, or with nothing. */
export const ofImports = (
  description: string,
  check: (specifier: string, context: Context) => string | undefined
): Rule =>
  make(description, (context) => {
    const see = (source: Node | null): void => {
      if (source?.type !== "Literal" || typeof source.value !== "string") return
      const message = check(source.value, context)
      if (message !== undefined) context.report({ node: source, message })
    }
    return {
      ImportDeclaration: (node) => see(node.source),
      ExportAllDeclaration: (node) => see(node.source),
      ExportNamedDeclaration: (node) => see(node.source),
      ImportExpression: (node) => see(node.source),
      TSImportType: (node) => see(node.source)
    }
  })

/** A rule about names: `check` answers with the sentence to say about one use, or with nothing. */
export const ofUses = (description: string, check: (use: Use, context: Context) => string | undefined): Rule =>
  make(description, (context) => {
    const inline: Array<InlineImport> = []
    return {
      ImportExpression: (node) => void inline.push(node),
      TSImportType: (node) => void inline.push(node),
      "Program:exit": () => {
        for (const use of usesOf(context.sourceCode, inline)) {
          const message = check(use, context)
          if (message !== undefined) context.report({ node: use.node, message })
        }
      }
    }
  })
