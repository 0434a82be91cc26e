import { assert, describe, it } from "@effect/vitest"
import { Server } from "@modelcontextprotocol/server"
import { ToolRegistry } from "@quiesce/core"
import { type Cancelled, HttpServer } from "@quiesce/mcp"
import { Effect, Fiber, type Scope } from "effect"
import { TestClock } from "effect/testing"
import { cites } from "../../../tests/conformance/cites.ts"
import * as Bodies from "./support/bodies.ts"
import { call, cancel, initialize, request, revisions } from "./support/peer.ts"
import { promise, type Web, web } from "./support/web.ts"

const served = <A, E>(
  f: (
    it: Web & {
      readonly bodies: Bodies.Bodies
      readonly server: HttpServer.Shape
      readonly registry: ToolRegistry.Shape
    }
  ) => Effect.Effect<A, E, Scope.Scope>,
  options: Partial<HttpServer.Options> = {}
) =>
  Effect.suspend(() => {
    const bodies = Bodies.make()
    return Effect.scoped(
      Effect.gen(function*() {
        const server = yield* HttpServer.make({ name: "fixture", version: "1", ...options })
        const registry = yield* ToolRegistry.ToolRegistry
        return yield* f({ ...web(server), bodies, server, registry })
      }).pipe(Effect.ensuring(bodies.releaseAll))
    ).pipe(Effect.provide(ToolRegistry.layer(bodies.tools)))
  })

