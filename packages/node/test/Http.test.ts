import { assert, describe, it } from "@effect/vitest"
import { Abortable } from "@quiesce/core"
import { Http, type HttpFailed } from "@quiesce/node"
import { Clock, Deferred, Duration, Effect, Exit, Fiber, Stream } from "effect"
import { getEventListeners } from "node:events"
import { readdirSync } from "node:fs"
import * as Net from "node:net"
import { cites } from "../../../tests/conformance/cites.ts"
import { listen, serve } from "./support/servers.ts"

const local = Effect.provideService(Http.Destinations, Http.publicAnd("127.0.0.1"))

const text = (answer: Http.Answer) => new TextDecoder().decode(answer.body)

const reasonOf = <A, R>(effect: Effect.Effect<A, HttpFailed.HttpFailed, R>) =>
  Effect.map(Effect.exit(effect), (exit) => {
    if (Exit.isSuccess(exit)) return "succeeded"
    const error = Exit.findErrorOption(exit)
    return error._tag === "Some" ? error.value.reason : "died"
  })

const openFiles = () => readdirSync("/proc/self/fd").length

describe("a request", () => {
  it.live("brings the status, the headers and the body", () =>
    Effect.gen(function*() {
      const { seen, url } = yield* serve((request, response) => {
        response.writeHead(201, { "x-a": "b", "set-cookie": ["c", "d"] })
        request.pipe(response)
      })
      const answer = yield* Http.send({ url: `${url}path?q=1`, method: "post", body: "body", headers: { "X-B": "c" } })
      assert.strictEqual(answer.status, 201)
      assert.strictEqual(answer.headers["x-a"], "b")
      assert.strictEqual(answer.headers["set-cookie"], "c, d")
      assert.strictEqual(text(answer), "body")
      assert.strictEqual(seen[0]!.method, "POST")
      assert.strictEqual(seen[0]!.url, "/path?q=1")
      assert.strictEqual(seen[0]!.headers["x-b"], "c")
    }).pipe(local))

  it.live("that cannot be sent is invalid", () =>
    Effect.gen(function*() {
      for (const url of ["", "no url", "ftp://127.0.0.1/", "file:///etc/passwd", "javascript:1", "http://"]) {
        assert.strictEqual(yield* reasonOf(Http.get(url)), "Invalid", url)
      }
      const headers = { "a b": "c" }
      assert.strictEqual(yield* reasonOf(Http.get("http://127.0.0.1:1/", { headers })), "Invalid")
      assert.strictEqual(yield* reasonOf(Http.get("http://127.0.0.1:1/", { headers: { a: "b\r\nc: d" } })), "Invalid")
      assert.strictEqual(yield* reasonOf(Http.send({ url: "http://127.0.0.1:1/", method: "A B" })), "Invalid")
    }).pipe(local))

  it.live("nobody answers did not reach anybody", () =>
    Effect.gen(function*() {
      const { port } = yield* Effect.scoped(serve(() => {}))
      const failed = yield* Effect.flip(Http.get(`http://127.0.0.1:${port}/`))
      assert.deepStrictEqual([failed.reason, failed.code, failed.reached], ["Unreachable", "ECONNREFUSED", false])
    }).pipe(local))

  it.live("whose connection breaks may have reached the server", () =>
    Effect.gen(function*() {
      const cut = yield* serve((request) => request.socket.destroy())
      const failed = yield* Effect.flip(Http.get(cut.url))
      assert.deepStrictEqual([failed.reason, failed.reached], ["Broken", true])
      const half = yield* serve((_, response) => {
        response.writeHead(200, { "content-length": "10" })
        response.write("half", () => response.destroy())
      })
      assert.strictEqual(yield* reasonOf(Http.get(half.url)), "Broken")
      const garbage = yield* listen(Net.createServer((socket) => void socket.end("garbage\r\n\r\n")))
      assert.strictEqual(yield* reasonOf(Http.get(garbage.url)), "Broken")
      const endless = yield* listen(Net.createServer((socket) => {
        socket.write("HTTP/1.1 200 OK\r\n")
        const fill = () => {
          while (socket.writable && socket.write(`a: ${"b".repeat(1000)}\r\n`)) { /* until the buffer is full */ }
        }
        socket.on("drain", fill)
        fill()
      }))
      assert.strictEqual(yield* reasonOf(Http.get(endless.url)), "Broken")
    }).pipe(local))

  it.live("whose answer is too large is given up, whether the size was told or not", () =>
    Effect.gen(function*() {
      const told = yield* serve((_, response) => void response.end("12345"))
      const untold = yield* serve((_, response) => {
        const more = () => response.write("x".repeat(10_000), (error) => error == null && more())
        more()
      })
      assert.strictEqual(yield* reasonOf(Http.get(told.url, { maxBytes: 5 })), "succeeded")
      assert.strictEqual(yield* reasonOf(Http.get(told.url, { maxBytes: 4 })), "TooLarge")
      assert.strictEqual(yield* reasonOf(Http.get(untold.url, { maxBytes: 100_000 })), "TooLarge")
      yield* untold.quiet
    }).pipe(local))
})

