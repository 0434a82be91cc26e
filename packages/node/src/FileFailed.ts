/**
 * The error of everything done with files.
 */
import * as Schema from "effect/Schema"

/**
 * A file could not be used.
 *
 * `Outside`: the path leads out of the root. `NotAFile`, `NotADirectory`: it is something else, such as a device or a
 * pipe, which could keep a reader waiting for ever. `TooLarge`: it is larger than asked for. `NoSpace`: the disk, or
 * the user's share of it, is full.
 */
export class FileFailed extends Schema.TaggedError<FileFailed>("@quiesce/node/FileFailed")("FileFailed", {
  path: Schema.String,
  reason: Schema.Literals([
    "NotFound",
    "Outside",
    "NotPermitted",
    "NotAFile",
    "NotADirectory",
    "TooLarge",
    "NoSpace",
    "Invalid",
    "Other"
  ]),
  /** The system's own word, like `ENOENT`. */
  code: Schema.String
}) {
  override get message(): string {
    return `${this.path}: ${texts[this.reason]} (${this.code})`
  }
}

const texts = {
  NotFound: "there is no such file",
  Outside: "it is outside of the root",
  NotPermitted: "it may not be used so",
  NotAFile: "it is no file",
  NotADirectory: "it is no directory",
  TooLarge: "it is too large",
  NoSpace: "no space is left for it",
  Invalid: "it is no path",
  Other: "the system refused"
} satisfies { readonly [R in FileFailed["reason"]]: string }
