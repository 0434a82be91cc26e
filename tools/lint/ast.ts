/**
 * The types of a lint rule and of the tree it sees. oxlint publishes them only through its rule tester, so they are
 * read off that.
 */
import type { RuleTester } from "oxlint/plugins-dev"

export interface Rule extends Exclude<Parameters<RuleTester["run"]>[1], { readonly createOnce: unknown }> {}
export type Context = Parameters<Rule["create"]>[0]
export type Visitor = ReturnType<Rule["create"]>
export type SourceCode = Context["sourceCode"]
export type Reference = SourceCode["scopeManager"]["scopes"][number]["references"][number]
export type Node = Reference["identifier"]["parent"]
export type Span = Pick<Node, "start" | "end" | "loc" | "range">
export type InlineImport = Extract<Node, { readonly type: "ImportExpression" | "TSImportType" }>
