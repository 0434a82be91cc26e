/**
 * A peer that speaks bytes: it can say anything, in any chunks, and keeps what it is told.
 *
 * What it is told is held against the protocol's schema as it comes.
 */
import { AgentSide, ClientSide, type Connection, Limits, type Peer, Transport } from "@quiesce/acp"
import { Effect, Exit, Scope } from "effect"
import { TestClock } from "effect/testing"
import { faultsOf } from "./schema.ts"

export interface Message {
  readonly jsonrpc: "2.0"
  readonly id?: string | number | null
  readonly method?: string
  readonly params?: any
  readonly result?: any
  readonly error?: { readonly code: number; readonly message: string; readonly data?: any }
}

export interface Driver {
  /** Sends messages in one chunk. */
  readonly send: (...messages: ReadonlyArray<object>) => Effect.Effect<void>
  /** Sends text as it is, in one chunk. */
  readonly raw: (text: string) => Effect.Effect<void>
  /** What was received, in order. */
  readonly received: ReadonlyArray<Message>
  /** The answers to `id`. */
  readonly answers: (id: string | number | null) => ReadonlyArray<Message>
  /** Requests and notifications of `method`. */
  readonly told: (method: string) => ReadonlyArray<Message>
  /** What was wrong with what was received. */
  readonly faults: ReadonlyArray<string>
  /** Stops reading. */
  readonly deaf: Effect.Effect<void>
  /** Ends the input of the other side. */
  readonly hangUp: Effect.Effect<void>
  /** Whether the other side ended ours. */
  readonly ended: () => boolean
}

export const request = (id: string | number | null, method: string, params: object = {}): object => ({
  jsonrpc: "2.0",
  id,
  method,
  params
})

export const notification = (method: string, params: object = {}): object => ({ jsonrpc: "2.0", method, params })

export const result = (id: string | number | null, result: unknown): object => ({ jsonrpc: "2.0", id, result })

export const error = (id: string | number | null, code: number, message: string): object => ({
  jsonrpc: "2.0",
  id,
  error: { code, message }
})

export const cancelRequest = (requestId: unknown): object => notification("$/cancel_request", { requestId })

/** Lets every fiber and promise go on until it waits: more turns than any chain of wake-ups in these tests is long. */
export const settled: Effect.Effect<void> = Effect.repeat(Effect.yieldNow, { times: 300 })

/** Lets them go on until `holds`. What never comes is a failure, and not a wait. */
export const until = (what: string, holds: () => boolean): Effect.Effect<void> =>
  Effect.gen(function*() {
    for (let turn = 0; !holds(); turn++) {
      if (turn > 10_000) return yield* Effect.die(new Error(`it did not come to this: ${what}`))
      yield* Effect.yieldNow
    }
  })

export const drive = Effect.fnUntraced(function*(transport: Transport.Shape, deaf: Effect.Effect<void>) {
  const received: Array<Message> = []
  const faults: Array<string> = []
  const asked = new Map<unknown, string>()
  let hasEnded = false
  let text = ""
  const decoder = new TextDecoder()
  const hear = (line: string): void => {
    const message = JSON.parse(line) as Message
    received.push(message)
    faults.push(...faultsOf(message as never, (id) => asked.get(id)))
  }
  const listen = Effect.gen(function*() {
    while (true) {
      const chunk = yield* transport.read
      if (chunk === undefined) break
      text += decoder.decode(chunk, { stream: true })
      const lines = text.split("\n")
      text = lines.pop()!
      lines.forEach(hear)
    }
    hasEnded = true
  })
  yield* Effect.forkScoped(listen)
  const raw = (text: string) => Effect.ignore(transport.write(new TextEncoder().encode(text)))
  const driver: Driver = {
    send: (...messages) => {
      for (const message of messages as ReadonlyArray<Message>) {
        if (message.id !== undefined && message.method !== undefined) asked.set(message.id, message.method)
      }
      return raw(messages.map((message) => JSON.stringify(message) + "\n").join(""))
    },
    raw,
    received,
    answers: (id) => received.filter((message) => message.method === undefined && message.id === id),
    told: (method) => received.filter((message) => message.method === method),
    faults,
    deaf,
    hangUp: transport.close,
    ended: () => hasEnded
  }
  return driver
})

export interface Setup<P> {
  readonly driver: Driver
  readonly connection: Connection.Connection<P>
  /** Closes the scope of the connection. */
  readonly leave: Effect.Effect<void>
}

export const connected = <P, R>(
  connect: Effect.Effect<Connection.Connection<P>, never, R>,
  limits: Partial<Limits.Limits>
) =>
  Effect.gen(function*() {
    // TestClock's warning about time that nobody moves has the first sleep of a test pass through an interruptible window,
    // which would cut a clean-up short that sleeps. A clock that was moved does not warn.
    yield* TestClock.adjust(0)
    const [ours, theirs] = yield* Transport.memory
    let isDeaf = false
    const driver = yield* drive(theirs, Effect.sync(() => void (isDeaf = true)))
    const scope = yield* Scope.make()
    // The driver hangs up first: it answers nothing any more, and nobody is to wait for that.
    yield* Effect.addFinalizer(() => Effect.andThen(theirs.close, Scope.close(scope, Exit.void)))
    // Whatever a test is about: what is sent is what the protocol's schema says.
    yield* Effect.addFinalizer(() =>
      driver.faults.length === 0 ? Effect.void : Effect.die(new Error(`by the schema: ${driver.faults.join(", ")}`))
    )
    const connection = yield* connect.pipe(
      Effect.provideService(Transport.Transport, {
        ...ours,
        write: (bytes) => isDeaf ? Effect.never : ours.write(bytes)
      }),
      Effect.provideService(Scope.Scope, scope),
      Effect.provide(Limits.layer(limits))
    )
    const setup: Setup<P> = { driver, connection, leave: Scope.close(scope, Exit.void) }
    return setup
  })

/** An agent with these handlers, and a raw client. */
export const agent = <const H extends AgentSide.Handlers, const L extends AgentSide.Listeners>(
  handlers: H,
  listeners: L = {} as L,
  limits: Partial<Limits.Limits> = {}
) => connected<Peer.Client, Transport.Transport | Scope.Scope>(AgentSide.connect(handlers, listeners) as never, limits)

/** A client with these handlers, and a raw agent. */
export const client = <const H extends ClientSide.Handlers, const L extends ClientSide.Listeners>(
  handlers: H,
  listeners: L = {} as L,
  limits: Partial<Limits.Limits> = {}
) => connected<Peer.Agent, Transport.Transport | Scope.Scope>(ClientSide.connect(handlers, listeners) as never, limits)
