/** Connections at random: whatever the peer does, each request is answered once, with nothing behind it. */
import { type AgentSide, Handler, type Peer } from "@quiesce/acp"
import { Effect, Random } from "effect"
import { agent, cancelRequest, type Message, notification, request, result } from "../support/driver.ts"

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
  /** How many requests there were, those with the id of another one included. */
  readonly sent: number
  readonly received: ReadonlyArray<Message>
}

/** A connection, and what its peer was told. */
const connection = Effect.gen(function*() {
  const { connection, driver, leave } = yield* agent(handlers)
  const methods = ["_tell", "_ask", "_wait", "_fail", "session/prompt"] as const
  const below = (limit: number) => Random.nextIntBetween(0, Math.max(limit - 1, 0))
  /** How many there were, each with an id of its own, and how many had the id of another one besides. */
  let fresh = 0
  let sent = 0
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
          fresh++
          sent++
          break
        case 3:
          if (fresh === 0) break
          chunk.push(request(yield* below(fresh), "_fail", {}))
          sent++
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
  let answers = 0
  for (const { error, id, method, params } of received) {
    if (method === undefined) {
      answers++
      // A request with the id of a live one is refused under that id, which goes on.
      if (error?.code !== -32600) over.add(id)
    } else if (method === "$/cancel_request") {
      if (cancelled.has(params.requestId)) faults.push(`request ${params.requestId} of ours was cancelled twice`)
      cancelled.add(params.requestId)
    } else if (over.has(params.mark)) {
      faults.push(`${method} of request ${params.mark} came after its answer`)
    }
  }
  if (answers !== sent) faults.push(`${sent} requests, ${answers} answers`)
  return faults
}

/** What came of one connection: `faults` is empty, or it is not as it must be. */
export interface Outcome {
  readonly seed: string
  readonly requests: number
  readonly frames: number
  readonly faults: ReadonlyArray<string>
}

/** Runs the connection of a seed. Its time is that of the test's clock. */
export const run = (seed: string): Effect.Effect<Outcome> =>
  Effect.map(
    Effect.scoped(Random.withSeed(connection, seed)),
    (told) => ({ seed, requests: told.sent, frames: told.received.length, faults: faultsOf(told) })
  )
