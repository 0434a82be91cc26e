import { RuleTester } from "oxlint/plugins-dev"
import { describe, it } from "vitest"
import type { Rule } from "../../tools/lint/ast.ts"

RuleTester.describe = describe
RuleTester.it = it

/** A snippet that a rule finds fault with, and its sentences. */
export interface Bad {
  readonly code: string
  readonly says: ReadonlyArray<string | RegExp>
  /** The file it stands in; by default the one given for all. */
  readonly filename?: string
}

/** Tests, one per snippet: `rule` is silent about each good one, and says exactly this of each bad one. */
export const snippets = (
  name: string,
  rule: Rule,
  filename: string,
  { bad, good }: { readonly good: ReadonlyArray<string>; readonly bad: ReadonlyArray<Bad> }
): void =>
  new RuleTester({ languageOptions: { sourceType: "module" } }).run(name, rule, {
    valid: good.map((code) => ({ code, filename })),
    invalid: bad.map(({ says, ...snippet }) => ({
      filename,
      ...snippet,
      errors: says.map((message) => ({ message }))
    }))
  })
