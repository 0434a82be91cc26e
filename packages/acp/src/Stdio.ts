/**
 * A program that speaks the protocol over its standard input and output: what an editor starts.
 */
import * as Abortable from "@quiesce/core/Abortable"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import type * as Scope from "effect/Scope"
import type * as Connection from "./Connection.ts"
import * as Transport from "./Transport.ts"

/** The output is the wire: what is logged goes to the standard error. */
const logs = Logger.layer([Logger.withConsoleError(Logger.formatLogFmt)])

/** The ways in which a process is asked to end: by a key, by another process, by the terminal that goes away. */
const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const

/**
 * Runs `connect` over standard input and output, until the client hangs up or the process is asked to end (`SIGINT`,
 * `SIGTERM`, `SIGHUP`). Then every request is cancelled and waited for, and the process may end: its exit code is 0, or 1
 * where the wire was torn. It ends at once where the client does not read what was written, which would keep it.
 */
export const run = async <P>(
  connect: Effect.Effect<Connection.Connection<P>, never, Transport.Transport | Scope.Scope>
): Promise<void> => {
  const stop = new AbortController()
  const asked = () => stop.abort()
  for (const signal of signals) process.on(signal, asked)
  const served = connect.pipe(
    Effect.flatMap(({ closed }) => closed),
    Effect.scoped,
    Effect.provide(Layer.merge(Transport.layerStdio, logs))
  )
  try {
    const exit = await Effect.runPromiseExit(Abortable.interruptOn(served, stop.signal))
    if (Exit.isSuccess(exit)) {
      if (exit.value._tag === "Failed") throw exit.value.error
    } else if (!Cause.hasInterruptsOnly(exit.cause)) throw Cause.squash(exit.cause)
  } catch (error) {
    console.error(error)
    process.exitCode = 1
  } finally {
    for (const signal of signals) process.off(signal, asked)
    // The grace of the connection is over, and what is left in the pipe can be neither taken back nor let go.
    if (process.stdout.writableLength > 0) process.exit()
  }
}
