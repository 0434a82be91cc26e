import { noAbandoning } from "../../tools/lint/rules/no-abandoning.ts"
import { snippets } from "./tester.ts"

const race = "Promise.race settles with the first and abandons the rest: wait for quiescence, or race effects."
const promise = /^Effect\.promise settles while the work it started still runs: use Abortable\.promise/
const tryPromise = /^Effect\.tryPromise settles while the work it started still runs: use Abortable\.promise/

snippets("no-abandoning", noAbandoning, "packages/core/src/A.ts", {
  good: [
    `export const all = Promise.all([])`,
    `import * as Effect from "effect/Effect"; export const a = Effect.succeed(1)`,
    `import * as Abortable from "./Abortable.ts"; export const a = Abortable.promise(() => 1)`,
    // Names that only look like them.
    `const Promise = { race: () => 1 }; export const a = Promise.race()`,
    `import * as Effect from "./Effect.ts"; export const a = Effect.promise(() => 1)`,
    `import * as Effect from "effect/Effect"; export const f = (Effect) => Effect.promise`,
    `export const a = { Promise: { race: 1 } }.Promise.race`
  ],
  bad: [
    { code: `export const a = Promise.race([])`, says: [race] },
    { code: `export const a = [1].map(Promise.race)`, says: [race] },
    { code: `export const a = Promise["race"]([])`, says: [race] },
    { code: `export const a = globalThis.Promise.race([])`, says: [race] },
    { code: `export const a = globalThis?.Promise?.race([])`, says: [race] },
    { code: `const { race } = Promise; race([])`, says: [race] },
    {
      code: `export const a = AbortSignal.any([])`,
      says: [/^AbortSignal\.any retains its sources .* use Abortable\.fuse\.$/]
    },
    {
      code: `export const a = AbortSignal.timeout(1)`,
      says: [/^AbortSignal\.timeout runs on the wall clock, .* use Deadline\.within\.$/]
    },
    { code: `import * as Effect from "effect/Effect"; export const a = Effect.promise(f)`, says: [promise] },
    { code: `import * as Eff from "effect/Effect"; export const a = Eff.tryPromise(f)`, says: [tryPromise] },
    { code: `import { Effect as E } from "effect"; export const a = E.promise(f)`, says: [promise] },
    { code: `import * as All from "effect"; export const a = All.Effect.promise(f)`, says: [promise] },
    { code: `import { promise as wait } from "effect/Effect"; export const a = wait(f)`, says: [promise] },
    { code: `export { tryPromise } from "effect/Effect"`, says: [tryPromise] },
    { code: `import * as Effect from "effect/Effect"; const { promise: p } = Effect; p(f)`, says: [promise] }
  ]
})
