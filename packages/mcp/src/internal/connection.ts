/**
 * The guard between a wire and the SDK: a transport around a transport, which the SDK's server takes for the wire.
 *
 * Requests pass inwards under keys of the in-flight table and what is said about them passes outwards under their own
 * ids. So whatever the SDK, or a handler of somebody else, does with a request that is over, the client sees nothing of
 * it: no answer, no progress, no question.
 *
 * Requests of a client that does not read what it has asked for are held back: they are in flight, so that they can be
 * cancelled, and the SDK sees them one by one as the client reads again.
 */
import type { JSONRPCMessage, Transport, TransportSendOptions } from "@modelcontextprotocol/server"
import * as Abortable from "@quiesce/core/Abortable"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { AsyncLocalStorage } from "node:async_hooks"
import * as Cancelled from "../Cancelled.ts"
import type { Flow } from "./flow.ts"
import { type Entry, InFlight } from "./inFlight.ts"
import * as Message from "./message.ts"
import * as Results from "./results.ts"

type Receive = NonNullable<Transport["onmessage"]>

export interface Options {
  /** Told of each request that was taken up, before anybody else: it can be cancelled here. */
  readonly arrived?: ((entry: Entry) => void) | undefined
  /** Told of each request that is over for its client: answered, or cancelled. */
  readonly over?: ((entry: Entry) => void) | undefined
}

/**
 * The request that a handler was started for. What it asks its client without naming that request is about it all the same:
 * over HTTP it goes where the client listens, and after a cancel nowhere.
 */
const handling = new AsyncLocalStorage<{ readonly connection: Connection; readonly entry: Entry }>()

export class Connection implements Transport {
  readonly inFlight = new InFlight()
  /** Resolves when the wire has ended, from whichever side. */
  readonly ended: Promise<void>
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: Receive
  readonly #wire: Transport & Partial<Flow>
  readonly #arrived: (entry: Entry) => void
  readonly #over: (entry: Entry) => void
  /** How the requests that are held back go on, in their order. */
  readonly #held = new Map<Entry, () => void>()
  #releasing = false
  #end!: () => void

  constructor(wire: Transport & Partial<Flow>, { arrived = () => undefined, over = () => undefined }: Options = {}) {
    this.#wire = wire
    this.#arrived = arrived
    this.#over = over
    this.ended = new Promise((resolve) => this.#end = resolve)
  }

  get sessionId(): string | undefined {
    return this.#wire.sessionId
  }

  setProtocolVersion(version: string): void {
    this.#wire.setProtocolVersion?.(version)
  }

  setSupportedProtocolVersions(versions: Array<string>): void {
    this.#wire.setSupportedProtocolVersions?.(versions)
  }

  start(): Promise<void> {
    this.#wire.onmessage = (message, extra) => this.#receive(message, extra)
    this.#wire.onerror = (error) => this.onerror?.(error)
    if (this.#wire.holding !== undefined) this.#wire.onroom = () => this.#release()
    this.#wire.onclose = () => {
      this.inFlight.close(Cancelled.connectionClosed())
      this.#held.clear()
      this.#end()
      this.onclose?.()
    }
    return this.#wire.start()
  }

  /** Cancels everything for `cause`, and then closes the wire. Who waits for quiescence asks `inFlight`. */
  shut(cause: unknown): Promise<void> {
    this.inFlight.close(cause)
    return this.close()
  }

  close(): Promise<void> {
    return this.#wire.close()
  }

  /** Cancels a request, and tells the SDK, whose other handlers listen to it. */
  cancel(id: unknown, cause: unknown): void {
    const entry = this.inFlight.cancel(id, cause)
    if (entry === undefined) return
    this.#over(entry)
    // What is held back nobody else knows of.
    if (this.#held.delete(entry)) return this.#settle()
    this.onmessage?.({
      jsonrpc: "2.0",
      method: "notifications/cancelled",
      params: { requestId: entry.key, ...(cause instanceof Error ? { reason: cause.message } : {}) }
    })
  }

  #receive(message: JSONRPCMessage, extra: Parameters<Receive>[1]): void {
    if (this.inFlight.closed) return
    if (Message.isRequest(message)) {
      const entry = this.inFlight.accept(message)
      if (entry === undefined) return this.#refuse(message.id)
      this.#arrived(entry)
      if (entry.cancelled) return
      const pass = () =>
        handling.run(
          { connection: this, entry },
          () => this.onmessage?.({ ...message, id: entry.key } as JSONRPCMessage, extra)
        )
      // Behind one that waits also what could go: requests are taken up in their order.
      return this.#held.size > 0 || this.#wire.full === true ? this.#hold(entry, pass) : pass()
    }
    if (Message.isNotification(message) && message.method === "notifications/cancelled") {
      return this.cancel(message.params?.["requestId"], Cancelled.byClient(message.params?.["reason"]))
    }
    this.onmessage?.(message, extra)
  }

  #hold(entry: Entry, pass: () => void): void {
    this.#held.set(entry, pass)
    this.#wire.holding?.(true)
  }

