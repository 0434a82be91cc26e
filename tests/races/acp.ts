/** Requests of a connection, at every order of cancels, answers and ends, in both directions: each is answered once. */
import { Edge } from "@quiesce/testing"
import { Effect } from "effect"
import { Connection } from "../../packages/acp/src/internal/connection.ts"
import type { Host, RequestHandler, Router } from "../../packages/acp/src/internal/host.ts"
import type { AnyMessage } from "../../packages/acp/src/internal/message.ts"
import type { Shape } from "../../packages/acp/src/Transport.ts"
import type { Race, Subject } from "./Race.ts"

/** Finds handlers by method, at once: what the SDK does in some turns of promises. */
const router = (handlers: { readonly [method: string]: RequestHandler }) => (host: Host): Router => ({
  route: (message) => {
    if (!("id" in message)) return
    host.serve(
      message.id,
      handlers[message.method]!,
      (result) => host.answer({ jsonrpc: "2.0", id: message.id, ...result })
    )
  },
  close: () => {}
})

/** A connection whose peer is the outside world, built before the races begin, with its requests read. */
const connect = (handlers: { readonly [method: string]: RequestHandler }, ...first: ReadonlyArray<object>) =>
  Edge.setup(Effect.gen(function*() {
    const chunks: Array<Uint8Array | undefined> = []
    const sent: Array<AnyMessage> = []
    let take: (() => void) | undefined
    const transport: Shape = {
      read: Effect.callback((resume) => {
        take = () => {
          if (chunks.length === 0) return
          take = undefined
          resume(Effect.succeed(chunks.shift()))
        }
        take()
        return Effect.sync(() => take = undefined)
      }),
      write: (bytes) =>
        Effect.sync(() => {
          for (const line of new TextDecoder().decode(bytes).trim().split("\n")) sent.push(JSON.parse(line))
        }),
      close: Effect.void
    }
    const push = (chunk: Uint8Array | undefined) => {
      chunks.push(chunk)
      take?.()
    }
    const receive = (...messages: ReadonlyArray<object>) =>
      push(new TextEncoder().encode(messages.map((message) => JSON.stringify(message) + "\n").join("")))
    const connection = new Connection(yield* Effect.context<never>(), transport, router(handlers))
    receive(...first)
    for (let turn = 0; turn < 10; turn++) yield* Effect.yieldNow
    return { connection, sent, receive, hangUp: () => push(undefined) }
  }))

type World = Effect.Success<ReturnType<typeof connect>>

const request = (id: number, method: string) => ({ jsonrpc: "2.0", id, method, params: {} })
const cancel = (requestId: number) => ({ jsonrpc: "2.0", method: "$/cancel_request", params: { requestId } })
const answer = (id: number) => ({ jsonrpc: "2.0", id, result: "answer" })

/** What request 1 was answered, once, with nothing behind it; how often ours was cancelled. */
const judge = ({ connection, sent }: World, quiet: () => boolean) => {
  if (!quiet()) throw new Error("the connection has ended, and a handler has not")
  if (connection.live.length > 0) throw new Error("the connection has ended, and a request is live")
  if (connection.asking > 0) throw new Error("the connection has ended, and we still wait for an answer")
  const answers = sent.filter((message) => !("method" in message))
  if (answers.length !== 1) throw new Error(`answered ${answers.length} times`)
  if (sent.at(-1) !== answers[0]) throw new Error("something was sent after the answer")
  const cancels = sent.filter((message) => "method" in message && message.method === "$/cancel_request")
  if (cancels.length > 1) throw new Error(`cancelled ${cancels.length} times`)
  const [message] = answers as ReadonlyArray<{ readonly result?: unknown; readonly error?: { readonly code: number } }>
  return `${message?.error?.code ?? String(message?.result)}${cancels.length > 0 ? ", cancelled" : ""}`
}

/** A handler that ends when the outside world says so, and takes a while to end when it is interrupted. */
const incoming = (ending: "end of input" | "close") =>
  Effect.gen(function*() {
    let running = 0
    const handler: RequestHandler = ({ peer }) =>
      Effect.gen(function*() {
        running++
        yield* peer.notify("_update", {})
        yield* Edge.wait("the handler ends")
        return "done"
      }).pipe(
        Effect.onInterrupt(() => Effect.andThen(Effect.yieldNow, peer.notify("_update", {}))),
        Effect.ensuring(Effect.sync(() => running--))
      ) as Effect.Effect<string>
    const world = yield* connect({ _wait: handler }, request(1, "_wait"))
    yield* Edge.action("CANCEL", () => world.receive(cancel(1)))
    if (ending === "close") yield* Effect.forkChild(Effect.andThen(Edge.wait("CLOSE"), world.connection.close))
    else yield* Edge.action("END OF INPUT", world.hangUp)
    yield* world.connection.closed
    return judge(world, () => running === 0)
  })

/** A handler that asks the peer, which answers, or not, while the request is cancelled and the connection ends. */
const outgoing = (whenCancelled: "wait" | "leave") =>
  Effect.gen(function*() {
    let running = 0
    const handler: RequestHandler = ({ peer }) =>
      Effect.ensuring(
        Effect.andThen(Effect.sync(() => running++), peer.request("_question", {}, whenCancelled)),
        Effect.sync(() => running--)
      )
    const world = yield* connect({ _ask: handler }, request(1, "_ask"))
    yield* Edge.action("CANCEL", () => world.receive(cancel(1)))
    yield* Edge.action("ANSWER", () => world.receive(answer(0)))
    yield* Edge.action("END OF INPUT", world.hangUp)
    yield* world.connection.closed
    return judge(world, () => running === 0)
  })

/** A request and its cancel in one chunk, and the end: the handler does not start, and there is one answer. */
const together = Effect.gen(function*() {
  let started = 0
  const world = yield* connect({ _wait: () => Effect.sync(() => started++) })
  yield* Edge.action("REQUEST AND CANCEL", () => {
    world.receive(request(1, "_wait"), cancel(1))
    world.hangUp()
  })
  yield* world.connection.closed
  if (started > 0) throw new Error("the handler has started")
  return judge(world, () => true)
})

const race = (name: string, program: Race["program"], ...clauses: Race["clauses"]): Race => ({
  name,
  clauses,
  program,
  // With one preemption some 10,000 interleavings each: half a minute, which is not for every run of the tests.
  preemptions: { ci: 0, heavy: 1 },
  // Time is for peers that do not read: here they do, and a grace that ran out first would be the machine's fault.
  timers: 0
})

export const acp: Subject = {
  subject: "requests of a connection",
  races: [
    race("a handler that ends, its cancel, and the end of the input", incoming("end of input"), "ACP-02", "ACP-06"),
    race("a handler that ends, its cancel, and our own end", incoming("close"), "ACP-02", "ACP-06"),
    race("a question that is answered, cancelled, and cut off", outgoing("wait"), "ACP-01", "ACP-07"),
    race("a question that is answered, left, and cut off", outgoing("leave"), "ACP-01", "ACP-07"),
    race("a request that comes with its cancel", together, "ACP-10", "ACP-02")
  ]
}
