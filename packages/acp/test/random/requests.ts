/** Connections at random: whatever the peer does, each request is answered once, with nothing behind it. */
import { type AgentSide, Handler, type Peer } from "@quiesce/acp"
import { Effect, Random, type Scope } from "effect"
import { agent, cancelRequest, type Message, notification, request, result } from "../support/driver.ts"
import type { Outcome } from "./run.ts"

/** Which request it is: its id, in its parameters too, and in all that its handler sends. */
interface Marked {
  readonly mark: number
}

/** Handlers that do all a handler can: tell, ask, take their time, fail, leave things behind. */
const handlers = {
  _tell: (params: unknown, { peer }: { readonly peer: Peer.Client }) =>
    Effect.gen(function*() {
      const { mark } = params as Marked
      const tell = peer.notify("_update", { mark })
      // Left behind: it goes on when the request is over.
      yield* Effect.forkDetach(Effect.repeat(Effect.andThen(Effect.yieldNow, tell), { times: 20 }))
      yield* tell
      for (let turn = yield* Random.nextIntBetween(0, 6); turn > 0; turn--) yield* Effect.yieldNow
      return "told"
    }),
  _ask: (params: unknown, { peer }: { readonly peer: Peer.Client }) =>
    Effect.gen(function*() {
      const { mark } = params as Marked
      const options = { whenCancelled: (yield* Random.nextBoolean) ? "leave" as const : "wait" as const }
      yield* peer.request("_question", { mark }, options)
      yield* peer.notify("_update", { mark })
      return "asked"
    }),
  _wait: Handler.fromPromise((_: unknown, { signal }: { readonly signal: AbortSignal }) =>
    new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)))
  ),
  _fail: () => Effect.fail(new Error("no")),
  "session/prompt": () => Effect.onInterrupt(Effect.never, () => Effect.repeat(Effect.yieldNow, { times: 5 }))
} satisfies AgentSide.Handlers

export interface Told {
  /** The ids of the requests, in order, those with the id of another one included. */
  readonly sent: ReadonlyArray<number>
  readonly received: ReadonlyArray<Message>
}

/** A connection, and what its peer was told. */
const connection = Effect.gen(function*() {
  const { connection, driver, leave } = yield* agent(handlers)
  const methods = ["_tell", "_ask", "_wait", "_fail", "session/prompt"] as const
  const below = (limit: number) => Random.nextIntBetween(0, Math.max(limit - 1, 0))
  /** How many there were, each with an id of its own; all of them, and those with the id of another one besides. */
  let fresh = 0
  const sent: Array<number> = []
  for (let act = 0; act < 20; act++) {
    const chunk: Array<object> = []
    for (let more = yield* Random.nextIntBetween(1, 3); more > 0; more--) {
      switch (yield* below(7)) {
        case 0:
        case 1:
        case 2:
          chunk.push(
            request(fresh, methods[yield* below(methods.length)]!, { mark: fresh, sessionId: "s", prompt: [] })
          )
          sent.push(fresh++)
          break
        case 3:
          if (fresh === 0) break
          sent.push(yield* below(fresh))
          chunk.push(request(sent.at(-1)!, "_fail", {}))
          break
        case 4:
          chunk.push(cancelRequest(yield* below(fresh)))
          break
        case 5:
          chunk.push(result(yield* below(6), "answer"))
          break
        case 6:
          chunk.push(notification("session/cancel", { sessionId: "s" }))
      }
    }
    yield* driver.send(...chunk)
    for (let turn = yield* below(9); turn > 0; turn--) yield* Effect.yieldNow
  }
  yield* driver.send(...Array.from({ length: 200 }, (_, id) => result(id, "answer")))
  const closing = yield* Effect.forkScoped(connection.close)
  // What is asked meanwhile, and before that, is answered: nobody is waited for.
  while (closing.pollUnsafe() === undefined) {
    yield* Effect.yieldNow
    const open = driver.told("_question").at(-1)?.id
    if (open !== undefined) yield* driver.send(result(open as number, "answer"))
  }
  for (let turn = 0; turn < 40; turn++) yield* Effect.yieldNow
  yield* leave
  return { sent, received: driver.received }
})

/** What is wrong with what was received: nothing, if each request was answered once and in the end. */
const faultsOf = ({ received, sent }: Told): ReadonlyArray<string> => {
  const faults: Array<string> = []
  const over = new Set<unknown>()
  const cancelled = new Set<unknown>()
  const answers: Array<unknown> = []
  for (const { error, id, method, params } of received) {
    if (method === undefined) {
      answers.push(id)
      // A request with the id of a live one is refused under that id, which goes on.
      if (error?.code !== -32600) over.add(id)
    } else if (method === "$/cancel_request") {
      if (cancelled.has(params.requestId)) faults.push(`request ${params.requestId} of ours was cancelled twice`)
      cancelled.add(params.requestId)
    } else if (over.has(params.mark)) {
      faults.push(`${method} of request ${params.mark} came after its answer`)
    }
  }
  // What a connection has not read when it is closed is nobody's: the last ones, if any.
  const read = JSON.stringify(sent.slice(0, answers.length).sort())
  const told = JSON.stringify(answers.sort())
  if (read !== told) faults.push(`requests ${read} were answered by ${told}`)
  return faults
}

/** What came of one connection. */
export const requests: Effect.Effect<Outcome, never, Scope.Scope> = Effect.map(
  connection,
  (told) => ({ requests: told.sent.length, frames: told.received.length, faults: faultsOf(told) })
)
