/**
 * A trial: one run of named tests in a scratch copy, and what is concluded from it.
 *
 * A red test convicts a mutant only if the test ran and found the fault. Source that does not parse, load or name its
 * variables makes every test red, so such a mutant is broken and not caught.
 */
import { Data, Schema } from "effect"

const Failure = Schema.Struct({ name: Schema.String, message: Schema.String })

const Test = Schema.Struct({
  title: Schema.String,
  state: Schema.Literals(["passed", "failed", "skipped", "pending"]),
  failures: Schema.Array(Failure)
})

/** What the process that runs the tests is asked for. */
export interface Request {
  /** The test file, relative to the root. */
  readonly file: string
  /** Parts of the titles of the tests to run. */
  readonly titles: ReadonlyArray<string>
  /** The sources written since the last request, relative to the root: what was loaded from them is stale. */
  readonly changed: ReadonlyArray<string>
}

/** What it says: once that the test file and its imports are loaded, and once how the tests ended. */
export const Message = Schema.TaggedUnion({
  Loaded: {},
  Finished: {
    tests: Schema.Array(Test),
    /** What kept a file from being loaded, or failed in a hook around several tests. */
    outside: Schema.Array(Failure),
    /** What nobody handled while the tests ran, a crash of their process among it. */
    unhandled: Schema.Array(Failure)
  }
})
export type Message = typeof Message.Type

/** Silent: it answered nothing within the bound. Died: its process ended first. */
export type Trial =
  | Extract<Message, { readonly _tag: "Finished" }>
  | { readonly _tag: "Silent"; readonly loaded: boolean; readonly bound: string }
  | { readonly _tag: "Died"; readonly loaded: boolean; readonly stderr: string }

export type Verdict = Data.TaggedEnum<{
  /** The test failed by finding the fault. */
  Caught: { readonly by: "assertion" | "error" | "timeout" | "crash"; readonly detail: string }
  /** The test passed. */
  Survived: { readonly detail: string }
  /** The trial says nothing about the test. */
  Broken: { readonly detail: string }
}>
export const Verdict = Data.taggedEnum<Verdict>()

/** What fails when the source itself is malformed; the last is how the runner calls an import that does not exist. */
const malformed = (failure: typeof Failure.Type): boolean =>
  failure.name === "SyntaxError" || failure.name === "ReferenceError" ||
  /^(Transform failed|Failed to resolve|Failed to load|Cannot find (module|package))|__vi_import_/.test(failure.message)

const show = ({ message, name }: typeof Failure.Type): string => `${name}: ${message.split("\n")[0]}`

/** Why the test named by `title` is not green in `trial`; undefined when it is. */
export const notGreen = (trial: Trial, title: string): string | undefined => {
  if (trial._tag === "Silent") return `there was no result within ${trial.bound}`
  if (trial._tag === "Died") return `the test process died: ${trial.stderr}`
  const named = trial.tests.filter((test) => test.title.includes(title))
  const [test] = named
  if (test === undefined) return [`no test has this title`, ...trial.outside.map(show)].join("; ")
  if (named.length > 1) return `${named.length} tests have this title: ${named.map((test) => test.title).join("; ")}`
  if (test.state !== "passed") return [`it ${test.state}`, ...test.failures.map(show)].join("; ")
  return undefined
}

/** Judges a mutant by the trial of its test, which was green without it. */
export const judge = (trial: Trial): Verdict => {
  switch (trial._tag) {
    case "Silent":
      return trial.loaded
        ? Verdict.Caught({ by: "timeout", detail: `still running after ${trial.bound}` })
        : Verdict.Broken({ detail: `the mutated source was not loaded within ${trial.bound}` })
    case "Died":
      return trial.loaded
        ? Verdict.Caught({ by: "crash", detail: trial.stderr })
        : Verdict.Broken({ detail: `the test process died before the test: ${trial.stderr}` })
    case "Finished": {
      const [outside] = trial.outside
      if (outside !== undefined) return Verdict.Broken({ detail: `failed outside the test: ${show(outside)}` })
      const [test] = trial.tests
      if (test === undefined || test.state === "skipped") return Verdict.Broken({ detail: "the test did not run" })
      const unhandled = trial.unhandled.map(show).join("; ")
      // A process that goes down takes the test's result with it.
      if (test.state === "pending") return Verdict.Caught({ by: "crash", detail: unhandled })
      if (test.state === "passed") {
        return Verdict.Survived({ detail: unhandled === "" ? "" : `the test passed, beside it: ${unhandled}` })
      }
      const defect = test.failures.find(malformed)
      if (defect !== undefined) return Verdict.Broken({ detail: show(defect) })
      const [first] = test.failures
      return Verdict.Caught({
        by: first?.name === "AssertionError" ? "assertion" : first?.name === "TestTimeoutError" ? "timeout" : "error",
        detail: first === undefined ? "" : show(first)
      })
    }
  }
}
