import { assert, describe, it } from "@effect/vitest"
import { Command, Outcome, Process } from "@quiesce/node"
import { Deferred, Effect, Exit, Fiber, Stream } from "effect"
import { cites } from "../../../tests/conformance/cites.ts"
import { alive, fingerprint } from "./support/world.ts"

describe("the stream of a command", () => {
  it.live(
    cites("that the consumer leaves stops the command and waits until nobody is left", "NODE-01"),
    () =>
      Effect.gen(function*() {
        const mark = fingerprint()
        const command = Command.shell(`sleep ${mark} & while :; do echo y; done`)
        const chunks = yield* Stream.runCollect(Stream.take(Process.stream(command), 2))
        assert.strictEqual(chunks.length, 2)
        assert.deepStrictEqual(alive(mark), [])
      })
  )

  it.live("fails behind the last piece if the program did", () =>
    Effect.gen(function*() {
      const pieces: Array<string> = []
      const failed = yield* Process.stream(Command.shell("echo a; exit 4")).pipe(
        Stream.runForEach(({ bytes }) => Effect.sync(() => pieces.push(new TextDecoder().decode(bytes)))),
        Effect.flip
      )
      assert.strictEqual(pieces.join(""), "a\n")
      assert.strictEqual(failed._tag, "CommandFailed")
    }))

  it.live("loses nothing, however slow its consumer", () =>
    Effect.gen(function*() {
      let bytes = 0
      yield* Process.stream(Command.shell("head -c 3000000 /dev/zero")).pipe(
        Stream.runForEach((chunk) => Effect.delay(Effect.sync(() => bytes += chunk.bytes.length), "1 millis"))
      )
      assert.strictEqual(bytes, 3_000_000)
    }))

  it.live("holds the program up while nobody takes", () =>
    Effect.scoped(Effect.gen(function*() {
      const running = yield* Process.open(Command.make("yes"))
      // oxlint-disable-next-line quiesce/no-live-sleep -- `yes` writes some gigabytes in that time, where it can
      yield* Effect.sleep("300 millis")
      assert.isBelow((yield* running.written).stdout.bytes, 2_000_000)
    })))
})

describe("standard input", () => {
  it.live("takes a text, bytes or a stream", () =>
    Effect.gen(function*() {
      const cat = Command.make("cat")
      assert.strictEqual(yield* Process.text(cat, { stdin: { text: "text" } }), "text")
      assert.strictEqual(yield* Process.text(cat, { stdin: new TextEncoder().encode("bytes") }), "bytes")
      const stream = Stream.map(Stream.make("a", "b"), (text) => new TextEncoder().encode(text))
      assert.strictEqual(yield* Process.text(cat, { stdin: stream }), "ab")
    }))

  it.live("that the program does not read is no failure", () =>
    Effect.gen(function*() {
      const outcome = yield* Process.run(Command.make("true"), { stdin: new Uint8Array(10_000_000) })
      assert.isTrue(Outcome.isSuccess(outcome))
    }))

  it.live("that never ends does not hold up the outcome", () =>
    Effect.gen(function*() {
      const ended = yield* Deferred.make<void>()
      const endless = Stream.fromEffect(Effect.never).pipe(Stream.ensuring(Deferred.succeed(ended, undefined)))
      const outcome = yield* Process.run(Command.make("true"), { stdin: endless })
      assert.isTrue(Outcome.isSuccess(outcome))
      yield* Deferred.await(ended)
    }))

  it.live(
    cites("that dies stops the command, which would take its half for the whole", "NODE-05"),
    () =>
      Effect.gen(function*() {
        const broken = new Error("the source is broken")
        const half = Stream.concat(Stream.make(new TextEncoder().encode("half")), Stream.die(broken))
        const outcomes: Array<string> = []
        const exit = yield* Effect.exit(Process.run(Command.make("cat"), {
          stdin: half,
          onOutcome: ({ _tag }) => Effect.sync(() => outcomes.push(_tag))
        }))
        assert.deepStrictEqual(exit, Exit.die(broken))
        const spawned = yield* Effect.flatMap(
          Process.spawn(Command.make("cat"), { stdin: half }),
          ({ outcome }) => outcome
        )
        assert.deepStrictEqual([...outcomes, spawned._tag], ["Cancelled", "Cancelled"])
      })
  )

  it.live("of an opened command is a conversation", () =>
    Effect.scoped(Effect.gen(function*() {
      const cat = yield* Process.open(Command.make("cat"))
      const heard = yield* Effect.forkChild(Stream.runCollect(Stream.decodeText(cat.stdout)))
      yield* cat.send("one ")
      yield* cat.send(new TextEncoder().encode("two"))
      yield* cat.endInput
      assert.strictEqual((yield* Fiber.join(heard)).join(""), "one two")
      assert.isTrue(Outcome.isSuccess(yield* cat.outcome))
      const closed = yield* Effect.flip(cat.send("three"))
      assert.strictEqual(closed._tag, "InputClosed")
    })))
})
