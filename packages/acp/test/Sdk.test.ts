/** The official SDK on the other side, as a client and as an agent: bytes and all. */
import * as Sdk from "@agentclientprotocol/sdk"
import { assert, describe, it } from "@effect/vitest"
import { AcpAgent, AgentSide, ClientSide, Handler, type Peer, Permission, Transport } from "@quiesce/acp"
import { Session, SessionLog, Turn } from "@quiesce/agent"
import { Policy, Tool, ToolRegistry } from "@quiesce/core"
import { Effect, Fiber, Layer, Schema } from "effect"
import { cites } from "../../../tests/conformance/cites.ts"

/** Promises of the SDK are awaited as they are: nothing of ours is in them. */
const promised = <A>(promise: PromiseLike<A>): Effect.Effect<A, unknown> =>
  Effect.callback((resume) => {
    promise.then((value) => resume(Effect.succeed(value)), (error: unknown) => resume(Effect.fail(error)))
  })

/** Our transport, and the SDK's stream at its other end. */
const wire = () => {
  const left = new TransformStream<Uint8Array, Uint8Array>()
  const right = new TransformStream<Uint8Array, Uint8Array>()
  return {
    ours: Transport.fromWeb({ readable: left.readable, writable: right.writable }),
    theirs: Sdk.ndJsonStream(left.writable, right.readable),
    // The SDK leaves its output open when it closes: the process that it is in ends, and with it the pipe.
    hangUp: Effect.suspend(() => promised(left.writable.close()))
  }
}

const rejection = (promise: PromiseLike<unknown>): Effect.Effect<Sdk.RequestError> =>
  Effect.flip(promised(promise)) as Effect.Effect<Sdk.RequestError>

/** A method that waits for its cancellation, written in either way, without a word of the protocol. */
const waiting = (log: Array<string>) => ({
  _effect: () =>
    Effect.andThen(
      Effect.sync(() => log.push("effect started")),
      Effect.onInterrupt(Effect.never, () => Effect.sync(() => log.push("effect interrupted")))
    ),
  _promise: Handler.fromPromise((_: unknown, { signal }: { readonly signal: AbortSignal }) => {
    log.push("promise started")
    return new Promise((_, reject) => {
      signal.addEventListener("abort", () => {
        log.push("promise aborted")
        reject(signal.reason)
      })
    })
  })
})

const until = (holds: () => boolean): Effect.Effect<void> =>
  Effect.suspend(() => holds() ? Effect.void : Effect.andThen(Effect.yieldNow, until(holds)))

describe("the official client", () => {
  it.live(
    cites("cancels handlers that are effects and handlers that are promises", "ACP-09", "ACP-01", "ACP-02"),
    () =>
      Effect.gen(function*() {
        const log: Array<string> = []
        const { ours, theirs } = wire()
        yield* Effect.provideService(AgentSide.connect(waiting(log)), Transport.Transport, ours)
        const client = Sdk.client().connect(theirs)
        for (const kind of ["effect", "promise"]) {
          const stop = new AbortController()
          const asked = client.agent.request(`_${kind}`, {}, { cancellationSignal: stop.signal })
          yield* until(() => log.includes(`${kind} started`))
          stop.abort()
          const { code, message } = yield* rejection(asked)
          assert.deepStrictEqual({ code, message }, { code: -32800, message: "Request cancelled" })
        }
        assert.deepStrictEqual(log, ["effect started", "effect interrupted", "promise started", "promise aborted"])
        client.close()
      })
  )

  it.live(
    cites("that cancels as it asks is answered, and no handler goes on", "ACP-02", "ACP-01"),
    () =>
      Effect.gen(function*() {
        const log: Array<string> = []
        const { ours, theirs } = wire()
        yield* Effect.provideService(AgentSide.connect(waiting(log)), Transport.Transport, ours)
        const client = Sdk.client().connect(theirs)
        const { code } = yield* rejection(
          client.agent.request("_effect", {}, { cancellationSignal: AbortSignal.abort() })
        )
        assert.strictEqual(code, -32800)
        assert.include([0, 2], log.length)
      })
  )

  it.live(
    cites("has a turn: it is asked for permission, sees the calls, and cancels the rest", "ACP-04", "ACP-02"),
    () =>
      Effect.gen(function*() {
        const { hangUp, ours, theirs } = wire()
        let started = false
        const hang = Tool.make("hang", {
          description: "",
          parameters: Schema.Struct({}),
          success: Schema.Null,
          execute: () => Effect.andThen(Effect.sync(() => started = true), Effect.never)
        })
        const agent = AcpAgent.connect({
          info: { name: "agent", version: "1" },
          session: Layer.merge(
            Layer.provide(ToolRegistry.layer([hang]), [
              Permission.layer(),
              Permission.layerPolicy({ pre: () => Effect.succeed(Policy.ask()) })
            ]),
            SessionLog.layerMemory
          ),
          turn: Session.loop(() =>
            Effect.succeed({ text: "Hanging.", calls: [{ callId: "1", name: "hang", arguments: Turn.complete({}) }] })
          )
        })
        const connection = yield* Effect.provideService(agent, Transport.Transport, ours)
        const asked: Array<string> = []
        const client = Sdk.client().onRequest(Sdk.methods.client.session.requestPermission, ({ params }) => {
          asked.push(params.toolCall.toolCallId)
          return { outcome: { outcome: "selected", optionId: "allow_once" } }
        })
        const seen = yield* promised(client.connectWith(theirs, async (agent) => {
          await agent.request(Sdk.methods.agent.initialize, { protocolVersion: 1 })
          return await agent.buildSession("/").withSession(async (session) => {
            const stop = session.prompt("go").then(({ stopReason }) => stopReason)
            const seen: Array<string> = []
            while (true) {
              const message = await session.nextUpdate()
              if (message.kind === "stop") return [...seen, await stop]
              const { update } = message
              if (update.sessionUpdate === "agent_message_chunk") seen.push("message")
              else if ("status" in update) seen.push(String(update.status))
              if ("status" in update && update.status === "in_progress") {
                await agent.notify(Sdk.methods.agent.session.cancel, { sessionId: session.sessionId })
              }
            }
          })
        }))
        assert.deepStrictEqual(seen, ["message", "pending", "in_progress", "failed", "cancelled"])
        assert.deepStrictEqual(asked, ["call_4"])
        assert.isTrue(started)
        yield* hangUp
        assert.deepStrictEqual(yield* connection.closed, { _tag: "EndOfInput" })
      })
  )

  it.live(cites("that goes away cancels everything", "ACP-06"), () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const { hangUp, ours, theirs } = wire()
      const connection = yield* Effect.provideService(AgentSide.connect(waiting(log)), Transport.Transport, ours)
      const client = Sdk.client().connect(theirs)
      client.agent.request("_effect").catch(() => {})
      client.agent.request("_promise").catch(() => {})
      yield* until(() => log.length === 2)
      client.close()
      yield* hangUp
      assert.deepStrictEqual(yield* connection.closed, { _tag: "EndOfInput" })
      assert.includeMembers(log, ["effect interrupted", "promise aborted"])
    }))
})

