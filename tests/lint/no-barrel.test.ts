import { noBarrel } from "../../tools/lint/rules/no-barrel.ts"
import { snippets } from "./tester.ts"

snippets("no-barrel", noBarrel, "packages/acp/src/A.ts", {
  good: [
    `import * as Effect from "effect/Effect"`,
    `import * as TestClock from "effect/testing/TestClock"`,
    `export * as Tool from "./Tool.ts"`,
    `import * as Tool from "@quiesce/core/Tool"`,
    `import { z } from "zod"`
  ],
  bad: [
    {
      code: `import { Effect } from "effect"`,
      says: [`"effect" is a barrel: import the module, like "effect/Effect".`]
    },
    { code: `import type { Effect } from "effect"`, says: [/^"effect" is a barrel/] },
    { code: `export type A = import("effect").Effect.Effect<1>`, says: [/^"effect" is a barrel/] },
    {
      code: `import { TestClock } from "effect/testing"`,
      says: [`"effect/testing" is a barrel: import the module in it.`]
    },
    { code: `export * from "./index.ts"`, says: [`"./index.ts" is a barrel: import the module, like "./Tool.ts".`] },
    { code: `import { A } from ".."`, says: [/^"\.\." is a barrel/] },
    { code: `export { A } from "../internal/index.ts"`, says: [/is a barrel/] },
    { code: `import { Tool } from "@quiesce/acp"`, says: [/like "@quiesce\/core\/Tool"\.$/] },
    { code: `const a = await import("@quiesce/core")`, says: [/^"@quiesce\/core" is a barrel/] }
  ]
})
