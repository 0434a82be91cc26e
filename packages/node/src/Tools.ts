/**
 * Ready tools for a model that works on a machine: run a command, read, write and list files, fetch a page.
 *
 * Files are those beneath one root (`Files.layer`), commands start in it, and requests go where `Http.Destinations`
 * lets them. What changes something or leaves the machine is asked about first: `layer` has the policy that says so,
 * and where nobody can be asked (the default of a registry) the answer is no.
 */
import * as Policy from "@quiesce/core/Policy"
import * as Tool from "@quiesce/core/Tool"
import type * as ToolCall from "@quiesce/core/ToolCall"
import * as ToolRegistry from "@quiesce/core/ToolRegistry"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as Command from "./Command.ts"
import { FileFailed } from "./FileFailed.ts"
import * as Files from "./Files.ts"
import * as Http from "./Http.ts"
import { HttpFailed } from "./HttpFailed.ts"
import * as Utf8 from "./internal/utf8.ts"
import * as Outcome from "./Outcome.ts"
import * as Output from "./Output.ts"
import * as Process from "./Process.ts"

/** What of a text a model is given: as much as it can use, and far less than it can be sent. */
const shownBytes = 64 * 1024

const bytes = (maximum: number) => Schema.Int.check(Schema.isBetween({ minimum: 0, maximum }))

const CommandResult = Schema.Struct({
  outcome: Schema.Literals(["Exited", "Signalled", "TimedOut", "Cancelled"]),
  code: Schema.optionalKey(Schema.Number),
  signal: Schema.optionalKey(Schema.String),
  stdout: Schema.String,
  stderr: Schema.String,
  /** How many processes it left, which were ended. */
  swept: Schema.Number
})

/** The time a model's command gets unless it asks for more, and the most it can ask for. */
const commandTimeout = { default: Duration.minutes(2), max: Duration.minutes(30) }

/**
 * Runs a program. Whatever it ends with is a success that says so; only a program that cannot be started is a failure.
 *
 * **Interruption**: the command and whatever it started is ended. What it wrote by then is a context of the result,
 * and what may be alive its residue.
 */
export const runCommand = Tool.make("run_command", {
  description: "Runs a program and returns its exit code and output. No shell reads the arguments; " +
    "for a shell, run /bin/sh with the arguments -c and the script.",
  parameters: Schema.Struct({
    program: Schema.String,
    args: Schema.optionalKey(Schema.Array(Schema.String)),
    directory: Schema.optionalKey(Schema.String),
    stdin: Schema.optionalKey(Schema.String),
    timeoutMillis: Schema.optionalKey(
      Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: Duration.toMillis(commandTimeout.max) }))
    )
  }),
  success: CommandResult,
  failure: Schema.Union([Outcome.SpawnFailed, FileFailed]),
  // Its own timeout comes first, and then there is output to show; this one is for what keeps the outcome waiting.
  timeout: Duration.sum(commandTimeout.max, Duration.minutes(1)),
  execute: Effect.fnUntraced(function*({ args, directory = ".", program, stdin, timeoutMillis }, call) {
    const command = Command.make(program, args, {
      cwd: yield* (yield* Files.Files).directory(directory),
      timeout: timeoutMillis ?? commandTimeout.default,
      maxBytes: shownBytes
    })
    const outcome = yield* Process.run(command, {
      stdin: stdin === undefined ? undefined : { text: stdin },
      onOutput: reporting(call, yield* Clock.Clock),
      onOutcome: (outcome) =>
        Effect.sync(() => {
          outcome.residue.forEach(call.declareResidue)
          if (outcome._tag === "Cancelled") call.deferContext({ run_command: toResult(outcome) })
        })
    })
    return outcome._tag === "SpawnFailed" ? yield* outcome.error : toResult(outcome)
  })
})

const toResult = (outcome: Outcome.Ran): typeof CommandResult.Type => {
  const exit = outcome._tag === "TimedOut" || outcome._tag === "Cancelled" ? outcome.exit : undefined
  const code = outcome._tag === "Exited" ? outcome.code : exit?._tag === "Code" ? exit.code : undefined
  const signal = outcome._tag === "Signalled" ? outcome.signal : exit?._tag === "Signal" ? exit.signal : undefined
  return {
    outcome: outcome._tag,
    ...(code === undefined ? {} : { code }),
    ...(signal === undefined ? {} : { signal }),
    stdout: Output.toText(outcome.stdout),
    stderr: Output.toText(outcome.stderr),
    swept: outcome.swept
  }
}

/** A person sees no more than some changes per second, and every report starts the observers. */
const reportEveryMillis = 100

/** Reports how much a command has written, and the last line of it. */
const reporting = (call: ToolCall.Running, clock: Clock.Clock) => {
  let written = 0
  let reported = Number.NEGATIVE_INFINITY
  return ({ bytes }: Process.Chunk) =>
    Effect.sync(() => {
      written += bytes.length
      const now = clock.currentTimeMillisUnsafe()
      if (now - reported < reportEveryMillis) return
      reported = now
      const message = new TextDecoder().decode(bytes.subarray(-200)).trimEnd().split("\n").at(-1)
      call.progress(message ? { progress: written, message } : { progress: written })
    })
}