describe("the official agent", () => {
  const slow = (log: Array<string>) =>
    Sdk.agent()
      .onRequest("session/prompt", ({ client, params: { sessionId }, signal }) =>
        new Promise((resolve) => {
          log.push("prompt")
          signal.addEventListener("abort", () => {
            client.notify("session/update", {
              sessionId,
              update: { sessionUpdate: "agent_message_chunk", content: { type: "text", text: "bye" } }
            }).catch(() => {}).finally(() => resolve({ stopReason: "cancelled" }))
          })
        }))
      .onRequest("_ask", (params) =>
        params, ({ client, signal }) =>
        client.request("_question", {}, { cancellationSignal: signal }))

  const clientOf = Effect.fnUntraced(function*(log: Array<string>, heard: Array<string>) {
    const { hangUp, ours, theirs } = wire()
    const agent = slow(log).connect(theirs)
    const { peer } = yield* Effect.provideService(
      ClientSide.connect(
        {
          _question: () =>
            Effect.onInterrupt(
              Effect.andThen(Effect.sync(() => heard.push("asked")), Effect.never),
              () => Effect.sync(() => heard.push("interrupted"))
            )
        },
        { "session/update": ({ update }) => Effect.sync(() => void heard.push(update.sessionUpdate)) }
      ),
      Transport.Transport,
      ours
    )
    return { peer: peer as Peer.Agent, agent, hangUp }
  })

  it.live(
    cites("is told when a request of ours is interrupted, and its answer waited for", "ACP-07"),
    () =>
      Effect.gen(function*() {
        const log: Array<string> = []
        const heard: Array<string> = []
        const { peer } = yield* clientOf(log, heard)
        const prompt = yield* Effect.forkScoped(peer.request("session/prompt", { sessionId: "s", prompt: [] }))
        yield* until(() => log.length === 1)
        yield* Fiber.interrupt(prompt)
        // It has answered: what it sent before that is here.
        assert.deepStrictEqual(heard, ["agent_message_chunk"])
      })
  )

  it.live(
    cites("asks us, and its cancels reach our handlers: cancellation goes down and up again", "ACP-01", "ACP-09"),
    () =>
      Effect.gen(function*() {
        const heard: Array<string> = []
        const { peer } = yield* clientOf([], heard)
        const asked = yield* peer.start("_ask", {})
        yield* until(() => heard.length === 1)
        yield* asked.cancel
        const failed = yield* Effect.flip(asked.answer)
        assert.deepInclude(failed, { _tag: "RequestFailed", code: -32800 })
        assert.deepStrictEqual(heard, ["asked", "interrupted"])
      })
  )

  it.live(cites("that goes away fails what we asked it", "ACP-06"), () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const { agent, hangUp, peer } = yield* clientOf(log, [])
      const prompt = yield* Effect.forkScoped(
        Effect.flip(peer.request("session/prompt", { sessionId: "s", prompt: [] }))
      )
      yield* until(() => log.length === 1)
      agent.close()
      yield* hangUp
      assert.deepInclude(yield* Fiber.join(prompt), { _tag: "PeerGone", reason: "closed" })
    }))
})