describe("an answer", () => {
  /** A server that answers each request, whatever it asks for, with these bytes. */
  const saying = (answer: string) =>
    listen(Net.createServer((socket) => void socket.on("data", () => void socket.write(answer))))

  it.live(
    cites("that goes over to another protocol is none, and its socket is closed", "NODE-08"),
    () =>
      Effect.gen(function*() {
        const before = openFiles()
        const switching = yield* saying("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: a\r\n\r\n")
        const headers = { connection: "upgrade", upgrade: "a" }
        for (const request of [{}, { headers }, { method: "CONNECT" }]) {
          assert.strictEqual(yield* reasonOf(Http.send({ url: switching.url, ...request })), "Broken")
        }
        yield* switching.quiet
        assert.strictEqual(openFiles(), before + 1)
      }).pipe(local)
  )

  it.live("without a body may name any length", () =>
    Effect.gen(function*() {
      const long = "Content-Length: 99999999\r\n\r\n"
      const head = yield* saying(`HTTP/1.1 200 OK\r\n${long}`)
      const { body, status } = yield* Http.send({ url: head.url, method: "HEAD" })
      assert.deepStrictEqual([status, body.length], [200, 0])
      const same = yield* saying(`HTTP/1.1 304 Not Modified\r\n${long}`)
      assert.strictEqual((yield* Http.get(same.url)).status, 304)
    }).pipe(local))

  it.live("ends by a limit that is no number", () =>
    Effect.gen(function*() {
      const circle = yield* serve((_, response) => void response.writeHead(302, { location: "/" }).end())
      for (const maxRedirects of [NaN, -1, 0]) {
        assert.strictEqual(yield* reasonOf(Http.get(circle.url, { maxRedirects })), "TooManyRedirects")
      }
      assert.strictEqual(circle.seen.length, 3)
      const busy = yield* serve((_, response) => void response.writeHead(503).end("busy"))
      assert.strictEqual((yield* Http.get(busy.url, { retry: { times: NaN } })).status, 503)
      assert.strictEqual(yield* reasonOf(Http.get(busy.url, { maxBytes: NaN })), "TooLarge")
    }).pipe(local))

  it.live("that does not come says so without the secrets of its URL", () =>
    Effect.gen(function*() {
      const { url } = yield* Effect.scoped(serve(() => {}))
      const failed = yield* Effect.flip(Http.get(url.replace("//", "//user:secret@")))
      assert.deepStrictEqual([failed.reason, failed.url], ["Unreachable", url])
    }).pipe(local))
})

