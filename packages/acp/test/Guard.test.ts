/** What the peer may send: ids twice, frames that are none, methods that are not there; and what may be sent to it. */
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Queue, Random } from "effect"
import { TestClock } from "effect/testing"
import { cites } from "../../../tests/conformance/cites.ts"
import { agent, cancelRequest, client, error, notification, request, result, settled } from "./support/driver.ts"

const waiting = { _wait: () => Effect.never, _now: () => Effect.succeed("done") }

describe("a request with the id of a live one", () => {
  it.effect(cites("is refused, and the first is unharmed", "ACP-05"), () =>
    Effect.gen(function*() {
      const release = yield* Deferred.make<void>()
      const started: Array<string> = []
      const { driver } = yield* agent({
        _first: () =>
          Effect.as(Effect.andThen(Effect.sync(() => started.push("first")), Deferred.await(release)), "first"),
        _second: () => Effect.sync(() => started.push("second"))
      })
      yield* driver.send(request(1, "_first"), request(1, "_second"), request("1", "_second"))
      yield* settled
      assert.deepStrictEqual(driver.answers(1).map(({ error }) => error?.code), [-32600])
      assert.deepStrictEqual(started, ["first", "second"])
      yield* driver.send(request(1, "_second"))
      yield* settled
      yield* Deferred.succeed(release, undefined)
      yield* settled
      assert.deepStrictEqual(driver.answers(1).map(({ error, result }) => error?.code ?? result), [
        -32600,
        -32600,
        "first"
      ])
    }))

  it.effect(
    cites("is refused while the first, cancelled, is not quiet; then the id is free", "ACP-05"),
    () =>
      Effect.gen(function*() {
        const release = yield* Deferred.make<void>()
        const { driver } = yield* agent({
          ...waiting,
          _slow: () => Effect.onInterrupt(Effect.never, () => Deferred.await(release))
        })
        yield* driver.send(request(1, "_slow"))
        yield* settled
        yield* driver.send(cancelRequest(1), request(1, "_now"))
        yield* settled
        assert.deepStrictEqual(driver.answers(1).map(({ error }) => error?.code), [-32600])
        yield* Deferred.succeed(release, undefined)
        yield* settled
        yield* driver.send(request(1, "_now"))
        yield* settled
        assert.deepStrictEqual(
          driver.answers(1).map(({ error, result }) => error?.code ?? result),
          [-32600, -32800, "done"]
        )
      })
  )

  it.effect(cites("in the other direction is another one", "ACP-05"), () =>
    Effect.gen(function*() {
      const { driver } = yield* agent({ _ask: (_, { peer }) => peer.request("_question", {}) })
      yield* driver.send(request(0, "_ask"))
      yield* settled
      assert.deepStrictEqual(driver.told("_question").map(({ id }) => id), [0])
      yield* driver.send(result(0, "answer"))
      yield* settled
      assert.deepStrictEqual(driver.answers(0).map(({ result }) => result), ["answer"])
    }))
})

