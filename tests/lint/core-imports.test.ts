import { coreImports, stableEffect } from "../../tools/lint/rules/core-imports.ts"
import { snippets } from "./tester.ts"

snippets("core-imports", coreImports, "packages/core/src/A.ts", {
  good: [`import * as Effect from "effect/Effect"`, `import * as Tool from "./Tool.ts"`],
  bad: [
    {
      code: `import { readFileSync } from "node:fs"`,
      says: [`The core has no dependency besides effect, so it cannot import "node:fs".`]
    },
    {
      code: `import type { StandardSchemaV1 } from "@standard-schema/spec"`,
      says: [/cannot import "@standard-schema\/spec"/]
    },
    { code: `export const a = () => import("zod")`, says: [/cannot import "zod"/] },
    {
      code: `import * as Explore from "@quiesce/testing/Explore"`,
      says: [/cannot import "@quiesce\/testing\/Explore"/]
    }
  ]
})

const unstable =
  `"effect/Effect.withExecutionPlan" is unstable, and the core uses only exports of effect tagged stable.`

snippets("stable-effect", stableEffect, "packages/core/src/A.ts", {
  good: [
    `import * as Effect from "effect/Effect"; export const a = Effect.succeed(1)`,
    `import type * as Exit from "effect/Exit"; export type A = Exit.Exit<number>`,
    `import * as Effect from "effect/Effect"; export const a = (): Effect.fn.Return<void> => Effect.void`,
    `import { dual, type LazyArg } from "effect/Function"; export const a = (f: LazyArg<1>) => dual(f)`,
    // Vendored from the specification: tagged as a module.
    `import type { StandardSchemaV1 } from "effect/StandardSchema"; export type A = StandardSchemaV1`,
    `import * as Tool from "./Tool.ts"; export const a = Tool`
  ],
  bad: [
    { code: `import * as Effect from "effect/Effect"; export const a = Effect.withExecutionPlan`, says: [unstable] },
    { code: `import * as E from "effect/Effect"; export const a = (E) => 1; E.withExecutionPlan()`, says: [unstable] },
    { code: `import { withExecutionPlan as w } from "effect/Effect"; w()`, says: [unstable] },
    { code: `import * as Effect from "effect/Effect"; const { withExecutionPlan } = Effect`, says: [unstable] },
    { code: `export { withExecutionPlan } from "effect/Effect"`, says: [unstable] },
    {
      code: `import type * as E from "effect/Effect"; export type A = E.TransactionMetaInner`,
      says: [/is internal, and/]
    },
    {
      code: `import type * as Q from "effect/TxQueue"; export type A = Q.TxQueue<1>`,
      says: [/TxQueue\.TxQueue" is unstable/]
    },
    { code: `export type A = import("effect/TxQueue").TxQueue<1>`, says: [/TxQueue\.TxQueue" is unstable/] },
    { code: `import * as Effect from "effect/Effect"; export const a = Effect.nothing`, says: [/has no export/] },
    {
      code: `import * as N from "effect/Nothing"; export const a = N.a`,
      says: [`effect has no module "effect/Nothing".`]
    },
    { code: `import * as Effect from "effect/Effect"; export const a = { Effect }`, says: [/is used as a whole here/] },
    { code: `import * as Effect from "effect/Effect"; export const a = (k) => Effect[k]`, says: [/used as a whole/] },
    { code: `export * from "effect/Effect"`, says: [/is used as a whole here/] }
  ]
})