describe("a request that is interrupted", () => {
  it.live(
    cites("before the headers has closed its socket, and the server sees it", "NODE-08"),
    () =>
      Effect.gen(function*() {
        const arrived = yield* Deferred.make<void>()
        const server = yield* serve(() => Deferred.doneUnsafe(arrived, Effect.void))
        const before = openFiles()
        const fiber = yield* Effect.forkChild(Http.get(server.url))
        yield* Deferred.await(arrived)
        yield* Fiber.interrupt(fiber)
        yield* server.quiet
        assert.strictEqual(openFiles(), before)
      }).pipe(local)
  )

  it.live(
    cites("behind the headers, while the body stalls, has closed its socket, and the server sees it", "NODE-08"),
    () =>
      Effect.gen(function*() {
        const server = yield* serve((_, response) => void response.writeHead(200).write("some"))
        const before = openFiles()
        const some = yield* Deferred.make<void>()
        const fiber = yield* Effect.forkChild(Effect.scoped(
          Effect.flatMap(
            Http.open({ url: server.url }),
            ({ body }) => Stream.runForEach(body, () => Deferred.succeed(some, undefined))
          )
        ))
        yield* Deferred.await(some)
        yield* Fiber.interrupt(fiber)
        yield* server.quiet
        assert.strictEqual(openFiles(), before)
      }).pipe(local)
  )

  it.live(cites("in the tick of its start leaves no socket", "NODE-08"), () =>
    Effect.gen(function*() {
      const server = yield* serve((_, response) => void response.end())
      const before = openFiles()
      const fiber = yield* Effect.forkChild(Http.get(server.url), { startImmediately: true })
      yield* Fiber.interrupt(fiber)
      assert.strictEqual(openFiles(), before)
      yield* server.quiet
      assert.strictEqual(server.seen.length, 0)
    }).pipe(local))

  it.live(
    cites("a thousand times on one signal leaves no listener and no socket", "NODE-08"),
    () =>
      Effect.gen(function*() {
        const server = yield* serve((request, response) => {
          if (request.url === "/stall") response.writeHead(200).write("some")
          else response.end("whole")
        })
        const before = openFiles()
        const controller = new AbortController()
        const { signal } = controller
        const request = (path: string) => Abortable.runPromise(local(Http.get(server.url + path)), { signal })
        const settled = (promises: ReadonlyArray<Promise<unknown>>) =>
          Abortable.promise(() => Promise.allSettled(promises))
        for (let batch = 0; batch < 38; batch++) yield* settled(Array.from({ length: 25 }, () => request("")))
        assert.strictEqual(getEventListeners(signal, "abort").length, 0)
        const stalled = Array.from({ length: 50 }, () => request("stall"))
        yield* server.received(1000)
        assert.isAtMost(getEventListeners(signal, "abort").length, 1)
        controller.abort("enough")
        const results = yield* settled(stalled)
        assert.isTrue(results.every((result) => result.status === "rejected" && result.reason === "enough"))
        assert.strictEqual(getEventListeners(signal, "abort").length, 0)
        yield* server.quiet
        assert.strictEqual(openFiles(), before)
      })
  )

  it.live(cites("in a wait between two attempts does not attempt again", "NODE-08"), () =>
    Effect.gen(function*() {
      const waiting = yield* Deferred.make<void>()
      const clock = yield* Clock.Clock
      const observed: Clock.Clock = {
        ...clock,
        sleep: (duration) => Effect.andThen(Deferred.succeed(waiting, undefined), clock.sleep(duration))
      }
      const server = yield* serve((_, response) => void response.writeHead(503, { "retry-after": "15" }).end())
      const fiber = yield* Effect.forkChild(
        Http.get(server.url, { retry: { times: 3 } }).pipe(Effect.provideService(Clock.Clock, observed))
      )
      yield* Deferred.await(waiting)
      const [elapsed] = yield* Effect.timed(Fiber.interrupt(fiber))
      assert.isBelow(Duration.toMillis(elapsed), 5000)
      assert.strictEqual(server.seen.length, 1)
    }).pipe(local))

  it.live("stops the consumer of its body from getting more", () =>
    Effect.gen(function*() {
      const server = yield* serve((_, response) => {
        const more = () => response.write("x".repeat(1000), (error) => error == null && setImmediate(more))
        more()
      })
      const taken = yield* Effect.scoped(
        Effect.flatMap(Http.open({ url: server.url }), ({ body }) => Stream.runCollect(Stream.take(body, 3)))
      )
      assert.strictEqual(taken.length, 3)
      yield* server.quiet
    }).pipe(local))

  it.live("with a body that nobody reads is closed with its scope", () =>
    Effect.gen(function*() {
      const server = yield* serve((_, response) => void response.end("x".repeat(5_000_000)))
      const { status } = yield* Effect.scoped(Http.open({ url: server.url }))
      assert.strictEqual(status, 200)
      yield* server.quiet
    }).pipe(local))
})

