/**
 * A connection to an MCP server that is a program: started here, spoken to through its standard streams, and over when
 * nothing that it started is left.
 */
import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client"
import * as Abortable from "@quiesce/core/Abortable"
import type { Command } from "@quiesce/node/Command"
import type { SpawnFailed } from "@quiesce/node/Outcome"
import * as Process from "@quiesce/node/Process"
import * as Frames from "@quiesce/wire/Frames"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as Message from "./internal/message.ts"

export interface Options {
  /** How long the program may take to end by itself, once its input is closed. Default: 2 seconds, as the official clients. */
  readonly exitGrace?: Duration.Input | undefined
}

/**
 * Starts the program. When the scope closes its input is closed; where that does not end it within the grace it is
 * asked to stop and then killed as `command` says, with whatever it started.
 *
 * **Errors**: `SpawnFailed`, when nothing was started.
 */
export const transport = Effect.fnUntraced(function*(
  command: Command,
  { exitGrace = "2 seconds" }: Options = {}
): Effect.fn.Return<Transport, SpawnFailed, Scope.Scope> {
  const child = yield* Process.open(command)
  const run = Abortable.runPromiseWith(yield* Effect.context<never>())
  const wire = new ChildWire(
    (text) => run(Effect.ignore(child.send(text)), { signal: never }),
    child.pid
  )
  yield* Effect.forkScoped(
    Effect.ensuring(
      Stream.runForEach(child.stdout, (bytes) => Effect.sync(() => wire.read(bytes))),
      Effect.sync(() => wire.end())
    )
  )
  // Its diagnostics are read, so that it is not held up: they belong in its own log.
  yield* Effect.forkScoped(Stream.runDrain(child.stderr))
  yield* Effect.addFinalizer(() =>
    Effect.andThen(Effect.ignore(child.endInput), Effect.ignore(Effect.timeoutOption(child.outcome, exitGrace)))
  )
  return wire
})

const never = new AbortController().signal

/** 10 MiB is what the official SDK takes, and what is nested more deeply than a message may be is no result here. */
const limits: Frames.Limits = { maxBytes: 10 * 1024 * 1024, maxDepth: Message.maxDepth }

const problems = {
  TooLong: `the answer is longer than ${limits.maxBytes} bytes`,
  TooDeep: `the answer is nested more than ${limits.maxDepth} levels deep`
}

/** A message, or what stands for an answer that is refused: whoever asked does not wait for another one. */
const messageOf = (frame: Frames.Frame): JSONRPCMessage | undefined => {
  switch (frame._tag) {
    case "Json":
      return frame.value as JSONRPCMessage
    case "NotJson":
      return undefined
    case "TooLong":
    case "TooDeep":
      return frame.kind === "answer" && Message.isId(frame.id)
        ? Message.refusal(frame.id, Message.errorCodes.invalidRequest, problems[frame._tag])
        : undefined
  }
}

class ChildWire implements Transport {
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: NonNullable<Transport["onmessage"]>
  readonly pid: number
  /** It is there so that the SDK knows a program by it, to which silence says that it is an old one. */
  readonly stderr = null
  readonly #write: (text: string) => Promise<void>
  readonly #frames = Frames.make(limits)
  /** What came before anybody listened. */
  #early: Array<JSONRPCMessage> = []
  #closed = false

  constructor(write: (text: string) => Promise<void>, pid: number) {
    this.#write = write
    this.pid = pid
  }

  async start(): Promise<void> {
    const early = this.#early
    this.#early = []
    for (const message of early) this.onmessage?.(message)
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if (!this.#closed) await this.#write(`${JSON.stringify(message)}\n`)
  }

  async close(): Promise<void> {
    this.end()
  }

  read(bytes: Uint8Array): void {
    if (this.#closed) return
    for (const frame of this.#frames.push(bytes)) this.#take(frame)
  }

  end(): void {
    if (this.#closed) return
    this.#closed = true
    this.onclose?.()
  }

  #take(frame: Frames.Frame): void {
    const message = messageOf(frame)
    if (message === undefined) {
      // What a program prints that is no message is not for us; the connection lives.
      this.onerror?.(new Error("the MCP server wrote a line that is no message"))
    } else if (this.onmessage === undefined) this.#early.push(message)
    else this.onmessage(message)
  }
}
