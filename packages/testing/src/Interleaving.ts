/**
 * An interleaving as a value: in words for people, and as a short string that replays it.
 *
 * The string holds the bounds on preemptions and timers, the way taken at every decision, and a checksum of the decisions
 * there were: `p1t3:0C2!k3f9`. A way is one digit (base 36), a run of three or more first ways one capital letter, and the first ways at
 * the end are left out. The checksum tells a program that no longer offers the same decisions from one that behaves
 * differently under them.
 */
import * as Data from "effect/Data"
import * as Result from "effect/Result"
import type { Path } from "./internal/choices.ts"

/** One order of the steps of a program. */
export interface Interleaving {
  /** The steps, in order: a fiber by its path or name, an outside action by its label, a timer by its time. */
  readonly words: ReadonlyArray<string>
  /** Give it to `Explore.replay` with the program it was found in. */
  readonly replay: string
  /** How many times a running fiber was preempted. */
  readonly preemptions: number
}

/** The decisions behind a replay string. */
export interface Decisions {
  readonly preemptions: number
  readonly timers: number
  readonly picks: ReadonlyArray<number>
  readonly checksum: string
}

/** The string is not one that `encode` made. */
export class MalformedReplay extends Data.TaggedError("MalformedReplay")<{ readonly replay: string }> {
  override readonly message = `"${this.replay}" is no replay string: it has the form p1t3:0C2!k3f9`
}

/** Renders an interleaving in words: `f0 > ABORT > settle`. */
export const format = (interleaving: Interleaving): string => interleaving.words.join(" > ")

/** Writes decisions as a replay string. */
export const encode = (bounds: { readonly preemptions: number; readonly timers: number }, path: Path): string => {
  let picks = ""
  let last = path.picks.length
  while (last > 0 && path.picks[last - 1] === 0) last--
  for (let i = 0; i < last;) {
    let zeros = 0
    while (i + zeros < last && path.picks[i + zeros] === 0 && zeros < longestRun) zeros++
    if (zeros >= shortestRun) {
      picks += String.fromCharCode(letterA + zeros - shortestRun)
      i += zeros
    } else picks += digits(path.picks[i++]!)
  }
  return `p${bounds.preemptions}t${bounds.timers}:${picks}!${checksum(path)}`
}

/** Reads a replay string, whatever white space was copied with it. */
export const decode = (replay: string): Result.Result<Decisions, MalformedReplay> => {
  const match = /^\s*p(\d{1,9})t(\d{1,9}):((?:[0-9a-zA-Z]|_[0-9a-z]{3})*)!([0-9a-z]{4})\s*$/.exec(replay)
  if (match === null) return Result.fail(new MalformedReplay({ replay }))
  const picks: Array<number> = []
  for (const [token] of match[3]!.matchAll(/_...|./g)) {
    if (token >= "A" && token <= "Z") {
      for (let zeros = token.charCodeAt(0) - letterA + shortestRun; zeros > 0; zeros--) picks.push(0)
    } else picks.push(Number.parseInt(token.replace("_", ""), 36))
  }
  return Result.succeed({ preemptions: Number(match[1]), timers: Number(match[2]), picks, checksum: match[4]! })
}

/** Folds which decisions there were, not which ways were taken. */
export const checksum = (path: Path): string => {
  let hash = 0x811c9dc5
  for (let i = 0; i < path.kinds.length; i++) {
    hash = Math.imul(hash ^ path.kinds[i]!.charCodeAt(0), 0x01000193)
    hash = Math.imul(hash ^ path.counts[i]!, 0x01000193)
  }
  return ((hash >>> 0) % 36 ** 4).toString(36).padStart(4, "0")
}

// Two zeros are no longer than the letter that would stand for them.
const shortestRun = 3
const longestRun = shortestRun + 25
const letterA = "A".charCodeAt(0)

/** One digit, or three behind an underscore: far more ways than any run has steps. */
const digits = (pick: number): string => pick < 36 ? pick.toString(36) : `_${pick.toString(36).padStart(3, "0")}`