  /** One in each turn of the event loop: its answer may be what makes the wire full again. */
  #release(): void {
    if (this.#releasing || this.#wire.full === true) return
    for (const [entry, pass] of this.#held) {
      this.#held.delete(entry)
      this.#releasing = true
      setImmediate(() => {
        this.#releasing = false
        this.#release()
      })
      pass()
      return this.#settle()
    }
  }

  #settle(): void {
    if (this.#held.size === 0) this.#wire.holding?.(false)
  }

  #refuse(id: Message.Id): void {
    const { code, message } = Results.duplicate()
    this.#wire.send(Message.refusal(id, code, message)).catch((error: Error) => this.onerror?.(error))
  }

  async send(message: JSONRPCMessage, options?: TransportSendOptions): Promise<void> {
    if (this.inFlight.closed) return
    if (Message.isResponse(message)) {
      // What answers no request (a parse error of the wire) is nobody's.
      if (message.id === null || message.id === undefined) return this.#wire.send(message, options)
      const entry = this.inFlight.answer(message.id)
      if (entry === undefined) return
      const answer = answerFor(entry, message)
      await this.#wire.send(entry.worked ? answer : Message.sayable(answer, entry.id), options)
      return this.#over(entry)
    }
    const related = options?.relatedRequestId ?? (Message.isRequest(message) ? this.#asker() : undefined)
    if (related !== undefined) {
      const entry = this.inFlight.live(related)
      if (entry !== undefined) return this.#wire.send(message, { ...options, relatedRequestId: entry.id })
      // A notification is not missed; who asks something would wait for an answer that cannot come.
      if (Message.isRequest(message)) throw new Error("the request that this is about is over")
      return
    }
    if (!Message.isNotification(message)) return this.#wire.send(message, options)
    const outbound = this.#translate(message)
    if (outbound !== undefined) await this.#wire.send(outbound as JSONRPCMessage, options)
  }

  /** The request that something is asked for, unless it was answered: who goes on after that speaks for itself. */
  #asker(): string | undefined {
    const asking = handling.getStore()
    if (asking?.connection !== this) return undefined
    const { cancelled, key } = asking.entry
    return cancelled || this.inFlight.live(key) !== undefined ? key : undefined
  }

  /** What a notification says about a request, under that request's own id; nothing where the request is over. */
  #translate(message: Message.Notification): Message.Notification | undefined {
    const { method, params } = message
    if (method === "notifications/progress") {
      return this.inFlight.liveByToken(params?.["progressToken"]) === undefined ? undefined : message
    }
    if (method === "notifications/cancelled") {
      // The end of a subscription that the client had asked for, or of a request that the server itself had made.
      const entry = this.inFlight.answer(params?.["requestId"])
      return entry === undefined ? message : { ...message, params: { ...params, requestId: entry.id } }
    }
    const meta = Message.meta(params)
    const subscription = meta[subscriptionId]
    if (subscription === undefined) return message
    const entry = this.inFlight.live(subscription)
    return entry === undefined
      ? undefined
      : { ...message, params: { ...params, _meta: { ...meta, [subscriptionId]: entry.id } } }
  }
}

/** A guard around `wire` until the scope closes: that cancels what is in flight, closes the wire, and waits for the calls. */
export const scoped = (wire: Transport): Effect.Effect<Connection, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => new Connection(wire)),
    (connection) =>
      Effect.andThen(
        Effect.ignore(Abortable.promise(() => connection.shut(Cancelled.serverClosed()))),
        connection.inFlight.whenQuiet
      )
  )

/** An answer under the id that it is for, also where it says that id again: at the end of a subscription. */
const answerFor = (entry: Entry, message: JSONRPCMessage): JSONRPCMessage => {
  const answer = { ...message, id: entry.id } as JSONRPCMessage & { readonly result?: Message.Request["params"] }
  const meta = Message.meta(answer.result)
  return meta[subscriptionId] === entry.key
    ? { ...answer, result: { ...answer.result, _meta: { ...meta, [subscriptionId]: entry.id } } } as JSONRPCMessage
    : answer
}

const subscriptionId = "io.modelcontextprotocol/subscriptionId"
