/**
 * Where the bytes of a connection come from and go to.
 *
 * A transport is two effects and an end, so that a process, a socket and a test are the same to a connection.
 */
import type * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Queue from "effect/Queue"

/** The other side cannot be read from, or written to. */
export class TransportFailed extends Data.TaggedError("TransportFailed")<{
  readonly operation: "read" | "write"
  readonly cause: unknown
}> {
  override get message(): string {
    return `the ${this.operation} failed: ${this.cause instanceof Error ? this.cause.message : String(this.cause)}`
  }
}

export interface Shape {
  /** The next bytes, `undefined` at the end. One reader at a time. **Interruption**: ends the wait, loses nothing. */
  readonly read: Effect.Effect<Uint8Array | undefined, TransportFailed>
  /** Writes, and waits until more can be written. One writer at a time. **Interruption**: ends the wait. */
  readonly write: (bytes: Uint8Array) => Effect.Effect<void, TransportFailed>
  /** Ends the output and lets go of the input. */
  readonly close: Effect.Effect<void>
}

export class Transport extends Context.Service<Transport, Shape>()("@quiesce/acp/Transport") {}

/** A pair of web streams. */
export interface WebStreams {
  readonly readable: ReadableStream<Uint8Array>
  readonly writable: WritableStream<Uint8Array>
}

interface Foreign {
  readonly read: () => Promise<Uint8Array | undefined>
  readonly write: (bytes: Uint8Array) => Promise<void>
  readonly close: () => void
}

/** A wait for a promise that is nobody's work: it may be left, and goes on by itself. */
const waitFor = <A>(operation: "read" | "write", promise: () => Promise<A>): Effect.Effect<A, TransportFailed> =>
  Effect.callback((resume) => {
    promise().then(
      (value) => resume(Effect.succeed(value)),
      (cause: unknown) => resume(Effect.fail(new TransportFailed({ operation, cause })))
    )
  })

const make = (foreign: Foreign): Shape => {
  // What was read for somebody who was interrupted is there for the next one.
  let reading: Promise<Uint8Array | undefined> | undefined
  return {
    read: Effect.tap(
      waitFor("read", () => reading ??= foreign.read()),
      Effect.sync(() => reading = undefined)
    ),
    write: (bytes) => waitFor("write", () => foreign.write(bytes)),
    close: Effect.sync(foreign.close)
  }
}

/** A transport over a pair of web streams, which it locks. */
export const fromWeb = ({ readable, writable }: WebStreams): Shape => {
  const reader = readable.getReader()
  const writer = writable.getWriter()
  const ignore = (promise: Promise<unknown>): void => void promise.catch(() => {})
  ignore(reader.closed)
  ignore(writer.closed)
  return make({
    read: async () => (await reader.read()).value,
    write: (bytes) => writer.write(bytes),
    // Neither is waited for: a peer that does not read, or that has gone, must not keep us.
    close: () => {
      ignore(writer.close())
      ignore(reader.cancel())
    }
  })
}

/** This process's standard input and output. Nothing else may write to the output: it is the wire. */
export const stdio: Effect.Effect<Shape> = Effect.sync(() => {
  const { stdin, stdout } = process
  const chunks = stdin[Symbol.asyncIterator]()
  // A torn pipe is told to whoever writes, and must not end the process besides.
  stdout.on("error", () => {})
  return make({
    read: async () => {
      const { done, value } = await chunks.next()
      return done === true ? undefined : value as Buffer
    },
    write: (bytes) =>
      new Promise((resolve, reject) => {
        stdout.write(bytes, (error) => error ? reject(error) : resolve())
      }),
    // The output stays open: it is the process's, and ends with it.
    close: () => stdin.destroy()
  })
})

/** Chunks on their way in one direction while nobody reads: enough for bursts, few enough for a writer to feel them. */
const capacity = 64

/** Two transports, each the other's peer. */
export const memory: Effect.Effect<readonly [Shape, Shape]> = Effect.map(
  Effect.all([Queue.bounded<Uint8Array, Cause.Done>(capacity), Queue.bounded<Uint8Array, Cause.Done>(capacity)]),
  ([left, right]) => [joined(left, right), joined(right, left)]
)

const joined = (
  input: Queue.Queue<Uint8Array, Cause.Done>,
  output: Queue.Queue<Uint8Array, Cause.Done>
): Shape => ({
  read: Effect.catch(Queue.take(input), () => Effect.succeed(undefined)),
  write: (bytes) =>
    Effect.flatMap(Queue.offer(output, bytes), (isOpen) =>
      isOpen
        ? Effect.void
        : Effect.fail(new TransportFailed({ operation: "write", cause: new Error("the other side has closed") }))),
  // What was written can still be read; what comes in finds nobody.
  close: Effect.andThen(Queue.end(output), Queue.shutdown(input))
})

export const layerStdio: Layer.Layer<Transport> = Layer.effect(Transport, stdio)

export const layerWeb = (streams: WebStreams): Layer.Layer<Transport> =>
  Layer.effect(Transport, Effect.sync(() => fromWeb(streams)))
