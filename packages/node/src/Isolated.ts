/**
 * Tools whose body runs somewhere it can be ended, whatever it does.
 *
 * A body that ignores its signal, loops for ever or blocks cannot be stopped by anybody it shares a thread with. Here it
 * is a function that a module exports, and each call runs it in an isolate of its own: a thread (`worker`), which can be
 * ended whatever JavaScript does in it, or a process (`process`), which can be ended also while a native call blocks
 * it. Arguments and results cross as JSON, in the form the tool's schemas encode them to.
 */
import * as Tool from "@quiesce/core/Tool"
import type * as ToolCall from "@quiesce/core/ToolCall"
import type * as ToolResult from "@quiesce/core/ToolResult"
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Isolate from "./internal/isolate/isolate.ts"
import * as ProcessIsolate from "./internal/isolate/process.ts"
import * as WorkerIsolate from "./internal/isolate/worker.ts"
import type { TaskFailed } from "./TaskFailed.ts"

/**
 * Where a body runs: in a thread, or in a process. The memory of a process can be bounded (in MiB; default: what Node
 * gives it); a thread that allocates without end takes the whole process with it.
 */
export type Place =
  | { readonly isolate: "worker"; readonly memory?: never }
  | { readonly isolate: "process"; readonly memory?: number | undefined }

/**
 * A function that is a tool's body: what it is given and gives is JSON, as the tool's schemas encode it.
 *
 * `signal` aborts when the call is cancelled; the function then has the tool's `grace` to end by itself.
 */
export type Body<Parameters, Success> = (
  parameters: Parameters,
  context: { readonly signal: AbortSignal; readonly progress: (progress: ToolCall.Progress) => void }
) => Success | PromiseLike<Success>

/** A codec that needs no services, since the isolate has none. */
export type Codec = Schema.Codec<any, any>

export interface Definition<P extends Codec, S extends Codec> {
  readonly description: string
  readonly parameters: P
  readonly success: S
  /** The module that exports the body, as a URL: `new URL("./body.js", import.meta.url)`. */
  readonly module: URL
  /** The name it is exported by. Default: `"default"`. */
  readonly name?: string | undefined
  /** How long a body that is asked to stop may take, before its isolate is ended. Default: 500 milliseconds. */
  readonly grace?: Duration.Input | undefined
  /** Names of variables of this process that the body sees besides the short list of `Command.inherited`. */
  readonly inherit?: ReadonlyArray<string> | undefined
  readonly timeout?: Duration.Input | undefined
  readonly mode?: Tool.Mode | undefined
  readonly render?: ((value: S["Type"]) => ReadonlyArray<ToolResult.Content>) | undefined
}

export type Options<P extends Codec, S extends Codec> = Definition<P, S> & Place

/** What the body threw, under the name it gave it. */
export class Thrown extends Data.Error<{
  readonly name: string
  readonly message: string
  readonly code?: string
  readonly stack?: string
}> {}

const defaultGrace = Duration.millis(500)

/**
 * How long a call may take to be quiet once it is cancelled, whatever its body does, on a machine that is not
 * overloaded: the grace, and what it takes to end the isolate.
 */
export const bound = (
  options: { readonly isolate: Place["isolate"]; readonly grace?: Duration.Input | undefined }
): Duration.Duration => Duration.sum(Duration.fromInputUnsafe(options.grace ?? defaultGrace), ends[options.isolate])

/** The part of the bound that is ours; what was measured is far below it (see the guide). */
const ends: { readonly [K in Place["isolate"]]: Duration.Duration } = {
  worker: Duration.millis(500),
  process: Duration.sum(ProcessIsolate.endGrace, Duration.millis(750))
}

/**
 * Makes a tool from a body in a module.
 *
 * **Errors**: of a call: what the body threw, under its own name; `TaskFailed` when the isolate crashed, ran out of
 * memory, could not load the body, or the body gave no JSON. A crash is that call's failure only.
 *
 * **Interruption**: asks the body to stop, ends its isolate after the grace, and waits until it has ended (`bound`). What
 * of a process may be alive then is the call's residue.
 */
export const make = <const Name extends string, P extends Codec, S extends Codec>(
  name: Name,
  options: Options<P, S>
): Tool.Tool<Name, { readonly parameters: P; readonly success: S; readonly failure: typeof Schema.Never }> => {
  const { description, mode, parameters, render, success, timeout } = options
  // As JSON also what a schema encodes to something else (a Date, a bigint): a thread would get it as it is.
  const encode = Schema.encodeEffect(Schema.toCodecJson(parameters))
  const decode = Schema.decodeUnknownEffect(Schema.toCodecJson(success))
  return Tool.make(name, {
    description,
    parameters,
    success,
    timeout,
    mode,
    render,
    execute: (input: P["Type"], call) =>
      Effect.orDie(encode(input)).pipe(
        Effect.flatMap((encoded) => runIn(options, encoded, call)),
        // What is no success goes on as it is: the registry says of it where it is wrong, as of any body's.
        Effect.flatMap((output) => Effect.orElseSucceed(decode(output), () => output as S["Type"]))
      )
  })
}

const runIn = (
  options: Options<any, any>,
  input: unknown,
  call: ToolCall.Running
): Effect.Effect<unknown, TaskFailed | Thrown> =>
  Effect.uninterruptibleMask((restore) =>
    isolateFor(options, call).pipe(
      Effect.flatMap((isolate) =>
        Isolate.run(isolate, {
          module: options.module.href,
          name: options.name ?? "default",
          input,
          grace: Duration.fromInputUnsafe(options.grace ?? defaultGrace),
          onProgress: call.progress
        })
      ),
      Effect.scoped,
      restore,
      Effect.mapError((error) => asThrown(error._tag === "NotStarted" ? error.failure : error))
    )
  )

const isolateFor = ({ inherit = [], isolate, memory }: Options<any, any>, call: ToolCall.Running) => {
  switch (isolate) {
    case "worker":
      return WorkerIsolate.make({ inherit })
    case "process":
      return ProcessIsolate.make({ memory, inherit, onResidue: call.declareResidue })
  }
}

/** What the body threw by itself keeps its name and its code, as if it had been thrown here. */
const asThrown = (failure: TaskFailed): TaskFailed | Thrown =>
  failure.reason === "Threw" ? new Thrown(failure.thrown) : failure
