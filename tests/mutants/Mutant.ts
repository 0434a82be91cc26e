/**
 * A mutant: the source with one guard removed, and the test that must turn red for it.
 *
 * A test that stays green without the guard it is about proves nothing. `npm run mutants` applies each mutant to a
 * scratch copy of the repository and demands that exactly its test fails; `mutants.test.ts` keeps the list true to the
 * sources.
 */
import { Data, Result } from "effect"
import type { RequirementId } from "../conformance/requirements.ts"

export interface Mutant {
  /** What the mutant does wrong, as a sentence: "the body is abandoned when it is interrupted". */
  readonly name: string
  /** The clauses it breaks. The named test cites at least one of them. */
  readonly clause: RequirementId | ReadonlyArray<RequirementId>
  /** The mutated file, relative to the repository. */
  readonly file: string
  /** What is replaced: text that occurs exactly once in `file`. */
  readonly find: string
  /** What stands there instead. It must load and run: a mutant that does not compile proves nothing either. */
  readonly replace: string
  readonly test: {
    /** The test file, relative to the repository. */
    readonly file: string
    /** A part of the test's title that no other test of the file has. */
    readonly title: string
  }
}

/** The source no longer contains the one place that the mutant changes. */
export class SourceMoved extends Data.TaggedError("SourceMoved")<{
  readonly file: string
  readonly occurrences: number
}> {
  override get message() {
    return `its \`find\` occurs ${this.occurrences} times in ${this.file}, not once: the source moved`
  }
}

export const clausesOf = ({ clause }: Mutant): ReadonlyArray<RequirementId> =>
  typeof clause === "string" ? [clause] : clause

/** The mutated text of `source`, which is the content of the mutant's file. */
export const apply = ({ file, find, replace }: Mutant, source: string): Result.Result<string, SourceMoved> => {
  const parts = source.split(find)
  return parts.length === 2
    ? Result.succeed(parts.join(replace))
    : Result.fail(new SourceMoved({ file, occurrences: parts.length - 1 }))
}