describe("where a request may go", () => {
  it.live("is decided by the address, however it is written", () =>
    Effect.gen(function*() {
      const server = yield* serve((_, response) => void response.end())
      const { port } = server
      const hosts = [
        "127.0.0.1",
        "localhost",
        "127.1",
        "0x7f000001",
        "2130706433",
        "0",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[::]"
      ]
      for (const host of hosts) {
        assert.strictEqual(yield* reasonOf(Http.get(`http://${host}:${port}/`)), "NotAllowed", host)
      }
      assert.strictEqual(server.seen.length, 0)
      assert.strictEqual(yield* reasonOf(local(Http.get(`http://127.1:${port}/`))), "succeeded")
      assert.strictEqual(yield* reasonOf(local(Http.get(`http://localhost:${port}/`))), "succeeded")
    }))

  it.live("is decided anew for a redirect", () =>
    Effect.gen(function*() {
      const { seen, url } = yield* serve((_, response) => {
        response.writeHead(302, { location: "http://169.254.169.254/latest/meta-data" }).end()
      })
      const failed = yield* Effect.flip(Http.get(url))
      assert.deepStrictEqual([failed.reason, failed.url], ["NotAllowed", "http://169.254.169.254/latest/meta-data"])
      assert.strictEqual(seen.length, 1)
    }).pipe(local))

  it.live("is a defect of the request where the question throws", () =>
    Effect.gen(function*() {
      const server = yield* serve((_, response) => void response.end())
      const broken = new Error("it throws")
      for (const host of ["127.0.0.1", "localhost"]) {
        const exit = yield* Effect.exit(Http.get(`http://${host}:${server.port}/`)).pipe(
          Effect.provideService(Http.Destinations, () => {
            throw broken
          })
        )
        assert.deepStrictEqual(exit, Exit.die(broken))
      }
      assert.strictEqual(server.seen.length, 0)
    }))

  it("cannot be described by what is no network", () => {
    assert.throws(() => Http.publicAnd("localhost"), RangeError)
  })
})

describe("a redirect", () => {
  const redirecting = (status: number) =>
    serve((request, response) => {
      if (request.url === "/to") request.pipe(response)
      else response.writeHead(status, { location: "/to" }).end()
    })

  it.live("is followed, with the method and the body where the status says so", () =>
    Effect.gen(function*() {
      for (
        const [status, method] of [[301, "GET"], [302, "GET"], [303, "GET"], [307, "POST"], [308, "POST"]] as const
      ) {
        const { quiet, seen, url } = yield* redirecting(status)
        const headers = { "content-type": "text/plain", authorization: "a" }
        const answer = yield* Http.send({ url, method: "POST", body: "body", headers })
        assert.strictEqual(seen[1]!.method, method)
        assert.strictEqual(text(answer), method === "POST" ? "body" : "")
        assert.strictEqual(seen[1]!.headers["content-type"], method === "POST" ? "text/plain" : undefined)
        assert.strictEqual(seen[1]!.headers.authorization, "a")
        assert.strictEqual(answer.url.pathname, "/to")
        yield* quiet
      }
    }).pipe(local))

  it.live("of what is to be put or deleted stays that", () =>
    Effect.gen(function*() {
      for (const [status, method] of [[301, "PUT"], [302, "DELETE"], [302, "PATCH"], [301, "HEAD"]] as const) {
        const { seen, url } = yield* redirecting(status)
        yield* Http.send({ url, method })
        assert.deepStrictEqual(seen.map(({ method }) => method), [method, method])
      }
      const { seen, url } = yield* redirecting(303)
      yield* Http.send({ url, method: "DELETE" })
      assert.deepStrictEqual(seen.map(({ method }) => method), ["DELETE", "GET"])
    }).pipe(local))

  it.live("to another server takes neither secrets along nor the name of the first", () =>
    Effect.gen(function*() {
      const other = yield* serve((_, response) => void response.end())
      const { url } = yield* serve((_, response) => void response.writeHead(307, { location: other.url }).end())
      yield* Http.get(url, { headers: { Authorization: "a", Cookie: "b", Host: "first", "x-c": "c" } })
      const { headers } = other.seen[0]!
      assert.deepStrictEqual(
        [headers.authorization, headers.cookie, headers.host, headers["x-c"]],
        [undefined, undefined, `127.0.0.1:${other.port}`, "c"]
      )
    }).pipe(local))

  it.live("in a circle ends, and so does one to what is no address", () =>
    Effect.gen(function*() {
      const circle = yield* serve((_, response) => void response.writeHead(302, { location: "/" }).end())
      assert.strictEqual(yield* reasonOf(Http.get(circle.url)), "TooManyRedirects")
      assert.strictEqual(circle.seen.length, 6)
      for (const location of ["ftp://127.0.0.1/", "file:///etc/passwd", "http://"]) {
        const { url } = yield* serve((_, response) => void response.writeHead(302, { location }).end())
        assert.strictEqual(yield* reasonOf(Http.get(url)), "NotAllowed", location)
      }
      const none = yield* serve((_, response) => void response.writeHead(302).end("no location"))
      assert.strictEqual((yield* Http.get(none.url)).status, 302)
    }).pipe(local))
})

