import { noAsAny } from "../../tools/lint/rules/no-as-any.ts"
import { snippets } from "./tester.ts"

const says = [/^A value cast to "any" is checked nowhere after/]

snippets("no-as-any", noAsAny, "packages/core/src/A.ts", {
  good: [
    `export const f = <T extends Effect<any, any, any>>(a: T) => a`,
    `export const a = b as unknown`,
    `export const a = b as ReadonlyArray<string>`,
    `export const a = b as const`
  ],
  bad: [
    { code: `export const a = b as any`, says },
    { code: `export const a = (b as any).c`, says },
    { code: `export const a = <any> b`, says },
    { code: `export const a = b as any as string`, says }
  ]
})
