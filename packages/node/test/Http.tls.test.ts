import { assert, describe, it } from "@effect/vitest"
import { Http } from "@quiesce/node"
import { Deferred, Effect, Fiber, Stream } from "effect"
import { readFileSync } from "node:fs"
import type * as NodeHttp from "node:http"
import * as NodeHttps from "node:https"
import { createServer } from "node:net"
import * as Tls from "node:tls"
import { cites } from "../../../tests/conformance/cites.ts"
import { listen } from "./support/servers.ts"

/**
 * A certificate that names `localhost` and is its own authority, and its key. It is good from 2020 to 2120 and is of no
 * use to anybody: nobody trusts it but these tests.
 */
const read = (name: string) => readFileSync(new URL(`./support/tls/${name}`, import.meta.url), "utf8")
const identity = { cert: read("certificate.pem"), key: read("key.pem") }

/** A server with that certificate, at the name it names. */
const serve = (handler: (request: NodeHttp.IncomingMessage, response: NodeHttp.ServerResponse) => void) =>
  Effect.gen(function*() {
    const server = NodeHttps.createServer(identity, handler)
    // That a client does not trust us is what some of them are here for.
    server.on("tlsClientError", () => {})
    const { port, ...rest } = yield* listen(server)
    return { ...rest, port, url: `https://localhost:${port}/` }
  })

/** The authorities of this process are those it began with, and ours. */
const trusting = Effect.acquireRelease(
  Effect.sync(() => {
    const before = Tls.getCACertificates("default")
    Tls.setDefaultCACertificates([...before, identity.cert])
    return before
  }),
  (before) => Effect.sync(() => Tls.setDefaultCACertificates(before))
)

const local = Effect.provideService(Http.Destinations, Http.publicAnd("127.0.0.1", "::1"))

describe("a request over TLS", () => {
  it.live("is answered by a server whose certificate is trusted and names it", () =>
    Effect.gen(function*() {
      yield* trusting
      const { url } = yield* serve((request, response) => void request.pipe(response))
      const { body, status } = yield* Http.send({ url, method: "PUT", body: "secret" })
      assert.deepStrictEqual([status, new TextDecoder().decode(body)], [200, "secret"])
    }).pipe(local))

  it.live("says nothing to a server that is not trusted, or is another one", () =>
    Effect.gen(function*() {
      let heard = 0
      const { port, quiet, url } = yield* serve((_, response) => {
        heard++
        response.end()
      })
      const post = (url: string) => Effect.flip(Http.send({ url, method: "POST", body: "secret" }))
      const stranger = yield* post(url)
      assert.deepStrictEqual(
        [stranger.reason, stranger.code, stranger.reached],
        ["Unreachable", "DEPTH_ZERO_SELF_SIGNED_CERT", false]
      )
      yield* trusting
      const other = yield* post(`https://127.0.0.1:${port}/`)
      assert.deepStrictEqual(
        [other.reason, other.code, other.reached],
        ["Unreachable", "ERR_TLS_CERT_ALTNAME_INVALID", false]
      )
      assert.strictEqual(heard, 0)
      yield* quiet
    }).pipe(local))

  it.live("is redirected to no server without TLS", () =>
    Effect.gen(function*() {
      yield* trusting
      const { port, url } = yield* serve((_, response) => {
        response.writeHead(302, { location: `http://localhost:${port}/` }).end()
      })
      assert.strictEqual((yield* Effect.flip(Http.get(url))).reason, "NotAllowed")
    }).pipe(local))

  it.live(
    cites("that is interrupted has closed its socket in every phase, and the server sees it", "NODE-08"),
    () =>
      Effect.gen(function*() {
        yield* trusting
        const arrived = yield* Deferred.make<void>()
        const silent = yield* serve(() => Deferred.doneUnsafe(arrived, Effect.void))
        const unanswered = yield* Effect.forkChild(Http.get(silent.url))
        yield* Deferred.await(arrived)
        yield* Fiber.interrupt(unanswered)
        yield* silent.quiet

        const some = yield* Deferred.make<void>()
        const stalling = yield* serve((_, response) => void response.writeHead(200).write("some"))
        const reading = yield* Effect.forkChild(Effect.scoped(
          Effect.flatMap(
            Http.open({ url: stalling.url }),
            ({ body }) => Stream.runForEach(body, () => Deferred.succeed(some, undefined))
          )
        ))
        yield* Deferred.await(some)
        yield* Fiber.interrupt(reading)
        yield* stalling.quiet
      }).pipe(local)
  )

  it.live(
    cites("that is interrupted in its handshake has closed its socket, and the server sees it", "NODE-08"),
    () =>
      Effect.gen(function*() {
        const hello = yield* Deferred.make<void>()
        // It takes the greeting and never answers it.
        const mute = yield* listen(
          createServer((socket) => void socket.on("data", () => Deferred.doneUnsafe(hello, Effect.void)))
        )
        const fiber = yield* Effect.forkChild(Http.get(`https://localhost:${mute.port}/`))
        yield* Deferred.await(hello)
        yield* Fiber.interrupt(fiber)
        yield* mute.quiet
      }).pipe(local)
  )
})