/** Reads a part of a text file. */
export const readFile = Tool.make("read_file", {
  description: "Reads a text file. A long file is read in parts: `from` is where to begin, in bytes.",
  parameters: Schema.Struct({
    path: Schema.String,
    from: Schema.optionalKey(bytes(Number.MAX_SAFE_INTEGER)),
    maxBytes: Schema.optionalKey(bytes(shownBytes * 4))
  }),
  success: Schema.Struct({
    text: Schema.String,
    /** How large the whole file is, in bytes. */
    size: Schema.Number,
    /** Where the next part begins; absent at the end. */
    next: Schema.optionalKey(Schema.Number)
  }),
  failure: FileFailed,
  timeout: "30 seconds",
  render: ({ next, size, text }) => [
    { type: "text", text: next === undefined ? text : `${text}\n[${size - next} bytes follow, from ${next}]` }
  ],
  execute: Effect.fnUntraced(function*({ from = 0, maxBytes = shownBytes, path }) {
    const { bytes, size } = yield* (yield* Files.Files).readSlice(path, from, maxBytes)
    // A character that the end of a part goes through begins the next one, unless the part is that character.
    const whole = from + bytes.length < size ? Utf8.wholeEnd(bytes) || bytes.length : bytes.length
    const next = from + whole
    const text = new TextDecoder().decode(bytes.subarray(0, whole))
    return { text, size, ...(next < size && whole > 0 ? { next } : {}) }
  })
})

/** Writes a whole text file, or nothing of it. */
export const writeFile = Tool.make("write_file", {
  description: "Writes a text file, replacing it if it is there. The file is written whole or not at all.",
  parameters: Schema.Struct({ path: Schema.String, content: Schema.String }),
  success: Schema.Struct({ bytes: Schema.Number }),
  failure: FileFailed,
  timeout: "30 seconds",
  execute: Effect.fnUntraced(function*({ content, path }) {
    const bytes = new TextEncoder().encode(content)
    yield* (yield* Files.Files).write(path, bytes)
    return { bytes: bytes.length }
  })
})

/** How many entries a model is shown. */
const shownEntries = 1000

/** Lists what is in a directory, or in everything beneath it. */
export const listFiles = Tool.make("list_files", {
  description: "Lists the files in a directory, or with `deep` in everything beneath it.",
  parameters: Schema.Struct({
    path: Schema.optionalKey(Schema.String),
    deep: Schema.optionalKey(Schema.Boolean)
  }),
  success: Schema.Struct({
    entries: Schema.Array(Schema.Struct({
      path: Schema.String,
      kind: Schema.Literals(["file", "directory", "link", "other"])
    })),
    /** False where there are more than are listed. */
    complete: Schema.Boolean
  }),
  failure: FileFailed,
  timeout: "30 seconds",
  execute: Effect.fnUntraced(function*({ deep = false, path = "." }) {
    const files = yield* Files.Files
    const found = yield* Stream.runCollect(Stream.take(deep ? files.walk(path) : files.list(path), shownEntries + 1))
    return { entries: found.slice(0, shownEntries), complete: found.length <= shownEntries }
  })
})

/** What of a page: twice as much, since half of a page is markup. */
const shownPageBytes = 2 * shownBytes

/** Fetches a page as text. */
export const httpGet = Tool.make("http_get", {
  description: "Fetches a URL with GET and returns the status and the body as text.",
  parameters: Schema.Struct({ url: Schema.String }),
  success: Schema.Struct({
    /** Where the redirects led. */
    url: Schema.String,
    status: Schema.Number,
    contentType: Schema.optionalKey(Schema.String),
    text: Schema.String,
    /** False where the page goes on behind the text. */
    complete: Schema.Boolean
  }),
  failure: HttpFailed,
  timeout: "1 minute",
  execute: Effect.fnUntraced(function*({ url }) {
    const { body, headers, status, url: last } = yield* Http.open({ url, maxBytes: Number.MAX_SAFE_INTEGER })
    const pieces: Array<Uint8Array> = []
    let size = 0
    // Once there is more than is shown, the rest is not waited for: the connection is closed with the call.
    yield* body.pipe(
      Stream.tap((piece) =>
        Effect.sync(() => {
          pieces.push(piece)
          size += piece.length
        })
      ),
      Stream.takeUntil(() => size > shownPageBytes),
      Stream.runDrain
    )
    const complete = size <= shownPageBytes
    const shown = Buffer.concat(pieces).subarray(0, shownPageBytes)
    const contentType = headers["content-type"]
    return {
      url: last.href,
      status,
      ...(contentType === undefined ? {} : { contentType }),
      text: new TextDecoder().decode(complete ? shown : shown.subarray(0, Utf8.wholeEnd(shown))),
      complete
    }
  }, Effect.scoped)
})

/** All of them. */
export const all = [runCommand, readFile, writeFile, listFiles, httpGet] as const

/** Asks about what changes something or leaves the machine: `run_command`, `write_file` and `http_get`. */
export const policy: Policy.Policy = {
  pre: (call) => Effect.succeed(questions.has(call.name) ? Policy.ask(questions.get(call.name)) : Policy.allow)
}

const questions: ReadonlyMap<string, string> = new Map([
  [runCommand.name, "a command can do whatever the user can"],
  [writeFile.name, "a file is about to be written"],
  [httpGet.name, "a request tells somebody else what it asks for"]
])

/**
 * A registry with all of them and their policy.
 *
 * An approval channel is provided to it (`Layer.provide(Approval.layerQueue)`); without one, what is asked about is
 * denied.
 */
export const layer: Layer.Layer<ToolRegistry.ToolRegistry, ToolRegistry.DuplicateTool, Files.Files> = Layer.provide(
  ToolRegistry.layer(all),
  Policy.layer(policy)
)
