/** The same frames to an agent on the SDK alone, and to one of ours: what the guide says of both is what they do. */
import * as Sdk from "@agentclientprotocol/sdk"
import { assert, describe, it } from "@effect/vitest"
import { AgentSide, Handler, Limits, type Peer, Transport } from "@quiesce/acp"
import { Effect, type Scope } from "effect"
import { readFileSync } from "node:fs"
import { cites } from "../../../tests/conformance/cites.ts"
import { cancelRequest, drive, type Driver, notification, request, settled } from "./support/driver.ts"

interface Context {
  readonly params: unknown
  readonly signal: AbortSignal
  /** Tells the client. */
  readonly tell: (method: string) => void
}

type Handlers = { readonly [method: string]: (context: Context) => Promise<unknown> }

/** An agent with a raw client: both are promise functions with a signal. */
interface Agent {
  readonly driver: Driver
  /** Whether the agent says that the connection is over. */
  readonly isClosed: () => boolean
}

type Make = (handlers: Handlers) => Effect.Effect<Agent, never, Scope.Scope>

const wire = () => {
  const left = new TransformStream<Uint8Array, Uint8Array>()
  const right = new TransformStream<Uint8Array, Uint8Array>()
  return {
    agent: { readable: left.readable, writable: right.writable },
    client: Transport.fromWeb({ readable: right.readable, writable: left.writable })
  }
}

/** A frame longer than this is too long: enough for the tests, and less than what they send then. */
const maxFrameBytes = 100_000

const sdk: Make = (handlers) =>
  Effect.gen(function*() {
    const { agent, client } = wire()
    const app = Sdk.agent()
    for (const [method, handle] of Object.entries(handlers)) {
      const handler = ({ client, params, signal }: Sdk.AgentRequestContext<unknown>) =>
        handle({ params, signal, tell: (method) => void client.notify(method, {}).catch(() => {}) })
      if (method === "session/prompt") app.onRequest(method, handler as never)
      else app.onRequest(method, (params) => params, handler)
    }
    const { closed } = app.connect(Sdk.ndJsonStream(agent.writable, agent.readable, { maxMessageBytes: maxFrameBytes }))
    let isClosed = false
    void closed.then(() => isClosed = true)
    return { driver: yield* drive(client, Effect.void), isClosed: () => isClosed }
  })

const ours: Make = (handlers) =>
  Effect.gen(function*() {
    const { agent, client } = wire()
    const table = Object.fromEntries(
      Object.entries(handlers).map(([method, handle]) => [
        method,
        Handler.fromPromise<unknown, unknown, Peer.Client>((params, { peer, signal }) =>
          handle({ params, signal, tell: (method) => void Effect.runFork(peer.notify(method as Peer.Extension, {})) })
        )
      ])
    )
    const connection = yield* AgentSide.connect(table as { readonly _any: (typeof table)[string] }).pipe(
      Effect.provideService(Transport.Transport, Transport.fromWeb(agent)),
      Effect.provide(Limits.layer({ maxFrameBytes }))
    )
    let isClosed = false
    yield* Effect.forkScoped(Effect.andThen(connection.closed, Effect.sync(() => isClosed = true)))
    return { driver: yield* drive(client, Effect.void), isClosed: () => isClosed }
  })

const prompt = request(1, "session/prompt", { sessionId: "s", prompt: [] })

/** Ends when it is told to stop. */
const obedient = ({ signal }: Context) =>
  new Promise<unknown>((_, reject) => {
    if (signal.aborted) reject(signal.reason)
    signal.addEventListener("abort", () => reject(signal.reason))
  })

/** What is done to an agent, and what it makes of it. */
const cases: { readonly [what: string]: (make: Make) => Effect.Effect<string, never, Scope.Scope> } = {
  "a cancel comes in the chunk of its request": Effect.fnUntraced(function*(make) {
    let started = false
    const { driver } = yield* make({
      _wait: (context) => {
        started = true
        return obedient(context)
      }
    })
    yield* driver.send(request(1, "_wait"), cancelRequest(1))
    yield* settled
    return started ? "the handler starts" : "the handler does not start"
  }),
  "a second request comes with the id of a live one": Effect.fnUntraced(function*(make) {
    let runs = 0
    const { driver } = yield* make({
      _wait: (context) => {
        runs++
        return obedient(context)
      }
    })
    yield* driver.send(request(1, "_wait"), request(1, "_wait"))
    yield* settled
    return runs === 2 ? "both run" : "it is refused"
  }),
  "`session/cancel` comes": Effect.fnUntraced(function*(make) {
    const { driver } = yield* make({ "session/prompt": obedient })
    yield* driver.send(prompt)
    yield* settled
    yield* driver.send(notification("session/cancel", { sessionId: "s" }))
    yield* settled
    return driver.answers(1).length === 0
      ? "the prompt goes on"
      : `the prompt is ${driver.answers(1)[0]?.result.stopReason}`
  }),
  "a handler gives up by its own timeout": Effect.fnUntraced(function*(make) {
    const { driver } = yield* make({ _slow: () => Promise.reject(new DOMException("too slow", "TimeoutError")) })
    yield* driver.send(request(1, "_slow"))
    yield* settled
    return `error ${driver.answers(1)[0]?.error?.code}`
  }),
  "a handler goes on to send after its answer": Effect.fnUntraced(function*(make) {
    let tell = () => {}
    const { driver } = yield* make({
      _now: ({ tell: say }) => {
        tell = () => say("_update")
        return Promise.resolve("done")
      }
    })
    yield* driver.send(request(1, "_now"))
    yield* settled
    tell()
    yield* settled
    return driver.told("_update").length > 0 ? "it is sent" : "it is not sent"
  }),
  "a frame is too long": Effect.fnUntraced(function*(make) {
    const { driver } = yield* make({ _now: () => Promise.resolve("done") })
    yield* driver.send(request(1, "_now", { text: "x".repeat(2 * maxFrameBytes) }))
    yield* settled
    yield* driver.send(request(2, "_now"))
    yield* settled
    return driver.answers(2).length > 0 ? "it is refused" : "the connection ends"
  }),
  "the client hangs up": Effect.fnUntraced(function*(make) {
    let end = () => {}
    const { driver, isClosed } = yield* make({ _slow: () => new Promise<void>((resolve) => end = resolve) })
    yield* driver.send(request(1, "_slow"))
    yield* settled
    yield* driver.hangUp
    yield* settled
    const early = isClosed()
    end()
    yield* settled
    return early ? "`closed` while a handler runs" : isClosed() ? "`closed` when all is quiet" : "never `closed`"
  })
}

const page = readFileSync(new URL("../../../docs/guide/acp.md", import.meta.url), "utf8")

describe("where", () => {
  for (const [what, run] of Object.entries(cases)) {
    it.live(cites(`${what}, each does what the guide says`, "ACP-09"), () =>
      Effect.gen(function*() {
        const [left, right] = [yield* run(sdk), yield* run(ours)]
        const row = page.split("\n").find((line) => line.startsWith(`| ${what} `)) ?? `no row: ${what}`
        assert.deepStrictEqual(row.split("|").slice(1, 4).map((cell) => cell.trim()), [what, left, right])
      }))
  }
})