for (const revision of revisions) {
  describe(`an HTTP server, in ${revision}`, () => {
    it.effect(
      cites("is a function from a request to a response", "MCP-10"),
      () =>
        served(({ open, post, send }) =>
          Effect.gen(function*() {
            const session = yield* promise(() => open(revision))
            const steps = yield* promise(() => post(call(revision, "p", "steps"), session))
            yield* promise(() => steps.ended)
            assert.strictEqual(steps.response.status, 200)
            assert.deepStrictEqual(
              steps.frames.map(({ params, result }) => params?.progress ?? result.structuredContent),
              [
                1,
                2,
                3,
                { steps: 3 }
              ]
            )
            const listed = yield* promise(() => post(request(revision, 1, "tools/list"), session))
            yield* promise(() => listed.ended)
            assert.include(JSON.stringify(listed.frames), "\"echo\"")
            const put = yield* promise(() => send("PUT", {}, session))
            assert.strictEqual(put.response.status, 405)
          })
        )
    )

    it.effect(
      cites("cancels a call by the signal of its host, whose reason is unchanged", "MCP-10", "MCP-06", "MCP-04"),
      () =>
        served(({ bodies, open, post, registry }) =>
          Effect.gen(function*() {
            const session = yield* promise(() => open(revision))
            const host = new AbortController()
            const asked = post(call(revision, 1, "wait", { key: "a" }), { ...session, signal: host.signal })
            yield* bodies.began("a")
            const reason = { why: "the host says so" }
            host.abort(reason)
            const reading = yield* promise(() => asked)
            yield* promise(() => reading.ended)
            yield* registry.whenIdle
            assert.strictEqual(bodies.reasons.get("a"), reason)
            assert.deepStrictEqual(reading.frames, [])
          })
        )
    )

    it.effect(
      cites("starts nothing for a host whose signal has aborted", "MCP-10", "MCP-08"),
      () =>
        served(({ bodies, open, post, registry }) =>
          Effect.gen(function*() {
            const session = yield* promise(() => open(revision))
            const reading = yield* promise(() =>
              post(call(revision, 1, "wait", { key: "a" }), { ...session, signal: AbortSignal.abort("no") })
            )
            yield* promise(() => reading.ended)
            yield* registry.whenIdle
            // Nobody waits for it, so that no server was made for it either.
            assert.strictEqual(reading.response.status, 499)
            assert.deepStrictEqual(bodies.starts, [])
            assert.deepStrictEqual(reading.frames, [])
          })
        )
    )

    it.effect(
      cites("hears of an abort at every moment, also while the request is read", "MCP-10", "MCP-08"),
      () =>
        served(({ open, post, registry }) =>
          Effect.gen(function*() {
            const session = yield* promise(() => open(revision))
            for (let turns = 0; turns < 60; turns++) {
              const host = new AbortController()
              const asked = post(call(revision, turns, "wait", { key: `${turns}` }), {
                ...session,
                signal: host.signal
              })
              yield* promise(async () => {
                for (let turn = 0; turn < turns; turn++) await null
              })
              host.abort()
              const reading = yield* promise(() => asked)
              yield* promise(() => reading.ended)
              yield* registry.whenIdle
              assert.deepStrictEqual(reading.frames.filter(({ result }) => result !== undefined), [])
            }
          })
        )
    )

    it.effect("leaves no listener on the signal of its host", () =>
      served(({ open, post }) =>
        Effect.gen(function*() {
          const session = yield* promise(() => open(revision))
          const { signal } = new AbortController()
          let listeners = 0
          const { addEventListener, removeEventListener } = signal
          signal.addEventListener = (...args: Parameters<typeof addEventListener>) => {
            listeners++
            addEventListener.apply(signal, args)
          }
          signal.removeEventListener = (...args: Parameters<typeof removeEventListener>) => {
            listeners--
            removeEventListener.apply(signal, args)
          }
          for (let id = 0; id < 20; id++) {
            const reading = yield* promise(() =>
              post(call(revision, id, "echo", { text: "a" }), { ...session, signal })
            )
            yield* promise(() => reading.ended)
          }
          assert.strictEqual(listeners, 0)
        })
      ))

    it.effect(
      cites("knows what a dropped connection means", "MCP-04", "MCP-06"),
      () =>
        served(({ bodies, open, post, registry }) =>
          Effect.gen(function*() {
            const session = yield* promise(() => open(revision))
            const connection = new AbortController()
            const asked = post(call(revision, 1, "stubborn", { key: "a" }), {
              ...session,
              connection: connection.signal
            })
            yield* bodies.began("a")
            connection.abort()
            const reading = yield* promise(() => asked)
            yield* promise(() => reading.drop())
            const [running] = yield* registry.inFlight
            assert.strictEqual(running?.cancelling !== undefined, revision === "2026-07-28")
            if (revision === "2026-07-28") {
              assert.strictEqual((bodies.reasons.get("a") as Cancelled.Cancelled).message, "the connection was closed")
            }
            yield* bodies.release("a")
            yield* registry.whenIdle
          })
        )
    )

    it.effect(
      cites("can be told that a dropped connection cancels", "MCP-04"),
      () =>
        served(({ bodies, open, post, registry }) =>
          Effect.gen(function*() {
            const session = yield* promise(() => open(revision))
            const connection = new AbortController()
            const asked = post(call(revision, 1, "wait", { key: "a" }), { ...session, connection: connection.signal })
            yield* bodies.began("a")
            connection.abort()
            yield* registry.whenIdle
            assert.deepStrictEqual(bodies.quiet, ["a"])
            yield* promise(() => asked)
          }), { dropped: "cancel" })
    )

    it.effect(
      cites("ends streams when it is closed, and is closed when its calls are quiet", "MCP-03", "MCP-06"),
      () =>
        served(({ bodies, open, post, server }) =>
          Effect.gen(function*() {
            const session = yield* promise(() => open(revision))
            const asked = post(call(revision, 1, "failing", { key: "a" }), session)
            yield* bodies.began("a")
            const reading = yield* promise(() => asked)
            const closing = yield* Effect.forkChild(server.close, { startImmediately: true })
            yield* promise(() => reading.ended)
            assert.isUndefined(closing.pollUnsafe())
            const refused = yield* promise(() => post(call(revision, 2, "echo", { text: "late" }), session))
            assert.strictEqual(refused.response.status, 503)
            yield* bodies.release("a")
            yield* Fiber.join(closing)
            assert.deepStrictEqual(bodies.quiet, ["a"])
            // Its progress from before, and nothing else.
            assert.deepStrictEqual(reading.frames.map(({ params }) => params?.progress), [1])
          })
        )
    )

    it.effect(
      cites("keeps equal ids of different peers apart", "MCP-02", "MCP-04"),
      () =>
        served(({ bodies, open, post, registry }) =>
          Effect.gen(function*() {
            const one = yield* promise(() => open(revision))
            const two = yield* promise(() => open(revision))
            const host = new AbortController()
            const first = post(call(revision, 1, "wait", { key: "one" }), { ...one, signal: host.signal })
            yield* bodies.began("one")
            const second = post(call(revision, 1, "wait", { key: "two" }), two)
            yield* bodies.began("two")
            if (revision === "2025-11-25") yield* promise(() => post(cancel(1), one))
            else host.abort()
            const cancelled = yield* promise(() => first)
            yield* promise(() => cancelled.ended)
            assert.deepStrictEqual(bodies.quiet, ["one"])
            yield* bodies.release("two")
            const answered = yield* promise(() => second)
            yield* promise(() => answered.ended)
            assert.strictEqual(answered.frames.at(-1)?.result.content[0].text, "\"released two\"")
            yield* registry.whenIdle
          })
        )
    )

    it.effect(
      cites("refuses bodies that are no message", "MCP-11"),
      () =>
        served(({ open, post }) =>
          Effect.gen(function*() {
            const session = yield* promise(() => open(revision))
            const deep = `{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"echo","arguments":${
              "[".repeat(20_000)
            }${"]".repeat(20_000)}}}`
            const wrong: ReadonlyArray<readonly [body: unknown, status: number, code: number, id: unknown]> = [
              ["{\"jsonrpc\":", 400, -32700, null],
              ["", 400, -32700, null],
              ["null", 400, -32600, null],
              [[], 400, -32600, null],
              [{ jsonrpc: "2.0", id: {}, method: "tools/list" }, 400, -32600, null],
              [{ jsonrpc: "1.0", id: 3, method: "tools/list" }, 400, -32600, 3],
              [deep, 400, -32600, 4],
              [call(revision, 5, "echo", { text: "x".repeat(100_000) }), 413, -32000, null]
            ]
            for (const [body, status, code, id] of wrong) {
              const { ended, frames, response } = yield* promise(() => post(body, session))
              yield* promise(() => ended)
              assert.deepStrictEqual([response.status, frames[0]?.error?.code, frames[0]?.id], [status, code, id])
            }
            const served = yield* promise(() => post(call(revision, 6, "echo", { text: "served" }), session))
            yield* promise(() => served.ended)
            assert.strictEqual(served.frames[0]?.result.content[0].text, "served")
          }), { maxBodyBytes: 50_000 })
    )

    it.effect(
      cites("runs more than a hundred calls at once", "MCP-11"),
      () =>
        served(({ bodies, open, post }) =>
          Effect.gen(function*() {
            const session = yield* promise(() => open(revision))
            const ids = Array.from({ length: 110 }, (_, id) => id)
            const asked = ids.map((id) => post(call(revision, id, "wait", { key: `${id}` }), session))
            for (const id of ids) yield* bodies.began(`${id}`)
            for (const id of ids) yield* bodies.release(`${id}`)
            for (const reading of yield* promise(() => Promise.all(asked))) {
              yield* promise(() => reading.ended)
              assert.include(reading.frames[0]?.result.content[0].text, "released")
            }
          })
        )
    )

    it.effect("refuses a request for another host, and one of a page of elsewhere", () =>
      served(({ open, post }) =>
        Effect.gen(function*() {
          const session = yield* promise(() => open(revision))
          for (const headers of [{ host: "example.com" }, { origin: "http://example.com" }]) {
            const { response } = yield* promise(() => post(request(revision, 1, "tools/list"), { ...session, headers }))
            assert.strictEqual(response.status, 403)
          }
        })
      ))
  })
}

