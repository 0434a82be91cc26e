/**
 * Serves the tools of a registry over standard input and output, to one client, in every revision of the protocol that the
 * official SDK speaks.
 *
 * The connection ends with its input, with its output, or when whoever serves it is interrupted. However it ends: what
 * is in flight is cancelled, nothing more is answered, and the server is done when its calls are quiet.
 */
import { serveStdio } from "@modelcontextprotocol/server/stdio"
import * as Abortable from "@quiesce/core/Abortable"
import type * as ToolRegistry from "@quiesce/core/ToolRegistry"
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type { Readable, Writable } from "node:stream"
import * as Cancelled from "./Cancelled.ts"
import * as Bind from "./internal/bind.ts"
import { Connection } from "./internal/connection.ts"
import * as Factory from "./internal/factory.ts"
import * as StdioWire from "./internal/stdioWire.ts"
import * as Tools from "./internal/tools.ts"
import type { ServerOptions } from "./ServerOptions.ts"

export interface Options extends ServerOptions {
  /** Default: those of this process. */
  readonly streams?: { readonly input: Readable; readonly output: Writable } | undefined
  /** The longest line, in bytes. Default: 10 MiB, what the official SDK takes. */
  readonly maxFrameBytes?: number | undefined
  /**
   * How much may be written that the client does not read, in bytes: beyond it new calls wait, which can be cancelled
   * meanwhile. Default: 16 MiB, the longest answer that the official clients take, and some beside it.
   */
  readonly maxUnreadBytes?: number | undefined
  /**
   * How long calls may take to become quiet once the connection has ended. Default: 3 seconds. The official clients kill a
   * server 4 seconds after they closed its input.
   */
  readonly exitGrace?: Duration.Input | undefined
}

/** The connection has ended, and these calls have not. */
export class NotQuiet extends Data.TaggedError("NotQuiet")<{
  readonly calls: ReadonlyArray<{ readonly callId: string; readonly name: string }>
  readonly grace: Duration.Duration
}> {
  override get message(): string {
    const calls = this.calls.map(({ callId, name }) => `${name} (${callId})`).join(", ")
    return `not quiet ${Duration.format(this.grace)} after the connection ended: ${calls}`
  }
}

/**
 * Serves until the connection ends, and the calls are quiet.
 *
 * **Errors**: `NotQuiet` when they are not within the exit grace; they go on to end.
 *
 * **Interruption**: closes the connection, and waits for the calls as above.
 */
export const serve = (options: Options): Effect.Effect<void, NotQuiet, ToolRegistry.ToolRegistry> =>
  Effect.scoped(Effect.gen(function*() {
    const grace = Duration.fromInputUnsafe(options.exitGrace ?? "3 seconds")
    const tools = yield* Tools.make(options.concurrency)
    const { input, output } = options.streams ?? { input: process.stdin, output: process.stdout }
    const { maxFrameBytes = StdioWire.defaultLimits.maxFrameBytes } = options
    const { maxUnreadBytes = StdioWire.defaultLimits.maxUnreadBytes } = options
    const limits = { ...StdioWire.defaultLimits, maxFrameBytes, maxUnreadBytes }
    const fork = Effect.runForkWith(yield* Effect.context<never>())
    const connection = new Connection(new StdioWire.StdioWire(input, output, limits, fork))
    const { inFlight } = connection

    const finish = (cause: unknown) =>
      Effect.gen(function*() {
        yield* Effect.ignore(Abortable.promise(() => connection.shut(cause)))
        const quiet = yield* Effect.timeoutOption(inFlight.whenQuiet, grace)
        if (Option.isSome(quiet)) return
        const calls = inFlight.working.map(({ callId, name }) => ({ callId, name }))
        return yield* new NotQuiet({ calls, grace })
      })

    yield* Effect.uninterruptibleMask((restore) =>
      Effect.gen(function*() {
        serveStdio(() => Factory.make(options, tools, Bind.guarded(connection)), { transport: connection })
        const exit = yield* Effect.exit(restore(Effect.callback<void>((resume) => {
          void connection.ended.then(() => resume(Effect.void))
        })))
        yield* finish(Exit.isSuccess(exit) ? Cancelled.connectionClosed() : Cancelled.serverClosed())
        return yield* exit
      })
    )
  }))

/**
 * The whole of a program that is an MCP server: serves until its client is gone or it is asked to stop (SIGTERM, SIGINT,
 * SIGHUP), waits until all is quiet, and ends the process: with code 0, or with 1 after saying on standard error what is
 * not quiet, or what went wrong.
 *
 * Standard output is the wire: what `console.log` writes is sent to standard error.
 */
export const main = <E>(options: Options, registry: Layer.Layer<ToolRegistry.ToolRegistry, E>): void => {
  Object.assign(console, { log: console.error, info: console.error, debug: console.error })
  const exit = (code: number): void => {
    // What was written last may still be on its way to a client that reads.
    process.stdout.write("", () => process.exit(code))
    // One that does not is not waited for: a client that reads takes a full pipe in far less than this.
    Effect.runFork(Effect.andThen(Effect.sleep("1 second"), Effect.sync(() => process.exit(code))))
  }
  const fail = (error: unknown) =>
    Effect.sync(() => {
      console.error(`${options.name}: ${error instanceof Error ? error.message : String(error)}`)
      // Now, and not when the registry has closed: it waits for the very calls that do not end.
      process.exit(1)
    })
  const program = Effect.provide(Effect.tapError(serve(options), fail), registry)
  const fiber = Effect.runFork(program)
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) {
    process.on(signal, () => fiber.interruptUnsafe())
  }
  fiber.addObserver((result) => {
    if (Exit.isSuccess(result) || Exit.hasInterrupts(result)) return exit(0)
    console.error(`${options.name}:`, result.cause)
    exit(1)
  })
}
