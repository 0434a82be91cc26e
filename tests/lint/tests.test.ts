import { noLiveSleep, noOnly, noSleep } from "../../tools/lint/rules/tests.ts"
import { snippets } from "./tester.ts"

const only = `".only" leaves every other test of the file out: remove it.`

snippets("no-only", noOnly, "packages/core/test/A.test.ts", {
  good: [`it("a", f)`, `it.effect("a", f)`, `const a = options.only`],
  bad: [
    { code: `it.only("a", f)`, says: [only] },
    { code: `describe.only("a", f)`, says: [only] },
    { code: `it.effect.only("a", f)`, says: [only] },
    { code: `test.only.each([1])("a", f)`, says: [only] }
  ]
})

const sleeps = /^A test that sleeps is slow when it passes and wrong when the machine is busy/

snippets("no-sleep", noSleep, "packages/core/test/A.test.ts", {
  good: [
    `import { Effect } from "effect"; it.effect("a", () => Effect.sleep("1 second"))`,
    `import { setImmediate } from "node:timers/promises"; await setImmediate()`,
    `setImmediate(f)`,
    `const script = "setTimeout(() => {}, 1000)"`
  ],
  bad: [
    { code: `await new Promise((resolve) => setTimeout(resolve, 5))`, says: [sleeps] },
    { code: `setInterval(f, 5)`, says: [sleeps] },
    { code: `import { setTimeout as sleep } from "node:timers/promises"; await sleep(5)`, says: [sleeps] },
    { code: `import * as timers from "timers/promises"; await timers.setTimeout(5)`, says: [sleeps] },
    { code: `Atomics.wait(a, 0, 0, 5)`, says: [sleeps] }
  ]
})

const live = /^Effect\.sleep inside it\.live sleeps for real/

snippets("no-live-sleep", noLiveSleep, "packages/core/test/A.test.ts", {
  good: [
    `it.effect("a", () => Effect.sleep(1))`,
    `it.live("a", () => Effect.never); it.effect("b", () => Effect.sleep(1))`
  ],
  bad: [
    { code: `it.live("a", () => Effect.gen(function*() { yield* Effect.sleep(1) }))`, says: [live] },
    { code: `it.live.each([1])("a", () => Effect.sleep(1))`, says: [live] }
  ]
})