describe("a frame", () => {
  const refused: ReadonlyArray<readonly [what: string, frame: string, id: unknown, code: number]> = [
    ["that is not JSON", "{]", null, -32700],
    ["that is no object", "1", null, -32600],
    ["that is null", "null", null, -32600],
    ["that is a batch", `[{"jsonrpc":"2.0","id":9,"method":"_now"}]`, null, -32600],
    ["of another JSON-RPC", `{"jsonrpc":"1.0","id":9,"method":"_now"}`, 9, -32600],
    ["without a method, a result or an error", `{"jsonrpc":"2.0","id":9}`, 9, -32600],
    ["whose method is no string", `{"jsonrpc":"2.0","id":9,"method":1}`, 9, -32600],
    ["whose id is a fraction", `{"jsonrpc":"2.0","id":9.5,"method":"_now"}`, null, -32600],
    [
      "whose id is too large to be told from others",
      `{"jsonrpc":"2.0","id":9007199254740993,"method":"_now"}`,
      null,
      -32600
    ],
    ["whose id is an object", `{"jsonrpc":"2.0","id":{},"method":"_now"}`, null, -32600],
    ["whose parameters are a number", `{"jsonrpc":"2.0","id":9,"method":"_now","params":1}`, 9, -32600],
    ["that is invalid under the id of a live request", `{"jsonrpc":"2.0","id":1,"method":null}`, null, -32600],
    ["that is too long", JSON.stringify(request(9, "_now", { text: "x".repeat(5000) })), 9, -32600],
    [
      "that is too long, with an id at its end",
      `{"method":"_now","params":{"id":1,"text":"${"\\\"x".repeat(2000)}"},"jsonrpc":"2.0","\\u0069d":"9"}`,
      "9",
      -32600
    ],
    ["that is too long for an id", `{"jsonrpc":"2.0","id":"${"9".repeat(5000)}","method":"_now"}`, null, -32600],
    [
      "that is too long under the id of a live request",
      JSON.stringify(request(1, "_now", { text: "x".repeat(5000) })),
      null,
      -32600
    ],
    [
      "that is nested too deeply",
      `{"jsonrpc":"2.0","id":9,"method":"_now","params":${"[".repeat(1024)}${"]".repeat(1024)}}`,
      9,
      -32600
    ],
    ["of an unknown method", JSON.stringify(request(9, "_unknown")), 9, -32601],
    ["of an unknown method of the protocol's own", JSON.stringify(request(9, "$/unknown")), 9, -32601],
    [
      "of a method without the parameters it needs",
      JSON.stringify(request(9, "session/prompt", { prompt: 1 })),
      9,
      -32602
    ]
  ]
  for (const [what, frame, id, code] of refused) {
    it.effect(cites(`${what} gets the protocol's error and harms nobody else`, "ACP-08"), () =>
      Effect.gen(function*() {
        const { connection, driver } = yield* agent(
          { ...waiting, "session/prompt": () => Effect.never },
          {},
          { maxFrameBytes: 4096 }
        )
        yield* driver.send(request(1, "_wait"))
        yield* driver.raw(frame + "\n")
        yield* driver.send(request(2, "_now"))
        yield* settled
        assert.deepStrictEqual(
          driver.received.map(({ error, id, result }) => [id, error?.code ?? result]).sort(),
          [[id, code], [2, "done"]].sort()
        )
        assert.deepStrictEqual((yield* connection.live).map(({ id }) => id), [1])
      }))
  }

  const ignored: ReadonlyArray<readonly [what: string, frame: string]> = [
    ["that is empty", ""],
    ["that is blank", " \r"],
    ["that is a notification nobody listens to", JSON.stringify(notification("_unknown"))],
    ["that is an answer to nothing", JSON.stringify(result(3, {}))],
    ["that is an answer by a string to a number", JSON.stringify(result("0", {}))],
    ["that is an answer without an id", `{"jsonrpc":"2.0","result":{}}`],
    [
      "that is an answer with both a result and an error",
      `{"jsonrpc":"2.0","id":3,"result":{},"error":{"code":1,"message":""}}`
    ],
    ["that is an error without an id", JSON.stringify(error(null, -32600, "no"))]
  ]
  for (const [what, frame] of ignored) {
    it.effect(cites(`${what} is passed over`, "ACP-08"), () =>
      Effect.gen(function*() {
        const { driver } = yield* agent({ ...waiting, _ask: (_, { peer }) => peer.request("_question", {}) })
        yield* driver.send(request(1, "_ask"))
        yield* settled
        yield* driver.raw(frame + "\n")
        yield* driver.send(request(2, "_now"))
        yield* settled
        assert.deepStrictEqual(driver.received.map(({ id }) => id), [0, 2])
      }))
  }

  it.effect(cites("may come in any pieces, many in one", "ACP-08"), () =>
    Effect.gen(function*() {
      const { driver } = yield* agent({ _echo: (params) => Effect.succeed(params) })
      const texts = ["a\nb", "ä€😀", "\u2028", "x".repeat(3000)]
      const bytes = texts.map((text, id) => JSON.stringify(request(id, "_echo", { text })) + "\n").join("")
      for (let start = 0; start < bytes.length; start += 7) yield* driver.raw(bytes.slice(start, start + 7))
      yield* settled
      yield* driver.raw(bytes.replaceAll(/"id":/g, `"id":1`))
      yield* settled
      assert.deepStrictEqual(driver.received.map(({ id, result }) => [id, result.text]), [
        ...texts.map((text, id) => [id, text]),
        ...texts.map((text, id) => [10 + id, text])
      ])
    }))

  it.effect(cites("that is not ended by a newline ends with the input", "ACP-08"), () =>
    Effect.gen(function*() {
      const heard: Array<unknown> = []
      const { connection, driver } = yield* agent({}, { _note: (params) => Effect.sync(() => heard.push(params)) })
      yield* driver.raw(JSON.stringify(notification("_note", { n: 1 })))
      yield* driver.hangUp
      yield* connection.closed
      assert.deepStrictEqual(heard, [{ n: 1 }])
    }))

  it.effect(cites("with arguments as deep as the core takes them is read", "ACP-08"), () =>
    Effect.gen(function*() {
      const heard: Array<unknown> = []
      const { driver } = yield* client({}, {
        "session/update": ({ update }) => Effect.sync(() => heard.push(update.sessionUpdate))
      })
      const update = `{"sessionUpdate":"tool_call","toolCallId":"1","title":"deep","rawInput":${"[".repeat(512)}${
        "]".repeat(512)
      }}`
      yield* driver.raw(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":${update}}}\n`)
      yield* settled
      assert.deepStrictEqual(heard, ["tool_call"])
    }))

  it.effect(cites("that is too long is not kept, however long it is", "ACP-08"), () =>
    Effect.gen(function*() {
      const { driver } = yield* agent(waiting, {}, { maxFrameBytes: 1024 })
      for (let n = 0; n < 100; n++) yield* driver.raw("x".repeat(1000))
      yield* driver.raw("\n")
      yield* driver.send(request(1, "_now"))
      yield* settled
      assert.deepStrictEqual(driver.received.map(({ error, id }) => [id, error?.code]), [[null, -32600], [
        1,
        undefined
      ]])
    }))

  it.effect(cites("of any bytes leaves the connection alive", "ACP-08"), () =>
    Effect.gen(function*() {
      const { driver } = yield* agent({ ...waiting, "session/prompt": () => Effect.never }, {}, { maxFrameBytes: 4096 })
      const seeds = [
        JSON.stringify(request(1, "session/prompt", { sessionId: "s", prompt: [{ type: "text", text: "hi" }] })),
        JSON.stringify(cancelRequest(1)),
        JSON.stringify(notification("session/cancel", { sessionId: "s" })),
        JSON.stringify(result(0, { outcome: { outcome: "selected" } }))
      ]
      for (let n = 0; n < 2000; n++) {
        const text = Array.from(seeds[n % seeds.length]!)
        const cuts = 1 + (yield* Random.nextIntBetween(0, 3))
        for (let cut = 0; cut < cuts; cut++) {
          const at = yield* Random.nextIntBetween(0, text.length - 1)
          const char = String.fromCharCode(yield* Random.nextIntBetween(0, 127))
          text.splice(at, yield* Random.nextIntBetween(0, 3), char === "\n" ? "" : char)
        }
        yield* driver.raw(text.join("") + "\n")
      }
      yield* settled
      yield* driver.send(request("last", "_now"))
      yield* settled
      assert.deepStrictEqual(driver.answers("last").map(({ result }) => result), ["done"])
    }).pipe(Random.withSeed("frames")))
})

describe("an answer that cannot be read", () => {
  it.effect(cites("fails the request it is to, and no other", "ACP-08"), () =>
    Effect.gen(function*() {
      const { driver } = yield* agent({
        _ask: (_, { peer }) => Effect.flip(peer.request("_question", {})).pipe(Effect.map(({ message }) => message))
      })
      yield* driver.send(request(1, "_ask"), request(2, "_ask"))
      yield* settled
      yield* driver.raw(`{"jsonrpc":"2.0","id":0,"error":"no"}\n`)
      yield* settled
      assert.deepStrictEqual(driver.answers(1).map(({ result }) => result), [
        "_question failed: its answer is invalid: its error is none (-32600)"
      ])
      assert.deepStrictEqual(driver.answers(2), [])
    }))

  const unreadable: ReadonlyArray<readonly [what: string, frame: string, problem: string]> = [
    ["is too long", JSON.stringify(result(0, "x".repeat(5000))), "longer than 4096 bytes"],
    [
      "is too long, with its id at its end",
      `{"jsonrpc":"2.0","result":"${"x".repeat(5000)}","id":0}`,
      "longer than 4096 bytes"
    ],
    ["is too long an error", JSON.stringify(error(0, 1, "x".repeat(5000))), "longer than 4096 bytes"],
    [
      "is nested too deeply",
      `{"jsonrpc":"2.0","id":0,"result":${"[".repeat(1024)}${"]".repeat(1024)}}`,
      "nested more than 1024 levels deep"
    ],
    [
      "is both a result and an error",
      `{"jsonrpc":"2.0","id":0,"result":1,"error":{"code":1,"message":""}}`,
      "both a result and an error"
    ]
  ]
  for (const [what, frame, problem] of unreadable) {
    it.effect(cites(`since it ${what} fails the request it is to`, "ACP-08", "ACP-07"), () =>
      Effect.gen(function*() {
        const { connection, driver } = yield* client({}, {}, { maxFrameBytes: 4096 })
        const asked = yield* Effect.forkScoped(Effect.flip(connection.peer.request("_question", {})))
        const other = yield* Effect.forkScoped(connection.peer.request("_question", {}))
        yield* settled
        yield* driver.raw(frame.slice(0, 100))
        yield* driver.raw(frame.slice(100) + "\n")
        yield* settled
        assert.isDefined(asked.pollUnsafe())
        assert.strictEqual(
          (yield* Fiber.join(asked)).message,
          `_question failed: its answer is invalid: ${problem} (-32600)`
        )
        assert.isUndefined(other.pollUnsafe())
        yield* driver.send(result(1, "fine"))
        assert.strictEqual(yield* Fiber.join(other), "fine")
      }))
  }
})

describe("after its answer a request", () => {
  it.effect(cites("has nothing sent for it, by whatever it left behind", "ACP-08"), () =>
    Effect.gen(function*() {
      const outcomes: Array<unknown> = []
      const release = yield* Deferred.make<void>()
      const { driver } = yield* agent({
        "session/prompt": (_, { peer }) =>
          Effect.gen(function*() {
            const stray = Effect.gen(function*() {
              yield* Deferred.await(release)
              yield* peer.notify("_update", {})
              outcomes.push((yield* Effect.flip(peer.request("_question", {}))).message)
              outcomes.push((yield* Effect.flip(peer.start("_question", {}))).message)
            })
            yield* peer.notify("_update", {})
            yield* Effect.forkDetach(stray)
            return { stopReason: "end_turn" as const }
          })
      })
      yield* driver.send(request(1, "session/prompt", { sessionId: "s", prompt: [] }))
      yield* settled
      yield* Deferred.succeed(release, undefined)
      yield* settled
      assert.deepStrictEqual(driver.received.map(({ id, method }) => method ?? id), ["_update", 1])
      const gone = "_question: the request it belongs to is answered already"
      assert.deepStrictEqual(outcomes, [gone, gone])
    }))
})

describe("what a handler comes to", () => {
  it.effect(cites("is told as an error of the protocol, or as it is", "ACP-08"), () =>
    Effect.gen(function*() {
      const cyclic: Record<string, unknown> = {}
      cyclic["self"] = cyclic
      const { driver } = yield* agent({
        _0: () => Effect.void,
        _1: () => Effect.fail("a text"),
        _2: () => Effect.die(new Error("a defect")),
        _3: () => Effect.succeed(cyclic),
        _4: () => Effect.succeed(1n),
        _5: () => Effect.fail(Object.create(null)),
        _6: () => {
          throw new Error("at once")
        }
      })
      yield* driver.send(...[0, 1, 2, 3, 4, 5, 6].map((id) => request(id, `_${id}`)))
      yield* settled
      assert.deepStrictEqual(
        driver.received.map(({ error, id, result }) => [id, error === undefined ? result : error.data.details]),
        [
          [0, null],
          [1, "a text"],
          [2, "a defect"],
          [3, driver.answers(3)[0]?.error?.data.details],
          [4, "the result is no JSON: Do not know how to serialize a BigInt"],
          [5, "an error that cannot be told"],
          [6, "at once"]
        ].sort(([a], [b]) =>
          driver.received.findIndex(({ id }) => id === a) - driver.received.findIndex(({ id }) => id === b)
        )
      )
      assert.match(driver.answers(3)[0]?.error?.data.details, /^the result is no JSON: Converting circular structure/)
    }))

  /** Throws whatever is done with it. */
  const hostile = (): unknown => {
    const refuse = () => {
      throw hostile()
    }
    return new Proxy({}, { get: refuse, getPrototypeOf: refuse, has: refuse })
  }
  const comes: ReadonlyArray<readonly [what: string, handler: Effect.Effect<unknown, unknown>, answer: unknown]> = [
    ["an error that throws when it is looked at", Effect.fail(hostile()), "an error that cannot be told"],
    ["a defect that throws when it is looked at", Effect.die(hostile()), "an error that cannot be told"],
    [
      "a result that throws when it is written",
      Effect.succeed({
        toJSON: () => {
          throw Object.create(null)
        }
      }),
      "the result is no JSON: an error that cannot be told"
    ],
    ["a result that is a function", Effect.succeed(() => 1), null],
    ["a result that says it is nothing", Effect.succeed({ toJSON: () => undefined }), null]
  ]
  for (const [what, handler, answer] of comes) {
    it.effect(cites(`is answered, once, where it is ${what}`, "ACP-02", "ACP-08"), () =>
      Effect.gen(function*() {
        const { driver } = yield* agent({ _hostile: () => handler, ...waiting })
        yield* driver.send(request(1, "_hostile"), request(2, "_now"))
        yield* settled
        assert.deepStrictEqual(
          driver.answers(1).map(({ error, result }) => error === undefined ? result : error.data.details),
          [answer]
        )
        assert.deepStrictEqual(driver.answers(2).map(({ result }) => result), ["done"])
        assert.deepStrictEqual(driver.faults, [])
      }))
  }
})

describe("notifications", () => {
  it.effect("of one session are handled one after the other, those of another do not wait for them", () =>
    Effect.gen(function*() {
      const release = yield* Deferred.make<void>()
      const heard: Array<string> = []
      const { driver } = yield* client({}, {
        "session/update": ({ sessionId, update }) =>
          Effect.andThen(
            Effect.sync(() => heard.push(`${sessionId} ${(update as { content: { text: string } }).content.text}`)),
            sessionId === "slow" ? Deferred.await(release) : Effect.void
          )
      })
      const chunk = (sessionId: string, text: string) =>
        notification("session/update", {
          sessionId,
          update: { sessionUpdate: "agent_message_chunk", content: { type: "text", text } }
        })
      yield* driver.send(chunk("slow", "1"), chunk("slow", "2"), chunk("quick", "1"), chunk("quick", "2"))
      yield* settled
      assert.deepStrictEqual(heard, ["slow 1", "quick 1", "quick 2"])
      yield* Deferred.succeed(release, undefined)
      yield* settled
      assert.deepStrictEqual(heard, ["slow 1", "quick 1", "quick 2", "slow 2"])
    }))

  it.effect("that came before an answer are heard before it", () =>
    Effect.gen(function*() {
      const heard: Array<string> = []
      const { connection, driver } = yield* client({}, {
        "session/update": () => Effect.sync(() => heard.push("update"))
      })
      const prompt = connection.peer.request("session/prompt", { sessionId: "s", prompt: [] })
      yield* Effect.forkScoped(Effect.tap(prompt, () => Effect.sync(() => heard.push("answer"))))
      yield* settled
      const update = notification("session/update", {
        sessionId: "s",
        update: { sessionUpdate: "agent_message_chunk", content: { type: "text", text: "" } }
      })
      yield* driver.send(update, update, result(0, { stopReason: "end_turn" }))
      yield* settled
      assert.deepStrictEqual(heard, ["update", "update", "answer"])
    }))

  it.effect(cites("are not read faster than listeners take them", "ACP-08"), () =>
    Effect.gen(function*() {
      const gate = yield* Queue.unbounded<void>()
      let heard = 0
      const { driver } = yield* agent(
        waiting,
        { _note: () => Effect.andThen(Queue.take(gate), Effect.sync(() => heard++)) },
        { maxUnheardBytes: 4096 }
      )
      const note = notification("_note", { text: "x".repeat(500) })
      for (let n = 0; n < 8; n++) yield* driver.send(note)
      yield* driver.send(request(1, "_now"))
      // Listeners that are slow and go on are waited for, however long it takes.
      for (let n = 0; n < 8; n++) {
        yield* TestClock.adjust("4 seconds")
        yield* settled
        // Four of them are less than 4096 bytes.
        assert.strictEqual(driver.answers(1).length, n < 4 ? 0 : 1)
        yield* Queue.offer(gate, undefined)
        yield* settled
      }
      assert.strictEqual(heard, 8)
    }))

  it.effect(
    cites("that no listener takes end the connection, and hang nobody", "ACP-06", "ACP-08"),
    () =>
      Effect.gen(function*() {
        const failures: Array<string> = []
        const { connection, driver } = yield* agent(
          waiting,
          {
            // Its answer comes behind what is not read.
            _note: (_, peer) =>
              Effect.tapError(peer.request("_question", {}), ({ message }) => Effect.sync(() => failures.push(message)))
          },
          { maxUnheardBytes: 4096 }
        )
        yield* driver.send(request(1, "_wait"))
        const note = notification("_note", { text: "x".repeat(500) })
        for (let n = 0; n < 8; n++) yield* driver.send(note)
        yield* settled
        yield* driver.send(result(0, {}))
        const closed = yield* Effect.forkScoped(connection.closed)
        yield* TestClock.adjust("4999 millis")
        yield* settled
        assert.isUndefined(closed.pollUnsafe())
        yield* TestClock.adjust("1 millis")
        const ending = yield* Fiber.join(closed)
        assert.strictEqual(ending._tag, "Failed")
        assert.match(
          ending._tag === "Failed" ? ending.error.message : "",
          /^\d+ notifications \(\d+ bytes\) wait for listeners that do not go on$/
        )
        assert.strictEqual(failures[0], "_question: the connection is closed")
        yield* settled
        assert.deepStrictEqual(driver.answers(1).map(({ error }) => error?.code), [-32800])
      })
  )

  it.effect(cites("are handled behind one whose failure cannot even be told", "ACP-08"), () =>
    Effect.gen(function*() {
      let heard = 0
      const refuse = () => {
        throw new Error("no")
      }
      const error = new Proxy({}, { get: refuse, getPrototypeOf: refuse, has: refuse, ownKeys: refuse })
      const { driver } = yield* agent(waiting, {
        _note: () => heard++ === 0 ? Effect.fail(error) : Effect.void
      })
      yield* driver.send(notification("_note"), notification("_note"), notification("_note"))
      yield* settled
      assert.strictEqual(heard, 3)
    }))

  it.effect(cites("whose listener fails harm nobody", "ACP-08"), () =>
    Effect.gen(function*() {
      const { driver } = yield* agent(waiting, { _bad: () => Effect.die("no") })
      yield* driver.send(notification("_bad"), notification("session/cancel", { sessionId: 1 }), request(1, "_now"))
      yield* settled
      assert.deepStrictEqual(driver.received.map(({ id }) => id), [1])
    }))
})
