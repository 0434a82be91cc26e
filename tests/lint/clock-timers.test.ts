import { clockTimers } from "../../tools/lint/rules/clock-timers.ts"
import { snippets } from "./tester.ts"

const says = (name: string): RegExp => new RegExp(`^${name} is outside Effect's Clock and Scheduler`)

snippets("clock-timers", clockTimers, "packages/core/src/A.ts", {
  good: [
    `import * as Effect from "effect/Effect"; export const a = Effect.sleep(1)`,
    `export type Handle = ReturnType<typeof setTimeout>`,
    `const setTimeout = () => 1; export const a = setTimeout()`,
    `export const a = (clock) => clock.setTimeout(1)`
  ],
  bad: [
    { code: `setTimeout(f, 1)`, says: [says("setTimeout")] },
    { code: `export const start = setInterval`, says: [says("setInterval")] },
    { code: `globalThis.setImmediate(f)`, says: [says("setImmediate")] },
    { code: `const { queueMicrotask } = globalThis`, says: [says("queueMicrotask")] }
  ]
})