describe("a retry", () => {
  const answering = (...statuses: ReadonlyArray<number>) =>
    Effect.gen(function*() {
      let count = 0
      return yield* serve((_, response) => void response.writeHead(statuses[count++] ?? 200).end())
    })
  const quick = { times: 3, base: "1 millis" } as const

  it.live("asks again while the server is busy, and gives the last answer when it has asked enough", () =>
    Effect.gen(function*() {
      const busy = yield* answering(503, 429, 200)
      assert.strictEqual((yield* Http.get(busy.url, { retry: quick })).status, 200)
      assert.strictEqual(busy.seen.length, 3)
      const always = yield* answering(502, 502, 502, 502, 502, 502)
      assert.strictEqual((yield* Http.get(always.url, { retry: quick })).status, 502)
      assert.strictEqual(always.seen.length, 4)
      const wrong = yield* answering(500)
      assert.strictEqual((yield* Http.get(wrong.url, { retry: quick })).status, 500)
      assert.strictEqual(wrong.seen.length, 1)
    }).pipe(local))

  it.live("does not repeat what may have been done, unless it may be done twice", () =>
    Effect.gen(function*() {
      let count = 0
      const { seen, url } = yield* serve((request, response) =>
        count++ === 0 ? request.socket.destroy() : response.end()
      )
      assert.strictEqual(yield* reasonOf(Http.send({ url, method: "POST", retry: quick })), "Broken")
      assert.strictEqual(seen.length, 1)
      count = 0
      assert.strictEqual(yield* reasonOf(Http.send({ url, method: "PUT", retry: quick })), "succeeded")
      assert.strictEqual(seen.length, 3)
    }).pipe(local))

  it.live("does not repeat what led to a server that is not there", () =>
    Effect.gen(function*() {
      const { url: dead } = yield* Effect.scoped(serve(() => {}))
      for (const location of [dead, "http://10.0.0.1/", "http://user%zz@127.0.0.1/"]) {
        const { seen, url } = yield* serve((_, response) => void response.writeHead(303, { location }).end())
        const failed = yield* Effect.flip(Http.send({ url, method: "POST", retry: quick }))
        assert.isTrue(failed.reached, failed.reason)
        assert.strictEqual(seen.length, 1)
      }
    }).pipe(local))

  it.live("does not wait longer than it may", () =>
    Effect.gen(function*() {
      const { seen, url } = yield* serve((_, response) => void response.writeHead(503, { "retry-after": "3600" }).end())
      assert.strictEqual((yield* Http.get(url, { retry: quick })).status, 503)
      assert.strictEqual(seen.length, 1)
    }).pipe(local))
})