describe("an HTTP session", () => {
  const revision = "2025-11-25"

  it.effect(
    cites("ends the stream of a cancelled call, also while its body goes on", "MCP-04", "MCP-01", "MCP-05"),
    () =>
      served(({ bodies, open, post, registry }) =>
        Effect.gen(function*() {
          const session = yield* promise(() => open(revision))
          const asked = post(call(revision, 0, "failing", { key: "a" }), session)
          yield* bodies.began("a")
          const reading = yield* promise(() => asked)
          const cancelled = yield* promise(() => post(cancel(0), session))
          assert.strictEqual(cancelled.response.status, 202)
          yield* promise(() => reading.ended)
          assert.deepStrictEqual(bodies.quiet, [])
          // Its id is not free until its body is quiet.
          const refused = yield* promise(() => post(call(revision, 0, "echo", { text: "a" }), session))
          yield* promise(() => refused.ended)
          assert.deepStrictEqual([refused.response.status, refused.frames[0]?.error?.code], [400, -32600])
          yield* bodies.release("a")
          yield* registry.whenIdle
          assert.deepStrictEqual(reading.frames.map(({ params }) => params?.progress), [1])
          yield* promise(() => Promise.resolve())
          const again = yield* promise(() => post(call(revision, 0, "echo", { text: "again" }), session))
          yield* promise(() => again.ended)
          assert.strictEqual(again.frames[0]?.result.content[0].text, "again")
        })
      )
  )

  it.effect(
    cites("refuses an id that is in flight, and the first keeps its stream", "MCP-02"),
    () =>
      served(({ bodies, open, post }) =>
        Effect.gen(function*() {
          const session = yield* promise(() => open(revision))
          const asked = post(call(revision, 1, "wait", { key: "a" }), session)
          const refused = yield* promise(() => post(call(revision, 1, "wait", { key: "b" }), session))
          yield* promise(() => refused.ended)
          assert.deepStrictEqual([refused.response.status, refused.frames[0]?.error?.code], [400, -32600])
          yield* bodies.began("a")
          yield* bodies.release("a")
          const reading = yield* promise(() => asked)
          yield* promise(() => reading.ended)
          assert.strictEqual(reading.frames[0]?.result.content[0].text, "\"released a\"")
          assert.deepStrictEqual(bodies.starts, ["a"])
        })
      )
  )

  it.effect(
    cites("finds the call of a cancel in the same session only, and says so without one", "MCP-04"),
    () =>
      served(({ bodies, open, post, registry }) =>
        Effect.gen(function*() {
          const one = yield* promise(() => open(revision))
          const two = yield* promise(() => open(revision))
          const asked = post(call(revision, 1, "wait", { key: "a" }), one)
          yield* bodies.began("a")
          const elsewhere = yield* promise(() => post(cancel(1), two))
          const nowhere = yield* promise(() => post(cancel(1)))
          const unknown = yield* promise(() => post(cancel(1), { session: "none" }))
          assert.deepStrictEqual([elsewhere, nowhere, unknown].map(({ response }) => response.status), [202, 404, 404])
          assert.deepStrictEqual((yield* registry.inFlight).map(({ cancelling }) => cancelling), [undefined])
          yield* bodies.release("a")
          const reading = yield* promise(() => asked)
          yield* promise(() => reading.ended)
        })
      )
  )

  it.effect(
    cites("serves a POST without a session by itself", "MCP-02"),
    () =>
      served(({ bodies, post }) =>
        Effect.gen(function*() {
          const first = post(call(revision, 1, "wait", { key: "a" }))
          const second = post(call(revision, 1, "wait", { key: "b" }))
          yield* bodies.began("a")
          yield* bodies.began("b")
          yield* bodies.release("a")
          yield* bodies.release("b")
          for (const reading of yield* promise(() => Promise.all([first, second]))) {
            yield* promise(() => reading.ended)
            assert.strictEqual(reading.frames[0]?.id, 1)
          }
        })
      )
  )

  it.effect(
    cites("is deleted when its calls are quiet, and answers nothing more", "MCP-03", "MCP-06"),
    () =>
      served(({ bodies, open, post, send, server }) =>
        Effect.gen(function*() {
          const session = yield* promise(() => open(revision))
          const asked = post(call(revision, 1, "stubborn", { key: "a" }), session)
          yield* bodies.began("a")
          const reading = yield* promise(() => asked)
          let deleted = false
          const deleting = send("DELETE", undefined, session).finally(() => deleted = true)
          yield* promise(() => reading.ended)
          const late = yield* promise(() => post(call(revision, 2, "echo", { text: "late" }), session))
          assert.strictEqual(late.response.status, 404)
          assert.isFalse(deleted)
          assert.strictEqual((bodies.reasons.get("a") as Error).message, "the session was deleted by its client")
          yield* bodies.release("a")
          const { response } = yield* promise(() => deleting)
          assert.strictEqual(response.status, 200)
          assert.deepStrictEqual(bodies.quiet, ["a"])
          assert.deepStrictEqual(reading.frames, [])
          assert.strictEqual(yield* server.sessions, 0)
        })
      )
  )

  it.effect(
    cites("does not start the body of a call that is cancelled in the same POST", "MCP-08", "MCP-04"),
    () =>
      served(({ bodies, open, post, registry }) =>
        Effect.gen(function*() {
          const session = yield* promise(() => open(revision))
          const reading = yield* promise(() =>
            post(
              [call(revision, 1, "wait", { key: "a" }), cancel(1), call(revision, 2, "echo", { text: "b" })],
              session
            )
          )
          yield* promise(() => reading.ended)
          yield* registry.whenIdle
          assert.deepStrictEqual(bodies.starts, [])
          assert.deepStrictEqual(reading.frames.map(({ id }) => id), [2])
        })
      )
  )

  it.effect("ends the stream of several calls when the last is answered or cancelled", () =>
    served(({ bodies, open, post }) =>
      Effect.gen(function*() {
        const session = yield* promise(() => open(revision))
        const asked = post(["a", "b"].map((key) => call(revision, key, "wait", { key })), session)
        yield* bodies.began("a")
        yield* bodies.began("b")
        const reading = yield* promise(() => asked)
        yield* promise(() => post(cancel("a"), session))
        yield* bodies.release("b")
        yield* promise(() => reading.ended)
        assert.deepStrictEqual(reading.frames.map(({ id }) => id), ["b"])
      })
    ))

  it.effect("tells a client that listens of new tools", () =>
    served(({ open, registry, send }) =>
      Effect.gen(function*() {
        const session = yield* promise(() => open(revision))
        const listening = yield* promise(() => send("GET", undefined, session))
        yield* registry.register(Bodies.tool("another"))
        yield* promise(() => listening.frame(({ method }) => method === "notifications/tools/list_changed"))
        yield* promise(() => listening.drop())
      })
    ))

  it.effect("ends when nobody has used it for long, and not while it is used", () =>
    served(({ bodies, open, post, server }) =>
      Effect.gen(function*() {
        const session = yield* promise(() => open(revision))
        const asked = post(call(revision, 1, "wait", { key: "a" }), session)
        yield* bodies.began("a")
        yield* TestClock.adjust("2 hours")
        assert.strictEqual(yield* server.sessions, 1)
        yield* bodies.release("a")
        const reading = yield* promise(() => asked)
        yield* promise(() => reading.ended)
        yield* TestClock.adjust("1 hour")
        assert.strictEqual(yield* server.sessions, 0)
        const late = yield* promise(() => post(call(revision, 2, "echo", { text: "late" }), session))
        assert.strictEqual(late.response.status, 404)
      }), { sessionIdle: "1 hour" }))

  it.effect("is refused where there are too many", () =>
    served(({ open, post }) =>
      Effect.gen(function*() {
        yield* promise(() => open(revision))
        const { response } = yield* promise(() => post(initialize()))
        assert.strictEqual(response.status, 503)
      }), { maxSessions: 1 }))

  it.effect("is refused where too many are opened at once, and not for those that could not be", () => {
    let broken = 2
    return served(({ post, server }) =>
      Effect.gen(function*() {
        const readings = yield* promise(() => Promise.all(Array.from({ length: 6 }, () => post(initialize()))))
        assert.deepStrictEqual(readings.map(({ response }) => response.status), [500, 500, 200, 200, 503, 503])
        assert.strictEqual(yield* server.sessions, 2)
      }), {
      maxSessions: 2,
      server: () => {
        if (broken-- > 0) throw new Error("it cannot be made")
        return new Server({ name: "mine", version: "1" })
      }
    })
  })
})
