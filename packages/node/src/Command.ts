/**
 * What to run, and how long and how much it may: a plain value, made once and run as often as you like.
 *
 * A command is a program and its arguments, handed over as they are; no shell reads them, so nothing in them needs
 * quoting. A shell is started only by `shell`, where the text is meant for one.
 */
import * as Duration from "effect/Duration"

/** A program, its arguments and the bounds it runs under. */
export interface Command {
  readonly program: string
  readonly args: ReadonlyArray<string>
  readonly cwd: string | undefined
  /** Variables the child gets besides the ones it inherits; `undefined` takes an inherited one away. */
  readonly env: { readonly [name: string]: string | undefined }
  /** Names of further variables of this process that the child inherits (see `inherited`). */
  readonly inherit: ReadonlyArray<string>
  readonly timeout: Duration.Duration | undefined
  readonly grace: Duration.Duration
  readonly drain: Duration.Duration
  readonly maxBytes: number
  readonly strays: Strays
}

/**
 * What happens to descendants that made a session of their own (daemons): they are ended with the command, or they
 * run on and are named in its residue.
 */
export type Strays = "end" | "report"

export interface Options {
  readonly cwd?: string | undefined
  readonly env?: { readonly [name: string]: string | undefined } | undefined
  readonly inherit?: ReadonlyArray<string> | undefined
  /** Time from the start to the exit of the program. Default: none. */
  readonly timeout?: Duration.Input | undefined
  /** Time between SIGTERM and SIGKILL. Default: 2 seconds, enough to remove a lock file or to tell a server. */
  readonly grace?: Duration.Input | undefined
  /**
   * How long output is read on after the program exited while something still holds its pipes open. Default: 250
   * milliseconds, enough for a filter behind the program (`> >(tee log)`) to write what it was given.
   */
  readonly drain?: Duration.Input | undefined
  /** How much of each output stream is kept. Default: 1 MiB. */
  readonly maxBytes?: number | undefined
  /** Default: `"end"`. */
  readonly strays?: Strays | undefined
}

/**
 * The variables every child inherits, besides all that begin with `LC_`: what programs need to find each other, to
 * speak the user's language and to put temporary files away. Secrets of this process are not among them.
 */
export const inherited: ReadonlyArray<string> = ["PATH", "HOME", "LANG", "TERM", "TMPDIR", "USER"]

const defaults = {
  grace: Duration.seconds(2),
  drain: Duration.millis(250),
  maxBytes: 1024 * 1024
}

/**
 * Makes a command from a program and its arguments.
 *
 * **Errors**: throws a RangeError for a bound that is none (a timeout that is not positive and finite, a negative or
 * endless grace or drain, a size that is no whole number).
 */
export const make = (program: string, args: ReadonlyArray<string> = [], options: Options = {}): Command => ({
  program,
  args,
  cwd: options.cwd,
  env: options.env ?? {},
  inherit: options.inherit ?? [],
  timeout: options.timeout === undefined ? undefined : positive("timeout", options.timeout),
  grace: options.grace === undefined ? defaults.grace : bounded("grace", options.grace),
  drain: options.drain === undefined ? defaults.drain : bounded("drain", options.drain),
  maxBytes: options.maxBytes === undefined ? defaults.maxBytes : size("maxBytes", options.maxBytes),
  strays: options.strays ?? "end"
})

/** Makes a command from a text for `/bin/sh`; on Windows, for `cmd.exe`. */
export const shell = (script: string, options: Options = {}): Command =>
  process.platform === "win32"
    ? make("cmd.exe", ["/d", "/s", "/c", script], options)
    : make("/bin/sh", ["-c", script], options)

const bounded = (name: string, input: Duration.Input): Duration.Duration => {
  const duration = Duration.fromInputUnsafe(input)
  const millis = Duration.toMillis(duration)
  // `Duration` takes a number that is none for zero. Beyond 2^31-1 ms Node's timers fire at once.
  if ((typeof input === "number" && !(input >= 0)) || millis > 2 ** 31 - 1) {
    throw new RangeError(`${name} must be between 0 and 2^31-1 ms, and is ${Duration.format(duration)}`)
  }
  return duration
}

const positive = (name: string, input: Duration.Input): Duration.Duration => {
  const duration = bounded(name, input)
  if (Duration.toMillis(duration) === 0) throw new RangeError(`${name} must be more than 0 ms`)
  return duration
}

const size = (name: string, bytes: number): number => {
  if (!Number.isSafeInteger(bytes) || bytes < 0) {
    throw new RangeError(`${name} must be a whole number of bytes: ${bytes}`)
  }
  return bytes
}
