/**
 * `any` may bound a type parameter, where only it means "whatever"; a value cast to it has left the type system.
 */
import type { Context, Node } from "../ast.ts"
import { make } from "../rule.ts"

export const noAsAny = make("No value is cast to any", (context: Context) => {
  const see = (type: Node): void => {
    if (type.type !== "TSAnyKeyword") return
    context.report({
      node: type,
      message: `A value cast to "any" is checked nowhere after: give it the type it has, or "unknown".`
    })
  }
  return { TSAsExpression: (node) => see(node.typeAnnotation), TSTypeAssertion: (node) => see(node.typeAnnotation) }
})
