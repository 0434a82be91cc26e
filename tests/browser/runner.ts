/**
 * Stands for `@effect/vitest` in a browser: what our tests use of it, and no more. Tests register themselves as their
 * modules are loaded, and `run` runs them one after the other.
 */
import { assert } from "chai"
import { Effect, Layer, type Scope } from "effect"
import { TestClock, TestConsole } from "effect/testing"

export { assert }

interface Test {
  readonly title: string
  readonly run: () => unknown
}

type Body<Args extends ReadonlyArray<any>> = (...args: Args) => unknown
type EffectBody<Args extends ReadonlyArray<any>> = (...args: Args) => Effect.Effect<unknown, unknown, Scope.Scope>

const tests: Array<Test> = []
const path: Array<string> = []

const register = (title: string, run: () => unknown): void => {
  tests.push({ title: [...path, title].join(" > "), run })
}

/** Each case is the arguments, or the one argument. */
const each =
  <Args extends ReadonlyArray<any>>(define: (title: string, run: () => unknown) => void) =>
  (cases: ReadonlyArray<any>) =>
  (title: string, body: Body<Args>): void => {
    for (const [index, given] of cases.entries()) {
      const args = Array.isArray(given) ? given : [given]
      define(`${title} #${index}`, () => body(...args as unknown as Args))
    }
  }

export const describe = Object.assign((title: string, body: () => void): void => {
  path.push(title)
  body()
  path.pop()
}, {
  each: each((title, run) => describe(title, run as () => void))
})

const environment = Layer.mergeAll(TestConsole.layer, TestClock.layer())

const live = (self: Effect.Effect<unknown, unknown, Scope.Scope>): Promise<unknown> =>
  Effect.runPromise(Effect.scoped(self))

const virtual = (self: Effect.Effect<unknown, unknown, Scope.Scope>): Promise<unknown> =>
  live(Effect.provide(self, environment))

const effectTester = (run: (self: Effect.Effect<unknown, unknown, Scope.Scope>) => Promise<unknown>) =>
  Object.assign(
    (title: string, body: EffectBody<[]>): void => register(title, () => run(Effect.suspend(() => body()))),
    {
      // The case is one argument here, also where it is an array.
      each: (cases: ReadonlyArray<any>) => (title: string, body: EffectBody<[any]>): void => {
        for (const [index, given] of cases.entries()) {
          register(`${title} #${index}`, () => run(Effect.suspend(() => body(given))))
        }
      }
    }
  )

export const it = Object.assign((title: string, body: Body<[]>): void => register(title, body), {
  each: each(register),
  effect: effectTester(virtual),
  live: effectTester(live)
})

export interface Report {
  readonly passed: number
  readonly failures: ReadonlyArray<string>
}

/** A test on virtual time takes milliseconds: one that takes this long waits for what never comes. */
const boundMillis = 10_000

export const run = async (): Promise<Report> => {
  let passed = 0
  const failures: Array<string> = []
  for (const { run, title } of tests) {
    let timer: ReturnType<typeof setTimeout> | undefined
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error(`not over after ${boundMillis} ms`)), boundMillis)
    })
    try {
      await Promise.race([Promise.resolve().then(run), late])
      passed++
    } catch (error) {
      failures.push(`${title}: ${String(error)}`)
    } finally {
      clearTimeout(timer)
    }
  }
  return { passed, failures }
}
